//! One change of a delivery, with its row as lists show it after the change.

use std::time::Duration;

use gancho_domain::{NextStep, State, TenantId, Time};
use gancho_store::{
    AcceptOutcome, DeliveryRow, Job, NewDelivery, NewParcel, Placement, Settlement,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryChange {
    pub at: Time,
    pub tenant: TenantId,
    /// The delivery after the change.
    pub row: DeliveryRow,
    /// How long the attempt took; `None` if none was made.
    pub latency: Option<Duration>,
}

/// Returns the changes of a parcel that was accepted; none if it was accepted before.
pub(crate) fn accepted<'a>(
    now: Time,
    new: &'a NewParcel,
    outcome: &'a AcceptOutcome,
) -> impl Iterator<Item = DeliveryChange> + 'a {
    let placed: &[Placement] = match outcome {
        AcceptOutcome::New { placed, .. } => placed,
        AcceptOutcome::Again { .. } | AcceptOutcome::Clash { .. } => &[],
    };
    let placed = new.deliveries.iter().zip(placed);
    placed.map(move |(delivery, placement)| DeliveryChange {
        at: now,
        tenant: new.parcel.tenant,
        row: accepted_row(now, new, delivery, *placement),
        latency: None,
    })
}

fn accepted_row(
    now: Time,
    new: &NewParcel,
    delivery: &NewDelivery,
    placement: Placement,
) -> DeliveryRow {
    let parcel = &new.parcel;
    let withheld = new.ledger.as_ref().and_then(|receipt| receipt.withheld.clone());
    let is_dead = placement == Placement::Dead;
    DeliveryRow {
        id: delivery.id,
        lane: delivery.lane,
        target: delivery.target,
        event: parcel.id,
        event_type: parcel.event_type.clone(),
        external_id: parcel.external_id.clone(),
        is_test: parcel.is_test,
        state: match placement {
            Placement::Leased => State::Leased,
            Placement::Pending => State::Pending,
            Placement::Waiting => State::Waiting,
            Placement::Dead => State::Dead,
        },
        attempts: 0,
        response_status: None,
        last_failure: withheld.filter(|_| is_dead),
        due_at: delivery.due_at,
        next_retry_at: None,
        delivered_at: None,
        failed_at: is_dead.then_some(now),
        created_at: parcel.created_at,
    }
}

/// Returns the change of a result that was settled. `None` if a reader would notice no change: this node
/// deferred the delivery because it could not attempt it.
pub(crate) fn settled(now: Time, job: &Job, settlement: &Settlement) -> Option<DeliveryChange> {
    let attempt = settlement.attempt.as_ref();
    let (state, due_at, planned_at) = match &settlement.next {
        NextStep::Delivered => (State::Delivered, now, None),
        NextStep::Dead(_) => (State::Dead, now, None),
        NextStep::Retry { due_at, planned_at } => (State::Pending, *due_at, Some(*planned_at)),
    };
    if attempt.is_none() && !state.is_final() {
        return None;
    }
    let ended_at = settlement.ended_at();
    let given_up = match &settlement.next {
        NextStep::Dead(failure) => Some(failure.clone()),
        NextStep::Delivered | NextStep::Retry { .. } => None,
    };
    let parcel = &job.parcel;
    let row = DeliveryRow {
        id: job.delivery,
        lane: job.lane,
        target: job.target,
        event: parcel.id,
        event_type: parcel.event_type.clone(),
        external_id: parcel.external_id.clone(),
        is_test: parcel.is_test,
        state,
        attempts: attempt.map_or(job.attempts, |attempt| attempt.number),
        response_status: attempt.and_then(|attempt| attempt.response_status),
        last_failure: given_up.or_else(|| attempt.and_then(|attempt| attempt.failure.clone())),
        due_at,
        next_retry_at: planned_at,
        delivered_at: (state == State::Delivered).then_some(ended_at),
        failed_at: (state == State::Dead).then_some(ended_at),
        created_at: job.created_at,
    };
    let latency = attempt.map(|attempt| attempt.latency);
    Some(DeliveryChange { at: ended_at, tenant: job.tenant, row, latency })
}
