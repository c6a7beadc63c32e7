//! Why a delivery is waiting.

use std::collections::{HashMap, HashSet};

use gancho_domain::{DeliveryId, Lane, State, TenantId, Time};
use gancho_engine::TargetStatus;
use gancho_store::{DeliveryRow, Pause, TargetId};
use parking_lot::Mutex;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{render::Timestamp, state::Api};

/// What an unfinished delivery is waiting for.
#[derive(Debug, Serialize, ToSchema)]
pub struct WaitingFor {
    /// Why the delivery is waiting.
    pub reason: Reason,
    /// When the wait ends; null if that is not known.
    pub until: Option<Timestamp>,
}

/// Why a delivery is waiting. `attempt`: an attempt is in flight or about to start. `retry`: the next attempt is not
/// due yet. `schedule`: its `deliver_at` has not come yet. `lane_resume`, `tenant_resume` and `webhook_resume`: the
/// lane, tenant or webhook is paused. `circuit_breaker`: the endpoint failed too often in a row, and attempts are
/// suspended. `rate_limit`: the endpoint's rate limit is used up. `in_flight_limit`: the endpoint has as many requests
/// in flight as its `max_in_flight` allows. `earlier_delivery`: an earlier delivery of the same subject comes first.
/// `backlog`: older deliveries, or those of other tenants, come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = WaitReason)]
pub enum Reason {
    Attempt,
    Retry,
    Schedule,
    LaneResume,
    TenantResume,
    WebhookResume,
    CircuitBreaker,
    RateLimit,
    InFlightLimit,
    EarlierDelivery,
    Backlog,
}

impl Reason {
    fn of_pause(pause: Pause) -> Self {
        match pause {
            Pause::Endpoint(..) => Self::WebhookResume,
            Pause::Tenant(_) => Self::TenantResume,
            Pause::Lane(_) => Self::LaneResume,
        }
    }
}

/// What holds deliveries back, for a whole response: what is in line is asked for once for each target.
pub struct WaitContext {
    now: Time,
    queued: Mutex<HashMap<LaneTarget, HashSet<DeliveryId>>>,
}

type LaneTarget = (Lane, TenantId, TargetId);

impl WaitContext {
    pub fn new(api: &Api) -> Self {
        Self { now: api.clock.now(), queued: Mutex::default() }
    }

    /// Returns `None` for a finished delivery.
    pub fn on(&self, api: &Api, tenant: TenantId, row: &DeliveryRow) -> Option<WaitingFor> {
        if row.state.is_final() {
            return None;
        }
        let status = api.engine.target_status(row.lane, tenant, row.target);
        let pause = api.engine.pause_of(row.lane, (tenant, row.target));
        let target = (row.lane, tenant, row.target);
        let ask = || api.engine.queued_deliveries(row.lane, (tenant, row.target));
        let is_queued = row.state == State::Leased && self.is_queued(target, row.id, ask);
        let (reason, until) = self.reason(row, pause, status, is_queued);
        Some(WaitingFor { reason, until: until.map(Timestamp) })
    }

    fn is_queued(
        &self,
        target: LaneTarget,
        delivery: DeliveryId,
        ask: impl FnOnce() -> HashSet<DeliveryId>,
    ) -> bool {
        self.queued.lock().entry(target).or_insert_with(ask).contains(&delivery)
    }

    /// A pause comes first, because its end is not known.
    fn reason(
        &self,
        row: &DeliveryRow,
        pause: Option<Pause>,
        status: Option<TargetStatus>,
        is_queued: bool,
    ) -> (Reason, Option<Time>) {
        match row.state {
            // One that waits in the queue of a node waits for the same as one in the store.
            State::Leased if is_queued => {}
            State::Leased => return (Reason::Attempt, None),
            State::Waiting => return (Reason::EarlierDelivery, None),
            State::Pending | State::Delivered | State::Dead => {}
        }
        let is_due = is_queued || row.due_at <= self.now;
        if let Some(pause) = pause {
            return (Reason::of_pause(pause), None);
        }
        if !is_due {
            let reason = if row.attempts == 0 { Reason::Schedule } else { Reason::Retry };
            return (reason, Some(row.next_retry_at.unwrap_or(row.due_at)));
        }
        match status {
            Some(TargetStatus { rests_until: Some(until), .. }) => {
                (Reason::CircuitBreaker, Some(until))
            }
            Some(TargetStatus { is_probed: true, .. }) => (Reason::CircuitBreaker, None),
            Some(TargetStatus { rate_allows_at: Some(at), .. }) => (Reason::RateLimit, Some(at)),
            Some(TargetStatus { is_at_limit: true, .. }) => (Reason::InFlightLimit, None),
            _ => (Reason::Backlog, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use gancho_domain::{EndpointId, EventId};
    use gancho_engine::Pool;

    use super::*;

    const NOW: Time = Time::from_secs(1_000);
    const LATER: Time = Time::from_secs(1_060);

    fn row(state: State, attempts: u32, due_at: Time) -> DeliveryRow {
        DeliveryRow {
            id: DeliveryId::from_bits(1),
            lane: Lane::Webhook,
            target: EndpointId::from_bits(2),
            event: EventId::from_bits(3),
            event_type: "a.b".into(),
            external_id: None,
            is_test: false,
            state,
            attempts,
            response_status: None,
            last_failure: None,
            due_at,
            next_retry_at: None,
            delivered_at: None,
            failed_at: None,
            created_at: NOW - Duration::from_secs(9),
        }
    }

    fn status() -> TargetStatus {
        TargetStatus {
            pool: Pool::Prompt,
            has_failed: false,
            in_flight: 0,
            queued: 0,
            rests_until: None,
            is_probed: false,
            rate_allows_at: None,
            is_at_limit: false,
            is_behind: false,
        }
    }

    /// A page may have hundreds of deliveries of one endpoint, and hundreds may be in its line.
    #[test]
    fn what_is_in_line_is_asked_for_once_for_each_target() {
        let context = WaitContext { now: NOW, queued: Mutex::default() };
        let target =
            |number| (Lane::Webhook, TenantId::from_bits(7), EndpointId::from_bits(number));
        let mut asked = 0;
        for id in 0..1_000 {
            let ask = || {
                asked += 1;
                (0..500).map(DeliveryId::from_bits).collect()
            };
            let is_queued = context.is_queued(target(id % 2), DeliveryId::from_bits(id), ask);
            assert_eq!(is_queued, id < 500);
        }
        assert_eq!(asked, 2);
    }

    #[test]
    fn each_delivery_that_waits_says_why() {
        let context = WaitContext { now: NOW, queued: Mutex::default() };
        let due = row(State::Pending, 1, NOW);
        let reason = |row: &DeliveryRow, status| context.reason(row, None, status, false);
        let leased = row(State::Leased, 0, LATER);
        assert_eq!(reason(&leased, None), (Reason::Attempt, None));
        let queued = TargetStatus { rate_allows_at: Some(LATER), queued: 1, ..status() };
        let waits = context.reason(&leased, None, Some(queued), true);
        assert_eq!(waits, (Reason::RateLimit, Some(LATER)));
        let waits = context.reason(&leased, None, Some(status()), true);
        assert_eq!(waits, (Reason::Backlog, None));
        let behind = row(State::Waiting, 0, NOW);
        assert_eq!(reason(&behind, None), (Reason::EarlierDelivery, None));
        let later = row(State::Pending, 0, LATER);
        assert_eq!(reason(&later, None), (Reason::Schedule, Some(LATER)));
        let again = row(State::Pending, 2, LATER);
        assert_eq!(reason(&again, None), (Reason::Retry, Some(LATER)));
        assert_eq!(reason(&due, None), (Reason::Backlog, None));
        let resting = TargetStatus { rests_until: Some(LATER), ..status() };
        assert_eq!(reason(&due, Some(resting)), (Reason::CircuitBreaker, Some(LATER)));
        let limited = TargetStatus { rate_allows_at: Some(LATER), ..status() };
        assert_eq!(reason(&due, Some(limited)), (Reason::RateLimit, Some(LATER)));
        let full = TargetStatus { is_at_limit: true, ..status() };
        assert_eq!(reason(&due, Some(full)), (Reason::InFlightLimit, None));
        let tenant = TenantId::from_bits(7);
        for (pause, why) in [
            (Pause::Lane(Lane::Webhook), Reason::LaneResume),
            (Pause::Tenant(tenant), Reason::TenantResume),
            (Pause::Endpoint(tenant, due.target), Reason::WebhookResume),
        ] {
            let waits = context.reason(&again, Some(pause), Some(resting), false);
            assert_eq!(waits, (why, None));
        }
    }
}
