//! Starts the attempts that may start now. Called after each change, and by a timer for what becomes possible
//! with time alone.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use gancho_domain::Time;

use crate::{
    Engine, carry,
    lane::{LaneState, Ticket},
    scheduler::{HungFlights, Outcome, Slot},
};

/// The wall clock may jump, so no sleep is longer than this.
const MAX_SLEEP: Duration = Duration::from_secs(1);
const MIN_SLEEP: Duration = Duration::from_millis(1);

/// Runs the lane's timer. It wakes when a rate allows another delivery or the pause of a breaker ends.
pub(crate) async fn run(engine: Arc<Engine>, lane: Arc<LaneState>) {
    loop {
        let now = engine.clock.now();
        let is_member = engine.membership.current().is_some();
        let wake_at = {
            let queue = lane.queue.lock();
            let wake_at = queue.wake_at(now);
            // A node that is not a member starts nothing, so it sets no timer.
            let timer_at = wake_at.map_or(i64::MAX, Time::micros);
            lane.timer_at.store(if is_member { timer_at } else { i64::MIN }, Ordering::Relaxed);
            wake_at
        };
        match wake_at.filter(|_| is_member) {
            // A successful heartbeat rings too.
            None => lane.timer_bell.notified().await,
            Some(at) => {
                let wait = at.since(now).clamp(MIN_SLEEP, MAX_SLEEP);
                tokio::select! {
                    biased;
                    () = lane.timer_bell.notified() => {}
                    () = tokio::time::sleep(wait) => {}
                }
            }
        }
        engine.dispatch(&lane);
    }
}

/// The result of one pass over the queue.
struct DispatchBatch {
    ready: Vec<(Slot, Ticket)>,
    evicted: Vec<Ticket>,
    hung: HungFlights,
    /// Whether claims may take from a target that they skipped before.
    eased: bool,
    ran_dry: bool,
    wakes_earlier: bool,
}

impl Engine {
    pub(crate) fn dispatch(self: &Arc<Self>, lane: &Arc<LaneState>) {
        if self.stopping.is_cancelled() || self.aborted.is_cancelled() {
            return;
        }
        let found = self.next_batch(lane, self.clock.now());
        for (slot, ticket) in found.ready {
            let held = carry::SlotGuard::new(self, lane, slot, &ticket);
            // Boxed: a task is moved several times before it runs.
            self.spawn(Box::pin(carry::carry(self.clone(), lane.clone(), held, ticket)));
        }
        lane.cut_short(found.hung);
        if !found.evicted.is_empty() {
            self.give_back(lane, found.evicted);
        }
        if found.eased || (found.ran_dry && self.room.is_wanted(lane.lane)) {
            lane.claim_bell.notify_one();
        }
        if found.wakes_earlier {
            lane.timer_bell.notify_one();
        }
    }

    pub(crate) fn dispatch_all(self: &Arc<Self>) {
        for lane in &self.lanes {
            self.dispatch(lane);
            lane.timer_bell.notify_one();
        }
    }

    fn next_batch(&self, lane: &LaneState, now: Time) -> DispatchBatch {
        let mut queue = lane.queue.lock();
        let mut ready = Vec::new();
        if let Some(node) = self.membership.current() {
            while let Some((slot, ticket)) = queue.next(now) {
                if ticket.node == node {
                    ready.push((slot, ticket));
                } else {
                    // Leased to an earlier node number of this engine: another node has it now.
                    queue.finished(slot, Outcome::NotTried, now);
                }
            }
        }
        let timer_at = lane.timer_at.load(Ordering::Relaxed);
        DispatchBatch {
            evicted: queue.take_evicted(),
            hung: queue.hung(now),
            eased: queue.take_eased(),
            ran_dry: !ready.is_empty() && queue.queued() == 0,
            wakes_earlier: queue.wake_at(now).is_some_and(|at| at.micros() < timer_at),
            ready,
        }
    }
}
