//! Claims due deliveries from the store as there is room for them.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use gancho_store::{Claim, ClaimResult, Job, NodeId};
use tokio::time::Instant;

use crate::{
    Engine,
    lane::LaneState,
    recovery::Recovery,
    room::{Seats, Size},
};

/// The result of one round of claiming.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Round {
    /// More is due, or was not scanned yet: claim again.
    More {
        /// How long to wait before the next claim.
        rest: Duration,
    },
    /// All that was due and not skipped is in the queue.
    Done { rest: Duration },
    /// No claim was made: no room, paused, or not a member.
    Blocked,
    /// The call to the store failed.
    Refused,
}

/// After a round that found little, the store is left alone for a multiple of what the round took: in
/// a flood of deliveries to targets that have enough, the bell rings without pause, and each round may
/// have to pass over thousands of them.
const RESTS: u32 = 4;
const MIN_REST: Duration = Duration::from_millis(5);
const MAX_REST: Duration = Duration::from_millis(25);
const AFTER_REFUSAL: Duration = Duration::from_millis(200);
/// Where a look around takes several claims, because thousands of targets have something pending that is not due or
/// not to be sent, it takes a fiftieth of the time at most while no bell rings.
const LOOKS_EVERY: u32 = 50;
const MAX_POLL: Duration = Duration::from_secs(5);

pub(crate) async fn run(engine: Arc<Engine>, lane: Arc<LaneState>) {
    let mut fruitless = Duration::ZERO;
    while !engine.stopping.is_cancelled() {
        let begin = Instant::now();
        let round = engine.claim_round(&lane).await;
        match round {
            Round::More { rest } if !rest.is_zero() => {
                fruitless += begin.elapsed();
                tokio::time::sleep(rest).await;
            }
            Round::Done { rest } if !rest.is_zero() => tokio::time::sleep(rest).await,
            Round::Refused => tokio::time::sleep(AFTER_REFUSAL).await,
            Round::More { .. } | Round::Done { .. } | Round::Blocked => fruitless = Duration::ZERO,
        }
        if matches!(round, Round::More { .. }) {
            continue;
        }
        let poll = engine.limits.poll.max((fruitless * LOOKS_EVERY).min(MAX_POLL));
        fruitless = Duration::ZERO;
        tokio::select! {
            biased;
            () = engine.stopping.cancelled() => {}
            () = lane.claim_bell.notified() => {}
            () = tokio::time::sleep(engine.until_due(&lane, round, poll)) => {}
        }
    }
}

impl Engine {
    pub(crate) async fn claim_round(self: &Arc<Self>, lane: &Arc<LaneState>) -> Round {
        let mut cursor = lane.cursor.lock().await;
        let Some(node) = self.membership.current() else {
            return Round::Blocked;
        };
        let Some(seats) = self.seats_to_fill(lane) else {
            return Round::Blocked;
        };
        let claim = self.claim_for(lane, node, &seats, cursor.clone());
        let skip = claim.skip.clone();
        lane.forget_due();
        let begin = Instant::now();
        match self.store.claim(claim).await {
            Ok(claimed) => {
                *cursor = claimed.cursor.clone();
                let round = round_of(&claimed, seats.size().jobs, begin.elapsed());
                {
                    let mut queue = lane.queue.lock();
                    queue.left(&skip, claimed.left, claimed.ends_lap);
                    queue.claimed(&skip, claimed.caught_up);
                }
                if let Some(at) = claimed.next_due {
                    lane.note_due(at);
                }
                lane.counters.claimed.add(claimed.jobs.len());
                prepare(lane, &claimed.jobs).await;
                self.enqueue(lane, node, claimed.jobs, seats);
                self.dispatch(lane);
                round
            }
            Err(error) => match self.recovery_for("claim", node, &error) {
                Recovery::Retry => Round::Refused,
                Recovery::Fenced | Recovery::Stop => Round::Blocked,
            },
        }
    }

    /// Room worth a claim. Where there is none, targets that hold more than their share give back.
    fn seats_to_fill(self: &Arc<Self>, lane: &Arc<LaneState>) -> Option<Seats> {
        let limits = &self.limits;
        let max = Size { jobs: limits.batch, bytes: limits.max_bytes.div_ceil(8) };
        let (max, queued) = {
            let queue = lane.queue.lock();
            (queue.max_to_claim(max).filter(|_| !queue.is_paused()), queue.queued())
        };
        let max = max.filter(|_| !self.stopping.is_cancelled())?;
        let min = if queued == 0 { 1 } else { max.jobs.min(limits.max_jobs / 8) };
        let seats = self.room.take_up_to(lane.lane, max, min);
        if seats.is_none() {
            let shed = lane.queue.lock().shed(self.clock.now());
            self.give_back(lane, shed);
        }
        seats
    }

    fn claim_for(
        &self,
        lane: &LaneState,
        node: NodeId,
        seats: &Seats,
        cursor: gancho_store::ClaimCursor,
    ) -> Claim {
        let Size { jobs, bytes } = seats.size();
        let queue = lane.queue.lock();
        let per_target = queue.per_target(jobs);
        Claim {
            node,
            lane: lane.lane,
            now: self.clock.now(),
            max: jobs,
            max_bytes: bytes,
            per_target: per_target.unproven,
            per_proven: per_target.proven,
            per_tenant: queue.per_tenant(jobs),
            proven: queue.proven(),
            skip: queue.skip(),
            cursor,
        }
    }

    /// How long to wait for a bell before looking again: until something falls due, but no longer than `poll`.
    fn until_due(&self, lane: &LaneState, round: Round, poll: Duration) -> Duration {
        match round {
            Round::Blocked | Round::Refused => poll,
            Round::More { .. } | Round::Done { .. } => {
                let due_in = lane.next_due().since(self.clock.now());
                due_in.clamp(Duration::from_millis(1), poll)
            }
        }
    }
}

/// A carrier that panics here is asked to carry all the same: what was claimed must not be dropped.
async fn prepare(lane: &LaneState, jobs: &[Job]) {
    if jobs.is_empty() {
        return;
    }
    let preparing = AssertUnwindSafe(lane.carrier.prepare(jobs));
    if preparing.catch_unwind().await.is_err() {
        lane.counters.panics.add(1);
    }
}

fn round_of(claimed: &ClaimResult, wanted: usize, took: Duration) -> Round {
    let found_little = claimed.jobs.len() <= wanted / 8;
    let rest = if found_little { (RESTS * took).clamp(MIN_REST, MAX_REST) } else { Duration::ZERO };
    if claimed.more { Round::More { rest } } else { Round::Done { rest } }
}
