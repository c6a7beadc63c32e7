//! Writing a result. It is never dropped while the engine lives and holds the lease: a store that
//! does not answer is asked until it does.

use std::sync::Arc;

use gancho_domain::Next;
use gancho_store::{NodeId, Settled, Settlement};

use crate::{
    Engine,
    fault::{Backoff, Course},
    lane::LaneState,
};

pub(crate) async fn settle(
    engine: &Arc<Engine>,
    lane: &LaneState,
    node: NodeId,
    settlement: Settlement,
) {
    let mut backoff = Backoff::new();
    loop {
        match engine.store.settle(node, vec![settlement.clone()]).await {
            Ok(answers) => {
                match answers.first() {
                    Some(Settled::Done { .. }) => note(engine, lane, &settlement),
                    Some(Settled::LeaseLost) | None => lane.counters.lease_lost.add(1),
                }
                return;
            }
            Err(error) => match engine.course("settle", node, &error) {
                Course::Again => lane.counters.settle_retries.add(1),
                Course::Fenced => return lane.counters.lease_lost.add(1),
                Course::Stop => return,
            },
        }
        backoff.wait().await;
    }
}

fn note(engine: &Engine, lane: &LaneState, settlement: &Settlement) {
    match &settlement.next {
        Next::Delivered => lane.counters.delivered.add(1),
        Next::Dead(_) => lane.counters.dead.add(1),
        Next::Retry { due_at, planned_at } => {
            if settlement.attempt.is_some() {
                lane.counters.retried.add(1);
                lane.timings.backoff.add(planned_at.since(settlement.at));
            }
            // Later ones are found by looking from time to time.
            let soon = due_at.since(engine.clock.now()) < engine.limits.poll;
            if lane.note_due(*due_at) && soon {
                lane.claim_bell.notify_one();
            }
        }
    }
}
