//! Writes the result of an attempt. A result is never dropped while the engine lives and holds the lease: the
//! write is retried until the store answers. If the store rejects a result permanently, it is written without
//! the parts that may be the cause.

use std::sync::Arc;

use gancho_domain::NextStep;
use gancho_store::{AcceptOutcome, SettleOutcome, Settlement, StoreError};

use crate::{
    Engine,
    lane::{LaneState, Ticket},
    recovery::{Backoff, Recovery},
    reduce::reductions,
    tail,
};

pub(crate) async fn settle(
    engine: &Arc<Engine>,
    lane: &LaneState,
    ticket: &Ticket,
    mut settlement: Settlement,
) {
    settlement.leased_at = Some(ticket.leased_at());
    if let Err(error) = write(engine, lane, ticket, &settlement).await {
        Box::pin(write_reduced(engine, lane, ticket, &settlement, error)).await;
    }
}

async fn write_reduced(
    engine: &Arc<Engine>,
    lane: &LaneState,
    ticket: &Ticket,
    settlement: &Settlement,
    error: StoreError,
) {
    lane.counters.unstorable.add(1);
    let delivery = settlement.delivery;
    for (without, reduced) in reductions(settlement) {
        if write(engine, lane, ticket, &reduced).await.is_ok() {
            tracing::error!(%delivery, lane = %lane.lane, %error, without, "store rejected a result; saved it in part");
            return;
        }
    }
    // Releasing it would retry it at once, forever.
    tracing::error!(%delivery, lane = %lane.lane, %error, "store rejected a result; delivery stays leased until this node stops");
}

/// Writes the result. Fails only if the store rejects it permanently.
async fn write(
    engine: &Arc<Engine>,
    lane: &LaneState,
    ticket: &Ticket,
    settlement: &Settlement,
) -> Result<(), StoreError> {
    let node = ticket.node;
    let mut backoff = Backoff::new();
    loop {
        match engine.store.settle(node, vec![settlement.clone()]).await {
            Ok(answers) => {
                match answers.first() {
                    Some(SettleOutcome::Done { follow }) => {
                        count(engine, lane, ticket, settlement, follow);
                        note(engine, lane, settlement);
                    }
                    Some(SettleOutcome::LeaseLost) | None => lane.counters.lease_lost.add(1),
                }
                return Ok(());
            }
            Err(error) if error.is_permanent() => return Err(error),
            Err(error) => match engine.recovery_for("settle", node, &error) {
                Recovery::Retry => lane.counters.settle_retries.add(1),
                Recovery::Fenced => {
                    lane.counters.lease_lost.add(1);
                    return Ok(());
                }
                Recovery::Stop => return Ok(()),
            },
        }
        backoff.wait().await;
    }
}

/// Counts and shows a result, only after the store has confirmed it, and only once.
fn count(
    engine: &Engine,
    lane: &LaneState,
    ticket: &Ticket,
    settlement: &Settlement,
    follow: &[AcceptOutcome],
) {
    let (now, job) = (engine.clock.now(), &ticket.job);
    lane.outcomes.count(now, job, settlement);
    engine.log_result(job, &ticket.plan, settlement);
    engine.statistics.count_result(now, job, settlement);
    if engine.tails.are_watching(job.tenant, job.lane)
        && let Some(change) = tail::settled(now, job, settlement)
    {
        engine.tails.publish(change);
    }
    engine.trace_attempt(job, settlement.attempt.as_ref(), &settlement.next);
    if !follow.is_empty() {
        engine.trace_accepted(settlement.follow.iter().zip(follow));
        engine.count_accepted(now, settlement.follow.iter().zip(follow));
    }
}

fn note(engine: &Engine, lane: &LaneState, settlement: &Settlement) {
    match &settlement.next {
        NextStep::Delivered => {
            lane.counters.delivered.add(1);
            if let Some(attempt) = &settlement.attempt {
                lane.timings.count_success(attempt.number);
            }
        }
        NextStep::Dead(_) => lane.counters.dead.add(1),
        NextStep::Retry { due_at, planned_at } => {
            if settlement.attempt.is_some() {
                lane.counters.retried.add(1);
                lane.timings.backoff.add(planned_at.since(settlement.at));
            }
            // Later ones are found by polling.
            let soon = due_at.since(engine.clock.now()) < engine.limits.poll;
            if lane.note_due(*due_at) && soon {
                lane.claim_bell.notify_one();
            }
        }
    }
}
