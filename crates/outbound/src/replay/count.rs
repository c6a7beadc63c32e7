//! Counts what a replay would send. A filter that matches little reads the whole log, so that a count is made in
//! steps, and ends after a while: then there are at least as many.

use std::time::Duration;

use gancho_domain::{Lane, TenantScope, event_type::is_reserved};
use gancho_store::{
    DeadFilter, DeliveryFilter, DeliveryRow, EventFilter, EventRow, PageRequest, Result, Store,
};
use tokio::time::Instant;

use super::{Replay, ReplayFilter, ReplayItems};
use crate::Owner;

const PAGE: usize = 1_000;
/// Maximum count; counting stops here.
const MAX_COUNT: u64 = 100_000;
/// Maximum time of a count, over all of its steps.
const MAX_TIME: Duration = Duration::from_secs(30);

/// The number of items that a replay finds.
pub(super) struct ItemCount {
    pub sendable: u64,
    /// Dead letters whose endpoint was deleted or is disabled: they can only go to another one.
    pub unsendable: u64,
    pub is_exact: bool,
}

impl ItemCount {
    fn of(sendable: u64, is_exact: bool) -> Self {
        Self { sendable, unsendable: 0, is_exact }
    }
}

/// The count of a replay that has not started.
pub(super) enum Count {
    Ended(ItemCount),
    Partial(PartialCount),
}

#[derive(Clone)]
pub(super) struct PartialCount {
    count: u64,
    next: PageRequest,
    time: Duration,
}

impl Default for PartialCount {
    fn default() -> Self {
        Self { count: 0, next: PageRequest::first(PAGE), time: Duration::ZERO }
    }
}

/// Counts to the end.
pub(super) async fn count(store: &dyn Store, owner: Owner, replay: &Replay) -> Result<ItemCount> {
    let mut so_far = PartialCount::default();
    loop {
        match count_step(store, owner, replay, so_far, MAX_TIME).await? {
            Count::Ended(count) => return Ok(count),
            Count::Partial(partial) => so_far = partial,
        }
    }
}

/// Counts for about this time, and at least a page.
pub(super) async fn count_step(
    store: &dyn Store,
    owner: Owner,
    replay: &Replay,
    so_far: PartialCount,
    max_time: Duration,
) -> Result<Count> {
    let Some(scope) = scope_of(owner, replay) else {
        let filter = dead_filter(owner, replay);
        let all = DeadFilter { only_sendable: false, ..filter.clone() };
        let (all, sendable) = (store.dead_stats(all).await?, store.dead_stats(filter).await?);
        let unsendable = all.total.saturating_sub(sendable.total);
        let counted = ItemCount { unsendable, ..ItemCount::of(sendable.total, true) };
        return Ok(Count::Ended(counted));
    };
    if !replay.filter.events.is_empty() {
        let count = named(store, scope, replay).await?;
        return Ok(Count::Ended(ItemCount::of(count, true)));
    }
    let PartialCount { mut count, next: mut page, time } = so_far;
    let start = Instant::now();
    loop {
        let (rows, next) = if replay.filter.of == ReplayItems::Events {
            let found = store.events(scope, event_filter(replay), page).await?;
            (found.rows.iter().filter(|row| is_meant(replay, row)).count(), found.next)
        } else {
            let found = store.deliveries(scope, delivery_filter(replay), page).await?;
            (found.rows.iter().filter(|row| !row.is_test).count(), found.next)
        };
        count += rows as u64;
        let time = time + start.elapsed();
        if next.is_none() {
            return Ok(Count::Ended(ItemCount::of(count, true)));
        }
        if count >= MAX_COUNT || time >= MAX_TIME {
            return Ok(Count::Ended(ItemCount::of(count, false)));
        }
        page = PageRequest::new(PAGE, next);
        if start.elapsed() >= max_time {
            return Ok(Count::Partial(PartialCount { count, next: page, time }));
        }
    }
}

/// Returns the tenant whose deliveries or events are replayed; `None` for dead letters.
pub(super) fn scope_of(owner: Owner, replay: &Replay) -> Option<TenantScope> {
    let filter = &replay.filter;
    scope_of_tenant(owner, filter).filter(|_| filter.of != ReplayItems::DeadLetters)
}

/// Returns the tenant's own scope, or that of the tenant that the operator selected.
pub(super) fn scope_of_tenant(owner: Owner, filter: &ReplayFilter) -> Option<TenantScope> {
    owner.scope().or_else(|| filter.tenant.map(TenantScope::internal))
}

async fn named(store: &dyn Store, scope: TenantScope, replay: &Replay) -> Result<u64> {
    let mut count = 0;
    for event in &replay.filter.events {
        let Some(view) = store.event(scope, *event).await? else { continue };
        count += match replay.filter.of {
            ReplayItems::Events => 1,
            _ => view.deliveries.iter().filter(|row| fits(replay, row)).count() as u64,
        };
    }
    Ok(count)
}

/// Whether the replay includes the event. Test events are replayed only if they are named, and notices of the
/// gateway only by their type.
pub(super) fn is_meant(replay: &Replay, row: &EventRow) -> bool {
    !row.is_test && (replay.filter.event_type.is_some() || !is_reserved(&row.event_type))
}

/// Whether the replay includes this delivery of a listed event.
pub(super) fn fits(replay: &Replay, row: &DeliveryRow) -> bool {
    let filter = &replay.filter;
    row.lane == filter.lane.unwrap_or(Lane::Webhook)
        && filter.endpoint.is_none_or(|endpoint| endpoint == row.target)
        && filter.status.is_none_or(|status| status == row.status())
        && filter.event_type.as_deref().is_none_or(|name| name == &*row.event_type)
        && filter.since.is_none_or(|since| row.created_at >= since)
        && filter.until.is_none_or(|until| row.created_at < until)
}

pub(super) fn delivery_filter(replay: &Replay) -> DeliveryFilter {
    let filter = &replay.filter;
    DeliveryFilter {
        lane: Some(filter.lane.unwrap_or(Lane::Webhook)),
        endpoint: filter.endpoint,
        status: filter.status,
        event_type: filter.event_type.clone(),
        external_id: filter.external_id.clone(),
        since: filter.since,
        until: filter.until,
        ..DeliveryFilter::default()
    }
}

pub(super) fn event_filter(replay: &Replay) -> EventFilter {
    let filter = &replay.filter;
    EventFilter {
        event_type: filter.event_type.clone(),
        since: filter.since,
        until: filter.until,
        ..EventFilter::default()
    }
}

/// Returns the filter of dead letters, within the tenant's own scope or the one that the operator selected.
pub(super) fn dead_filter(owner: Owner, replay: &Replay) -> DeadFilter {
    let filter = &replay.filter;
    DeadFilter {
        tenant: owner.tenant().or(filter.tenant),
        // Only webhooks can be sent to another endpoint.
        lane: filter.lane.or(replay.to.map(|_| Lane::Webhook)),
        code: filter.code.clone(),
        since: filter.since,
        until: filter.until,
        only_sendable: replay.to.is_none(),
        ..DeadFilter::default()
    }
}
