//! Claims due deliveries from the store as long as there is room for them.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::AssertUnwindSafe,
    sync::Arc,
    time::Duration,
};

use futures_util::FutureExt;
use gancho_domain::TenantId;
use gancho_store::{Claim, ClaimCursor, Job, NodeId, TargetId};
use tokio::time::Instant;

use crate::{
    Engine,
    lane::LaneState,
    recovery::Recovery,
    room::{Seats, Size},
    scheduler::Moment,
};

/// The result of one round of claiming.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimRoundResult {
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

/// After a round that found little, no claim is made for this multiple of the round's duration.
const RESTS: u32 = 4;
const MIN_REST: Duration = Duration::from_millis(5);
const MAX_REST: Duration = Duration::from_millis(25);
const AFTER_REFUSAL: Duration = Duration::from_millis(200);
/// A full scan may take several claims, if thousands of targets have pending deliveries that are not due or
/// not to be sent. Unless a bell rings, scans take at most one part in this number of the time.
const LOOKS_EVERY: u32 = 50;
const MAX_POLL: Duration = Duration::from_secs(5);

pub(crate) async fn run(engine: Arc<Engine>, lane: Arc<LaneState>) {
    let mut fruitless = Duration::ZERO;
    let mut rests = ClaimBackoff::default();
    while !engine.stopping.is_cancelled() {
        let begin = Instant::now();
        let round = engine.claim_round(&lane, &mut rests).await;
        match round {
            ClaimRoundResult::More { rest } if !rest.is_zero() => {
                fruitless += begin.elapsed();
                tokio::time::sleep(rest).await;
            }
            ClaimRoundResult::Done { rest } if !rest.is_zero() => tokio::time::sleep(rest).await,
            ClaimRoundResult::Refused => tokio::time::sleep(AFTER_REFUSAL).await,
            ClaimRoundResult::More { .. }
            | ClaimRoundResult::Done { .. }
            | ClaimRoundResult::Blocked => fruitless = Duration::ZERO,
        }
        if matches!(round, ClaimRoundResult::More { .. }) {
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
    async fn claim_round(
        self: &Arc<Self>,
        lane: &Arc<LaneState>,
        rests: &mut ClaimBackoff,
    ) -> ClaimRoundResult {
        let mut cursor = lane.cursor.lock().await;
        let Some(node) = self.membership.current() else {
            return ClaimRoundResult::Blocked;
        };
        let Some(seats) = self.seats_to_fill(lane) else {
            return ClaimRoundResult::Blocked;
        };
        let (asked, moment) = self.claim_for(lane, node, &seats);
        lane.forget_due();
        let begin = Instant::now();
        match self.store.claim(Claim { cursor: cursor.clone(), ..asked.clone() }).await {
            Ok(claimed) => {
                *cursor = claimed.cursor.clone();
                let rest = rests.after(claimed.jobs.len(), seats.size().jobs, begin.elapsed());
                let round = if claimed.more {
                    ClaimRoundResult::More { rest }
                } else {
                    ClaimRoundResult::Done { rest }
                };
                let emptied = emptied_targets(&asked, &claimed.jobs);
                let not_reached = targets_not_reached(&asked, &claimed.jobs);
                {
                    let mut queue = lane.queue.lock();
                    queue.left(&asked.skip, claimed.left, claimed.ends_lap);
                    queue.emptied(emptied, moment);
                    queue.not_reached(not_reached);
                    queue.claimed(&asked.skip, claimed.caught_up);
                }
                if let Some(at) = claimed.next_due {
                    lane.note_due(at);
                }
                lane.counters.claimed.add(claimed.jobs.len());
                prepare(lane, &claimed.jobs).await;
                self.enqueue(lane, node, begin, claimed.jobs, seats);
                self.dispatch(lane);
                round
            }
            Err(error) => {
                lane.queue.lock().not_reached(asked.first);
                match self.recovery_for("claim", node, &error) {
                    Recovery::Retry => ClaimRoundResult::Refused,
                    Recovery::Fenced | Recovery::Stop => ClaimRoundResult::Blocked,
                }
            }
        }
    }

    /// Returns room that is worth a claim. If there is none, targets that hold more than their share give
    /// seats back.
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

    /// Returns a claim that starts at the first tenant, and the moment in which it begins.
    fn claim_for(&self, lane: &LaneState, node: NodeId, seats: &Seats) -> (Claim, Moment) {
        let Size { jobs, bytes } = seats.size();
        let mut queue = lane.queue.lock();
        let (moment, first) = queue.begin_claim();
        let per_target = queue.per_target(jobs);
        let claim = Claim {
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
            first,
            cursor: ClaimCursor::default(),
        };
        (claim, moment)
    }

    /// Returns how long to wait for a bell before the next claim: until something is due, but no longer than
    /// `poll`.
    fn until_due(&self, lane: &LaneState, round: ClaimRoundResult, poll: Duration) -> Duration {
        match round {
            ClaimRoundResult::Blocked | ClaimRoundResult::Refused => poll,
            ClaimRoundResult::More { .. } | ClaimRoundResult::Done { .. } => {
                let due_in = lane.next_due().since(self.clock.now());
                due_in.clamp(Duration::from_millis(1), poll)
            }
        }
    }
}

/// Returns the targets of which the claim has taken all that was due: fewer than it might have taken.
fn emptied_targets(claim: &Claim, jobs: &[Job]) -> Vec<(TenantId, TargetId)> {
    let (mut of_tenant, mut of_target) = (BTreeMap::new(), BTreeMap::new());
    for job in jobs {
        *of_tenant.entry(job.tenant).or_insert(0_usize) += 1;
        *of_target.entry((job.tenant, job.target)).or_insert(0_usize) += 1;
    }
    // Where there was no more room, something may be left of the last one, and of the last that came first.
    let comes_first = |job: &&Job| claim.first.contains(&(job.tenant, job.target));
    let first: Vec<&Job> = jobs.iter().filter(comes_first).collect();
    let cut = [
        jobs.last().filter(|_| is_full(claim, jobs)),
        first.last().copied().filter(|_| first.len() >= claim.max_first()),
    ];
    let is_cut = |key| cut.iter().flatten().any(|job| (job.tenant, job.target) == key);
    let has_all = |(key, count): ((TenantId, TargetId), usize)| {
        let is_whole = count < claim.share(key.1) && of_tenant[&key.0] < claim.per_tenant.max(1);
        (is_whole && !is_cut(key)).then_some(key)
    };
    of_target.into_iter().filter_map(has_all).collect()
}

/// Returns the targets that were to come first and for which a full claim had no room.
fn targets_not_reached(claim: &Claim, jobs: &[Job]) -> Vec<(TenantId, TargetId)> {
    if claim.first.is_empty() || !is_full(claim, jobs) {
        return Vec::new();
    }
    let reached: BTreeSet<_> = jobs.iter().map(|job| (job.tenant, job.target)).collect();
    claim.first.iter().filter(|key| !reached.contains(key)).copied().collect()
}

fn is_full(claim: &Claim, jobs: &[Job]) -> bool {
    let bytes: usize = jobs.iter().map(|job| job.parcel.body.len()).sum();
    jobs.len() >= claim.max || bytes >= claim.max_bytes
}

/// Lets the carrier prepare. If it panics, the jobs are carried all the same: claimed deliveries must not be
/// dropped.
async fn prepare(lane: &LaneState, jobs: &[Job]) {
    if jobs.is_empty() {
        return;
    }
    let preparing = AssertUnwindSafe(lane.carrier.prepare(jobs));
    if preparing.catch_unwind().await.is_err() {
        lane.counters.panics.add(1);
    }
}

/// How long the node makes no claim after a round.
///
/// During a flood of deliveries to targets that have enough, the bell rings without pause, and each round
/// passes over thousands of targets and finds nothing. So the pause grows with the number of such rounds.
/// Rounds that find something are not delayed by it for long.
#[derive(Default)]
struct ClaimBackoff {
    empty_rounds: u32,
}

impl ClaimBackoff {
    fn after(&mut self, found: usize, wanted: usize, took: Duration) -> Duration {
        if found > wanted / 8 {
            self.empty_rounds = 0;
            return Duration::ZERO;
        }
        let min = MIN_REST * (1 << self.empty_rounds.min(3));
        self.empty_rounds = match found {
            0 => self.empty_rounds.saturating_add(1).min(4),
            _ => self.empty_rounds / 2,
        };
        (RESTS * took).max(min).min(MAX_REST)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use gancho_domain::{Id, Lane, Parcel, ParcelKind, Time};

    use super::*;

    const TOOK: Duration = Duration::from_millis(1);

    fn key(tenant: u128, target: u128) -> (TenantId, TargetId) {
        (Id::from_bits(tenant), Id::from_bits(target))
    }

    fn job((tenant, target): (TenantId, TargetId)) -> Job {
        let parcel = Parcel {
            id: Id::from_bits(1),
            tenant,
            kind: ParcelKind::Event,
            event_type: "a.b".into(),
            subject: None,
            external_id: None,
            is_test: false,
            body: Bytes::from_static(b"12345"),
            created_at: Time::ZERO,
            trace: None,
            erased_at: None,
        };
        Job {
            delivery: Id::from_bits(1),
            tenant,
            lane: Lane::Webhook,
            target,
            parcel: Arc::new(parcel),
            number: None,
            attempts: 0,
            attempts_before: 0,
            lost_leases: 0,
            is_replay: false,
            in_order: false,
            created_at: Time::ZERO,
        }
    }

    fn claim(max: usize, first: &[(TenantId, TargetId)]) -> Claim {
        Claim {
            node: NodeId(1),
            lane: Lane::Webhook,
            now: Time::ZERO,
            max,
            max_bytes: 100,
            per_target: 2,
            per_proven: 4,
            per_tenant: 5,
            proven: Arc::new([key(1, 3).1].into()),
            skip: Arc::default(),
            first: first.to_vec(),
            cursor: ClaimCursor::default(),
        }
    }

    #[test]
    fn a_target_is_empty_if_the_claim_could_have_taken_more_of_it() {
        let jobs: Vec<Job> = [(1, 1), (1, 2), (1, 2), (2, 3), (2, 3), (2, 3), (3, 4)]
            .map(|(a, b)| job(key(a, b)))
            .into();
        assert_eq!(emptied_targets(&claim(9, &[]), &jobs), [key(1, 1), key(2, 3), key(3, 4)]);
        assert_eq!(emptied_targets(&claim(7, &[]), &jobs), [key(1, 1), key(2, 3)], "it is full");
        let claim = claim(9, &[key(1, 1)]);
        assert_eq!(emptied_targets(&claim, &jobs), [key(1, 1), key(2, 3), key(3, 4)]);
        let of_one_tenant: Vec<Job> = (1..=5).map(|target| job(key(1, target))).collect();
        assert_eq!(emptied_targets(&claim, &of_one_tenant), [], "it has had its share");
    }

    #[test]
    fn what_came_first_may_have_been_cut_off_at_half() {
        let claim = claim(4, &[key(1, 1), key(2, 2), key(3, 3)]);
        let jobs = [(1, 1), (2, 2), (4, 4)].map(|(a, b)| job(key(a, b)));
        assert_eq!(emptied_targets(&claim, &jobs), [key(1, 1), key(4, 4)]);
        assert_eq!(targets_not_reached(&claim, &jobs), [], "it had room, so nothing is due there");
        let jobs = [(1, 1), (2, 2), (4, 4), (4, 5)].map(|(a, b)| job(key(a, b)));
        assert_eq!(targets_not_reached(&claim, &jobs), [key(3, 3)]);
    }

    #[test]
    fn rests_grow_while_nothing_is_found() {
        let mut rests = ClaimBackoff::default();
        let all: Vec<u128> = (0..5).map(|_| rests.after(0, 256, TOOK).as_millis()).collect();
        assert_eq!(all, [5, 10, 20, 25, 25]);
        let all: Vec<u128> = (0..4).map(|_| rests.after(1, 256, TOOK).as_millis()).collect();
        assert_eq!(all, [25, 20, 10, 5], "something was found");
        assert_eq!(rests.after(200, 256, TOOK), Duration::ZERO);
    }

    #[test]
    fn a_lane_that_always_finds_something_rests_as_briefly_as_it_may() {
        let mut rests = ClaimBackoff::default();
        for _ in 0..100 {
            assert_eq!(rests.after(1, 256, TOOK), MIN_REST);
        }
        assert_eq!(rests.after(1, 256, 3 * TOOK), 12 * TOOK, "by how long a round takes");
        assert_eq!(rests.after(1, 256, 90 * TOOK), MAX_REST);
    }
}
