//! Sends one page of a replay again.

use std::{collections::BTreeSet, sync::Arc};

use data_encoding::HEXLOWER;
use gancho_domain::{EndpointId, EventId, Lane, Ordering, TenantScope, Time};
use gancho_store::{DeliveryRow, NewDelivery, PageRequest, Rearmed, Result, Store};
use tokio::task::JoinSet;

use super::{
    Replay, ReplayOf, Replays,
    count::{dead_filter, delivery_filter, event_filter, fits, is_meant, scope_of},
    kept::{Cursor, corrupt},
};
use crate::{Owner, registry::Targets};

/// What came of a page.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sent {
    pub done: u64,
    pub skipped: u64,
    pub failed: u64,
    /// Where the next one begins; nothing after the last.
    pub next: Option<Cursor>,
}

impl Sent {
    pub fn count(&self) -> u64 {
        self.done + self.skipped + self.failed
    }
}

/// What became of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum One {
    Done,
    Skipped,
    Failed,
}

/// A page that may have been sent already, by a runner that died before it wrote so: since when.
pub(super) type InDoubt = Option<Time>;

impl Replays {
    pub(super) async fn send_page(
        &self,
        owner: Owner,
        replay: &Replay,
        cursor: &Cursor,
        most: usize,
        doubt: InDoubt,
    ) -> Result<Sent> {
        let Some(scope) = scope_of(owner, replay) else {
            return self.arm_dead(owner, replay, most).await;
        };
        let targets = self.registry.of(scope.tenant()).await?;
        let (events, rows, next) = self.read_page(scope, replay, cursor, most).await?;
        let mut work = JoinSet::new();
        for event in events {
            let to = replay.to.and_then(|to| active(&targets, to));
            work.spawn(send(
                self.store.clone(),
                scope,
                event,
                to.map(|to| self.delivery(&targets, to)),
                doubt,
            ));
        }
        for row in rows {
            let fits = row.lane != Lane::Webhook || active(&targets, row.target).is_some();
            work.spawn(arm(self.store.clone(), scope, row, fits, self.clock.now(), doubt));
        }
        let mut sent = Sent { next, ..Sent::default() };
        while let Some(one) = work.join_next().await {
            match one.unwrap_or(Ok(One::Failed))? {
                One::Done => sent.done += 1,
                One::Skipped => sent.skipped += 1,
                One::Failed => sent.failed += 1,
            }
        }
        Ok(sent)
    }

    /// Events to send, deliveries to arm, and where the next page begins.
    async fn read_page(
        &self,
        scope: TenantScope,
        replay: &Replay,
        cursor: &Cursor,
        most: usize,
    ) -> Result<(BTreeSet<EventId>, Vec<DeliveryRow>, Option<Cursor>)> {
        if !replay.filter.events.is_empty() {
            return self.read_named(scope, replay, cursor, most).await;
        }
        let page = PageRequest { most, after: cursor.after.as_deref().map(place).transpose()? };
        let next = |after: Option<[u8; 32]>| {
            after.map(|after| Cursor { after: Some(HEXLOWER.encode(&after)), events: 0 })
        };
        if replay.filter.of == ReplayOf::Events {
            let found = self.store.events(scope, event_filter(replay), page).await?;
            let meant = found.rows.iter().filter(|row| is_meant(replay, row));
            let events = meant.map(|row| row.id).collect();
            return Ok((events, Vec::new(), next(found.next)));
        }
        let found = self.store.deliveries(scope, delivery_filter(replay), page).await?;
        let next = next(found.next);
        let meant = found.rows.into_iter().filter(|row| !row.is_test).collect();
        let (events, rows) = split(meant, replay.to);
        Ok((events, rows, next))
    }

    async fn read_named(
        &self,
        scope: TenantScope,
        replay: &Replay,
        cursor: &Cursor,
        most: usize,
    ) -> Result<(BTreeSet<EventId>, Vec<DeliveryRow>, Option<Cursor>)> {
        let named = &replay.filter.events;
        let end = (cursor.events + most).min(named.len());
        let next = (end < named.len()).then_some(Cursor { after: None, events: end });
        let mut events = BTreeSet::new();
        let mut rows = Vec::new();
        for event in named.get(cursor.events..end).unwrap_or_default() {
            if replay.filter.of == ReplayOf::Events {
                events.insert(*event);
            } else if let Some(view) = self.store.event(scope, *event).await? {
                rows.extend(view.deliveries.into_iter().filter(|row| fits(replay, row)));
            }
        }
        let (more, rows) = split(rows, replay.to);
        events.extend(more);
        Ok((events, rows, next))
    }

    /// The oldest first. Those that were armed are not dead while they are tried, and if they die
    /// again they do so after the replay's end of time: none is armed twice.
    async fn arm_dead(&self, owner: Owner, replay: &Replay, most: usize) -> Result<Sent> {
        let done =
            self.store.replay_dead(dead_filter(owner, replay), most, self.clock.now()).await?;
        let next = (done > 0).then(Cursor::default);
        Ok(Sent { done, next, ..Sent::default() })
    }

    fn delivery(&self, targets: &Targets, to: EndpointId) -> NewDelivery {
        let ordering = targets.get(to).map(|target| target.endpoint.ordering);
        NewDelivery {
            id: self.ids.make(),
            lane: Lane::Webhook,
            target: to,
            due_at: self.clock.now(),
            in_order: ordering == Some(Ordering::PerSubject),
            hold: false,
        }
    }
}

/// Deliveries that go to where they went are armed; for another endpoint their events are sent to it.
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

fn active(targets: &Targets, id: EndpointId) -> Option<EndpointId> {
    targets
        .endpoints()
        .find(|endpoint| endpoint.id == id && endpoint.is_active)
        .map(|endpoint| endpoint.id)
}

async fn send(
    store: Arc<dyn Store>,
    scope: TenantScope,
    event: EventId,
    delivery: Option<NewDelivery>,
    doubt: InDoubt,
) -> Result<One> {
    let Some(delivery) = delivery else { return Ok(One::Skipped) };
    if let Some(since) = doubt {
        let view = store.event(scope, event).await?;
        let sent = |row: &DeliveryRow| {
            row.target == delivery.target && row.id.time().millis() >= since.millis()
        };
        if view.is_some_and(|view| view.deliveries.iter().any(sent)) {
            return Ok(One::Done);
        }
    }
    let was_there = store.send_again(scope, event, vec![delivery]).await?;
    Ok(if was_there { One::Done } else { One::Failed })
}

async fn arm(
    store: Arc<dyn Store>,
    scope: TenantScope,
    row: DeliveryRow,
    fits: bool,
    now: Time,
    doubt: InDoubt,
) -> Result<One> {
    if !fits {
        return Ok(One::Skipped);
    }
    if let Some(since) = doubt {
        let view = store.delivery(scope, row.id).await?;
        let was_armed = view.is_some_and(|view| {
            let tried = view.attempts.iter().any(|attempt| attempt.started_at >= since);
            tried || !view.row.state.is_final()
        });
        if was_armed {
            return Ok(One::Done);
        }
    }
    Ok(match store.rearm(scope, row.id, now).await? {
        Rearmed::Due => One::Done,
        Rearmed::InFlight => One::Skipped,
        Rearmed::Unknown => One::Failed,
    })
}

fn place(text: &str) -> Result<[u8; 32]> {
    let bytes = HEXLOWER.decode(text.as_bytes()).ok();
    bytes.and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| corrupt(text))
}
