//! Sends one page of a replay again.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use gancho_domain::{DeliveryId, EndpointId, EventId, Lane, Ordering, TenantId, TenantScope, Time};
use gancho_store::{DeliveryRow, ListOrder, NewDelivery, PageRequest, Result, RetryOutcome, Store};
use tokio::task::JoinSet;

use super::{
    Replay, ReplayItems, Replays,
    codec::Cursor,
    count::{
        dead_filter, delivery_filter, event_filter, fits, is_meant, scope_of, scope_of_tenant,
    },
};
use crate::{Owner, registry::Targets};

/// How often a delivery in flight is retried: one that has just arrived may not be recorded yet.
const MAX_TRIES: u32 = 5;
const IN_FLIGHT_WAIT: Duration = Duration::from_millis(200);

/// The result of a page.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PageResult {
    pub done: u64,
    pub skipped: u64,
    pub failed: u64,
    /// The deliveries that were sent again.
    pub sent: Vec<(TenantId, DeliveryId)>,
    /// The cursor of the next page; `None` after the last.
    pub next: Option<Cursor>,
}

impl PageResult {
    pub fn count(&self) -> u64 {
        self.done + self.skipped + self.failed
    }

    pub fn add(&mut self, tenant: TenantId, one: ItemResult) {
        match one {
            ItemResult::Done(delivery) => {
                self.done += 1;
                self.sent.push((tenant, delivery));
            }
            ItemResult::Skipped => self.skipped += 1,
            ItemResult::Failed => self.failed += 1,
        }
    }
}

/// The result of one delivery or event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemResult {
    Done(DeliveryId),
    Skipped,
    Failed,
}

/// Since when a runner that died may have sent a page without recording it.
pub(super) type InDoubt = Option<Time>;

impl Replays {
    pub(super) async fn send_page(
        &self,
        owner: Owner,
        replay: &Replay,
        (cursor, order): (&Cursor, ListOrder),
        max: usize,
        doubt: InDoubt,
    ) -> Result<PageResult> {
        let Some(scope) = scope_of(owner, replay) else {
            return match scope_of_tenant(owner, &replay.filter).zip(replay.to) {
                Some(there) => self.redirect_dead(owner, replay, there, cursor, max).await,
                None => self.retry_dead(owner, replay, cursor, max).await,
            };
        };
        let targets = self.registry.of(scope.tenant()).await?;
        let (events, rows, next) = self.read_page(scope, replay, (cursor, order), max).await?;
        let mut sent = PageResult { next, ..PageResult::default() };
        let (rows, others): (Vec<_>, Vec<_>) = rows
            .into_iter()
            .partition(|row| row.lane != Lane::Webhook || active(&targets, row.target).is_some());
        sent.skipped += others.len() as u64;
        let to = replay.to.and_then(|to| active(&targets, to));
        let events = match to.filter(|_| replay.filter.is_missing) {
            Some(to) => {
                let (missing, others) = self.missing(scope, &targets, to, events).await?;
                sent.skipped += others;
                missing
            }
            None => events,
        };
        let send = |event| {
            let delivery = to.map(|to| self.delivery(&targets, to));
            send(self.store.clone(), scope, event, delivery, doubt)
        };
        if to.is_some_and(|to| is_in_order(&targets, to)) {
            // One after the other, because the store queues each behind the earlier ones of its subject.
            let mut turns: BTreeMap<EventId, Vec<DeliveryRow>> = BTreeMap::new();
            for row in rows {
                turns.entry(row.event).or_default().push(row);
            }
            turns.extend(events.into_iter().map(|event| (event, Vec::new())));
            for (event, rows) in turns {
                if rows.is_empty() {
                    sent.add(scope.tenant(), send(event).await?);
                } else {
                    self.retry(scope, rows, doubt, &mut sent).await?;
                }
            }
            return Ok(sent);
        }
        let mut work = JoinSet::new();
        for event in events {
            work.spawn(send(event));
        }
        while let Some(one) = work.join_next().await {
            sent.add(scope.tenant(), one.unwrap_or(Ok(ItemResult::Failed))?);
        }
        self.retry(scope, rows, doubt, &mut sent).await?;
        Ok(sent)
    }

    /// Returns the events that the endpoint is subscribed to and has no delivery of, and the number of the
    /// others.
    async fn missing(
        &self,
        scope: TenantScope,
        targets: &Targets,
        to: EndpointId,
        events: BTreeSet<EventId>,
    ) -> Result<(BTreeSet<EventId>, u64)> {
        let Some(target) = targets.get(to) else { return Ok((events, 0)) };
        let (all, mut missing) = (events.len(), BTreeSet::new());
        for event in events {
            let Some(view) = self.store.event(scope, event).await? else { continue };
            let wants = |name: &str| target.endpoint.events.iter().any(|own| own.matches(name));
            if wants(&view.parcel.event_type) && !view.deliveries.iter().any(|row| row.target == to)
            {
                missing.insert(event);
            }
        }
        let others = (all - missing.len()) as u64;
        Ok((missing, others))
    }

    /// Retries the deliveries in one step, in order.
    async fn retry(
        &self,
        scope: TenantScope,
        rows: Vec<DeliveryRow>,
        doubt: InDoubt,
        sent: &mut PageResult,
    ) -> Result<()> {
        let mut ids = Vec::with_capacity(rows.len());
        for row in rows {
            match doubt {
                Some(since) if self.was_retried(scope, row.id, since).await? => {
                    sent.add(scope.tenant(), ItemResult::Done(row.id));
                }
                _ => ids.push(row.id),
            }
        }
        let mut tries = 0;
        while !ids.is_empty() {
            tries += 1;
            let now = self.clock.now();
            let outcomes = self.store.retry_now_in_order(scope, ids.clone(), now).await?;
            let mut in_flight = Vec::new();
            for (id, outcome) in ids.into_iter().zip(outcomes) {
                let result = match outcome {
                    RetryOutcome::Due => ItemResult::Done(id),
                    RetryOutcome::InFlight if tries < MAX_TRIES => {
                        in_flight.push(id);
                        continue;
                    }
                    RetryOutcome::InFlight => ItemResult::Skipped,
                    RetryOutcome::Unknown => ItemResult::Failed,
                };
                sent.add(scope.tenant(), result);
            }
            ids = in_flight;
            if !ids.is_empty() {
                tokio::time::sleep(IN_FLIGHT_WAIT).await;
            }
        }
        Ok(())
    }

    async fn was_retried(&self, scope: TenantScope, id: DeliveryId, since: Time) -> Result<bool> {
        let view = self.store.delivery(scope, id).await?;
        Ok(view.is_some_and(|view| {
            let tried = view.attempts.iter().any(|attempt| attempt.started_at >= since);
            tried || !view.row.state.is_final()
        }))
    }

    /// Reads a page: the events to send, the deliveries to retry, and the cursor of the next page.
    async fn read_page(
        &self,
        scope: TenantScope,
        replay: &Replay,
        (cursor, order): (&Cursor, ListOrder),
        max: usize,
    ) -> Result<(BTreeSet<EventId>, Vec<DeliveryRow>, Option<Cursor>)> {
        if !replay.filter.events.is_empty() {
            return self.read_named(scope, replay, (cursor, order), max).await;
        }
        let page = PageRequest::new(max, cursor.place()?).in_order(order);
        if replay.filter.of == ReplayItems::Events {
            let found = self.store.events(scope, event_filter(replay), page).await?;
            let meant = found.rows.iter().filter(|row| is_meant(replay, row));
            let events = meant.map(|row| row.id).collect();
            return Ok((events, Vec::new(), found.next.map(Cursor::after)));
        }
        let found = self.store.deliveries(scope, delivery_filter(replay), page).await?;
        let next = found.next.map(Cursor::after);
        let meant = found.rows.into_iter().filter(|row| !row.is_test).collect();
        let (events, rows) = split(meant, replay.to);
        Ok((events, rows, next))
    }

    async fn read_named(
        &self,
        scope: TenantScope,
        replay: &Replay,
        (cursor, order): (&Cursor, ListOrder),
        max: usize,
    ) -> Result<(BTreeSet<EventId>, Vec<DeliveryRow>, Option<Cursor>)> {
        let mut named = replay.filter.events.clone();
        if order == ListOrder::OldestFirst {
            named.sort_unstable();
        }
        let end = (cursor.events + max).min(named.len());
        let next = (end < named.len()).then_some(Cursor { after: None, events: end });
        let mut events = BTreeSet::new();
        let mut rows = Vec::new();
        for event in named.get(cursor.events..end).unwrap_or_default() {
            if replay.filter.of == ReplayItems::Events {
                events.insert(*event);
            } else if let Some(view) = self.store.event(scope, *event).await? {
                rows.extend(view.deliveries.into_iter().filter(|row| fits(replay, row)));
            }
        }
        let (more, rows) = split(rows, replay.to);
        events.extend(more);
        Ok((events, rows, next))
    }

    /// Retries a page of dead letters, oldest first. None is retried twice: retried deliveries are not dead
    /// meanwhile, and if they fail again, they do so after the replay's time window.
    async fn retry_dead(
        &self,
        owner: Owner,
        replay: &Replay,
        cursor: &Cursor,
        max: usize,
    ) -> Result<PageResult> {
        let (filter, now) = (dead_filter(owner, replay), self.clock.now());
        let replayed = self.store.replay_dead(filter, max, cursor.place()?, now).await?;
        let next = replayed.next.map(Cursor::after);
        let (done, sent) = (replayed.retried.len() as u64, replayed.retried);
        // Whatever is left at the end could not be sent, because its endpoint was deleted or is disabled.
        let rest = replay.total.saturating_sub(replay.done + replay.skipped + replay.failed + done);
        let skipped = if next.is_none() { rest } else { 0 };
        Ok(PageResult { done, skipped, sent, next, ..PageResult::default() })
    }

    pub(super) fn delivery(&self, targets: &Targets, to: EndpointId) -> NewDelivery {
        NewDelivery {
            id: self.ids.make(),
            lane: Lane::Webhook,
            target: to,
            due_at: self.clock.now(),
            in_order: is_in_order(targets, to),
            hold: false,
        }
    }
}

/// Splits a page: deliveries to the same target are retried; for another endpoint, their events are sent to
/// it.
fn split(rows: Vec<DeliveryRow>, to: Option<EndpointId>) -> (BTreeSet<EventId>, Vec<DeliveryRow>) {
    match to {
        None => (BTreeSet::new(), rows),
        Some(to) => {
            let (there, elsewhere): (Vec<_>, Vec<_>) =
                rows.into_iter().partition(|row| row.target == to);
            let known: BTreeSet<EventId> = there.iter().map(|row| row.event).collect();
            let events =
                elsewhere.iter().map(|row| row.event).filter(|event| !known.contains(event));
            (events.collect(), there)
        }
    }
}

pub(super) fn active(targets: &Targets, id: EndpointId) -> Option<EndpointId> {
    targets
        .endpoints()
        .find(|endpoint| endpoint.id == id && endpoint.is_active)
        .map(|endpoint| endpoint.id)
}

fn is_in_order(targets: &Targets, id: EndpointId) -> bool {
    targets.get(id).is_some_and(|target| target.endpoint.ordering == Ordering::PerSubject)
}

pub(super) async fn send(
    store: Arc<dyn Store>,
    scope: TenantScope,
    event: EventId,
    delivery: Option<NewDelivery>,
    doubt: InDoubt,
) -> Result<ItemResult> {
    let Some(delivery) = delivery else { return Ok(ItemResult::Skipped) };
    if let Some(since) = doubt {
        let view = store.event(scope, event).await?;
        let sent = |row: &DeliveryRow| {
            row.target == delivery.target && row.id.time().millis() >= since.millis()
        };
        if let Some(row) = view.and_then(|view| view.deliveries.into_iter().find(sent)) {
            return Ok(ItemResult::Done(row.id));
        }
    }
    let id = delivery.id;
    let was_there = store.redeliver(scope, event, vec![delivery]).await?;
    Ok(if was_there { ItemResult::Done(id) } else { ItemResult::Failed })
}
