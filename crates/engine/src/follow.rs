//! Follow-up parcels that are published with a result, such as the notice that an e-mail was sent.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use gancho_domain::{Failure, NextStep, TenantScope, Time};
use gancho_store::{Job, NewParcel};

use crate::{
    Engine,
    carrier::AttemptResult,
    lane::{LaneState, Ticket},
    recovery::{Backoff, Recovery},
};

/// Returns the parcels that the carrier publishes with the result. None of their deliveries may be leased to
/// this node, because nothing would queue them here; they are claimed like any others. Retries until the
/// store answers. Returns `None` if the lease is lost.
pub(crate) async fn follow(
    engine: &Arc<Engine>,
    lane: &LaneState,
    ticket: &Ticket,
    carried: &AttemptResult,
    next: &NextStep,
    at: Time,
) -> Option<Vec<NewParcel>> {
    let mut backoff = Backoff::new();
    loop {
        let asking = AssertUnwindSafe(lane.carrier.follow(&ticket.job, carried, next, at));
        match asking.catch_unwind().await {
            Ok(Ok(parcels)) => return Some(without_hold(parcels)),
            // Retrying would not help, and the result itself must not be lost.
            Ok(Err(error)) if error.is_permanent() => {
                return Some(lost(lane, &ticket.job, &error.to_string()));
            }
            Ok(Err(error)) => match engine.recovery_for("follow", ticket.node, &error) {
                Recovery::Retry => lane.counters.settle_retries.add(1),
                Recovery::Fenced => {
                    lane.counters.lease_lost.add(1);
                    return None;
                }
                Recovery::Stop => return None,
            },
            Err(_) => {
                lane.counters.panics.add(1);
                return Some(lost(lane, &ticket.job, "the carrier panicked"));
            }
        }
        backoff.wait().await;
    }
}

fn without_hold(mut parcels: Vec<NewParcel>) -> Vec<NewParcel> {
    for delivery in parcels.iter_mut().flat_map(|parcel| &mut parcel.deliveries) {
        delivery.hold = false;
    }
    parcels
}

fn lost(lane: &LaneState, job: &Job, reason: &str) -> Vec<NewParcel> {
    tracing::error!(delivery = %job.delivery, lane = %lane.lane, reason, "could not create follow-up parcels");
    Vec::new()
}

/// Returns the failure of the last attempt, for the reason of a delivery that ends without another one. It
/// only informs, so a failed read is not retried.
pub(crate) async fn last_failure(engine: &Engine, job: &Job) -> Option<Failure> {
    if job.attempts == 0 {
        return None;
    }
    let scope = TenantScope::internal(job.tenant);
    let view = engine.store.delivery(scope, job.delivery).await.ok().flatten()?;
    view.attempts.last()?.failure.clone()
}
