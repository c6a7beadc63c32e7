//! One lane at work: its queue, its carrier, and what wakes its loops.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use gancho_domain::{Code, Lane, Rate, RetryPlan, TenantId, Time};
use gancho_store::{ClaimCursor, Job, Lease, NodeId};
use parking_lot::{Mutex, RwLock};
use tokio::{sync::Notify, time::Instant};

use crate::{
    Limits,
    carrier::Carrier,
    lane_counters::Counters,
    outcome_counters::OutcomeCounters,
    preemption::Preemption,
    room::Seat,
    scheduler::{FlightId, HungFlights, LaneLimits, PoolLimit, Scheduler, SlotPolicy},
    timings::Timings,
};

/// What limits a lane as a whole. Can be changed while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneTerms {
    /// Attempts at once. Those that have waited long for an answer do not count, unless the limit is
    /// hard.
    pub concurrency: u32,
    pub rate: Option<Rate>,
    /// What is older is not tried any more.
    pub expiry: Option<Duration>,
}

impl Default for LaneTerms {
    fn default() -> Self {
        Self { concurrency: 512, rate: None, expiry: None }
    }
}

pub struct LaneSetup {
    pub lane: Lane,
    pub carrier: Arc<dyn Carrier>,
    pub terms: LaneTerms,
    pub policy: SlotPolicy,
    /// Whether the store may give up what is too old by itself. Nothing follows from that: a lane
    /// that tells of every end leaves each to be claimed, and to be given up by hand.
    pub expires_in_store: bool,
}

impl LaneSetup {
    /// Attempts that may be on the wire for each one of the concurrency, unless it is hard: those that
    /// wait for an answer have pools of their own.
    pub const OUT_PER_SLOT: u32 = PoolLimit::OUT_PER_SLOT;

    pub fn new(lane: Lane, carrier: Arc<dyn Carrier>) -> Self {
        Self {
            lane,
            carrier,
            terms: LaneTerms::default(),
            policy: SlotPolicy::ByLatency,
            expires_in_store: true,
        }
    }
}

pub(crate) struct LaneState {
    pub lane: Lane,
    pub carrier: Arc<dyn Carrier>,
    expiry: RwLock<Option<Duration>>,
    pub expires_in_store: bool,
    pub policy: SlotPolicy,
    pub queue: Mutex<Scheduler<Ticket>>,
    /// Of a hard lane: ends attempts that hang while others wait.
    pub preemptions: Mutex<BTreeMap<FlightId, Preemption>>,
    pub counters: Counters,
    pub timings: Timings,
    pub outcomes: OutcomeCounters,
    /// Held while claiming, so that there is one claim at a time.
    pub cursor: tokio::sync::Mutex<ClaimCursor>,
    /// Work may be due, or there is room for it.
    pub claim_bell: Arc<Notify>,
    /// The queue has to be looked at earlier than was known.
    pub timer_bell: Notify,
    /// When the next delivery in the store falls due, as far as is known.
    next_due: AtomicI64,
    /// When the last warning about deferred deliveries was logged.
    warned_at: AtomicI64,
    /// What the lane's timer sleeps until. Read and written while the queue is locked, so that no
    /// earlier time is missed.
    pub timer_at: AtomicI64,
}

/// How often deferred deliveries are logged.
const WARN_EVERY: Duration = Duration::from_secs(60);

/// A delivery in memory, from its entering the queue to its result being written.
pub(crate) struct Ticket {
    pub job: Job,
    pub plan: Arc<RetryPlan>,
    /// The node it is leased to.
    pub node: NodeId,
    /// A moment before it was leased.
    leased_at: Instant,
    /// Returned when dropped.
    seat: Seat,
}

impl Ticket {
    pub fn new(
        job: Job,
        plan: Arc<RetryPlan>,
        node: NodeId,
        leased_at: Instant,
        seat: Seat,
    ) -> Self {
        Self { job, plan, node, leased_at, seat }
    }

    pub fn leased_at(&self) -> std::time::Instant {
        self.leased_at.into_std()
    }

    /// Gives the seat to others, while a result waits for a database that does not answer.
    pub fn set_aside(&self) {
        self.seat.set_aside();
    }

    pub fn lease(&self) -> Lease {
        let Job { tenant, delivery, .. } = self.job;
        Lease { tenant, delivery, since: Some(self.leased_at()) }
    }
}

impl LaneState {
    /// The lanes share the room, so that each counts with its part of it.
    pub fn new(setup: LaneSetup, lanes: usize, limits: &Limits, claim_bell: Arc<Notify>) -> Self {
        let scheduler = Scheduler::new(LaneLimits {
            concurrency: setup.terms.concurrency.max(1),
            policy: setup.policy,
            rate: setup.terms.rate,
            tenant_batch: limits.tenant_batch.max(1),
            max_jobs: limits.max_jobs / lanes.max(1),
            max_bytes: limits.max_bytes / lanes.max(1),
            remembered: limits.remembered,
        });
        Self {
            lane: setup.lane,
            carrier: setup.carrier,
            expiry: RwLock::new(setup.terms.expiry),
            expires_in_store: setup.expires_in_store,
            policy: setup.policy,
            queue: Mutex::new(scheduler),
            preemptions: Mutex::default(),
            counters: Counters::default(),
            timings: Timings::new(),
            outcomes: OutcomeCounters::default(),
            cursor: tokio::sync::Mutex::default(),
            claim_bell,
            timer_bell: Notify::new(),
            next_due: AtomicI64::new(i64::MAX),
            warned_at: AtomicI64::new(0),
            timer_at: AtomicI64::new(i64::MAX),
        }
    }

    pub fn expiry(&self) -> Option<Duration> {
        *self.expiry.read()
    }

    /// What is in flight beyond a lower limit finishes.
    pub fn set_terms(&self, terms: LaneTerms, tenant_batch: u32) {
        *self.expiry.write() = terms.expiry;
        let concurrency = terms.concurrency.max(1);
        self.queue.lock().set_limits(concurrency, terms.rate, tenant_batch.max(1));
    }

    /// After this time a delivery is not retried. One that was retried by hand has the full time of its
    /// plan.
    pub fn expires_at(&self, job: &Job) -> Option<Time> {
        let armed_again = job.is_replay || job.attempts_before > 0;
        self.expiry().filter(|_| !armed_again).map(|expiry| job.created_at + expiry)
    }

    /// Ends as many attempts that hang as others wait for, the longest first.
    pub fn cut_short(&self, hung: HungFlights) {
        let mut surplus = hung.surplus;
        if surplus == 0 {
            return;
        }
        let preemptions = self.preemptions.lock();
        for (flight, out_for) in hung.flights {
            let Some(preemption) = preemptions.get(&flight) else {
                continue;
            };
            let is_over =
                preemption.patience().is_some_and(|times| out_for >= times * hung.patience);
            if is_over && preemption.request() {
                surplus -= 1;
                if surplus == 0 {
                    return;
                }
            }
        }
    }

    /// Counts a dead letter that was made without an attempt.
    pub fn count_dead(&self, now: Time, tenant: TenantId, code: &Code) {
        self.counters.dead.add(1);
        self.outcomes.count_dead(now, tenant, code);
    }

    pub fn next_due(&self) -> Time {
        Time::from_micros(self.next_due.load(Ordering::Relaxed))
    }

    pub fn forget_due(&self) {
        self.next_due.store(i64::MAX, Ordering::Relaxed);
    }

    /// Returns whether this is earlier than what was known.
    pub fn note_due(&self, at: Time) -> bool {
        self.next_due.fetch_min(at.micros(), Ordering::Relaxed) > at.micros()
    }

    /// Whether it is time to warn again. Of many that ask at once, one may.
    pub fn may_warn(&self, now: Time) -> bool {
        let before = self.warned_at.load(Ordering::Relaxed);
        let is_due = before == 0 || now.since(Time::from_micros(before)) >= WARN_EVERY;
        is_due
            && self
                .warned_at
                .compare_exchange(before, now.micros(), Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }
}
