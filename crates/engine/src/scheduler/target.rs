//! One target's line: what waits for it, and whether the target may be sent anything now.

use std::{collections::VecDeque, time::Duration};

use gancho_domain::{Breaker, Gcra, Pace, Rate, Time, breaker::Gate, pace::Load};

use super::{
    Pool, SlotPolicy, hard_limit,
    history::ResponseHistory,
    removable_queue::QueuePosition,
    sharing::own_part,
    turns::{TurnPlace, UsedTime},
};
use crate::{TargetStatus, Terms};

/// What came of a delivery that was taken out of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The target was asked: whether it is at fault, how busy it seemed, and how long it took.
    Tried { at_fault: bool, load: Load, latency: Duration },
    /// The target was not asked, so nothing was learnt of it.
    NotTried,
}

/// What a result changed about the circuit breaker of its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerChange {
    /// It opened, for the first time or after a failed probe.
    Opened {
        until: Time,
    },
    Closed,
}

pub struct TargetLine<T> {
    /// With what each takes of the room.
    pub waiting: VecDeque<(T, usize)>,
    bytes: usize,
    pub in_flight: u32,
    bytes_in_flight: usize,
    pub paused: bool,
    pub history: ResponseHistory,
    /// The pool it draws on, and how much of it.
    pub pool: Pool,
    pub pool_share: u32,
    /// How much of it would be left if all wanted as much as they could get.
    pub steady_share: u32,
    /// What the pool counts it with.
    pub counted: LineUsage,
    pace: Pace,
    /// Its lane's slots are hard: it may be slow, as long as it accepts.
    policy: SlotPolicy,
    /// What was agreed for all nodes together.
    whole: (Option<u32>, Option<Rate>),
    /// This node's part of it.
    rate: Option<Rate>,
    rate_state: Gcra,
    breaker: Breaker,
    /// Its place in the scheduler's structures, if it has one.
    pub turn: Option<TurnPlace>,
    /// What it has had of its tenant's part of the pool.
    pub had: UsedTime,
    pub timer: Option<Time>,
    pub idle: Option<QueuePosition>,
    pub skipped: bool,
    /// Claims know it as proven.
    pub noted_proven: bool,
}

/// What a target holds of a pool, waiting or in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineUsage {
    pub pool: Pool,
    pub jobs: usize,
    pub bytes: usize,
}

/// Whether a delivery may go to the target now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    Open,
    NotBefore(Time),
    /// Until something happens: a result, a resume.
    Shut,
}

/// A target whose rate is limited keeps no more in memory than leaves in this time.
const RATE_AHEAD: Duration = Duration::from_secs(10);

impl<T> TargetLine<T> {
    /// Where slots are not hard, a target has to earn its share: it begins with little at once.
    pub fn new(max_in_flight: u32, policy: SlotPolicy) -> Self {
        Self {
            waiting: VecDeque::new(),
            bytes: 0,
            in_flight: 0,
            bytes_in_flight: 0,
            paused: false,
            history: ResponseHistory::default(),
            pool: Pool::Prompt,
            pool_share: max_in_flight,
            steady_share: max_in_flight,
            counted: LineUsage { pool: Pool::Prompt, jobs: 0, bytes: 0 },
            pace: if policy.is_hard() {
                Pace::up_to(max_in_flight)
            } else {
                Pace::earned(max_in_flight)
            },
            policy,
            whole: (None, None),
            rate: None,
            rate_state: Gcra::default(),
            breaker: Breaker::default(),
            turn: None,
            had: UsedTime::default(),
            timer: None,
            idle: None,
            skipped: false,
            noted_proven: false,
        }
    }

    /// Terms may change with every delivery, as when an endpoint is edited.
    pub fn agree(&mut self, max_in_flight: Option<u32>, rate: Option<Rate>, nodes: u32) {
        self.whole = (max_in_flight, rate);
        self.share_limits(nodes);
    }

    /// `nodes` share what was agreed.
    pub fn share_limits(&mut self, nodes: u32) {
        let (max_in_flight, rate) = self.whole;
        self.pace.set_max(own_part(max_in_flight, nodes));
        self.rate = rate.map(|rate| rate.shared_by(nodes));
    }

    pub fn push(&mut self, item: T, bytes: usize) {
        self.bytes += bytes;
        self.waiting.push_back((item, bytes));
    }

    /// Puts it before all others, and lets it out although the breaker is open: it is the probe.
    pub fn push_first(&mut self, item: T, bytes: usize, now: Time) {
        self.bytes += bytes;
        self.waiting.push_front((item, bytes));
        self.breaker.end_rest(now);
    }

    /// By how it answers. Where its rate is what it waits for, it is not to crowd out those that
    /// wait for nothing.
    pub fn wanted_pool(&self) -> Pool {
        match self.history.pool() {
            pool @ (Pool::Untried | Pool::Troubled) if self.policy.is_hard() => pool,
            _ if self.policy.is_hard() => Pool::Prompt,
            Pool::Quick | Pool::Prompt | Pool::Untried if self.rate.is_some() => Pool::Slow,
            pool => pool,
        }
    }

    pub fn held(&self) -> LineUsage {
        LineUsage {
            pool: self.pool,
            jobs: self.waiting.len() + self.in_flight as usize,
            bytes: self.bytes + self.bytes_in_flight,
        }
    }

    /// How many may be in flight.
    fn limit(&self) -> u32 {
        let earned = self.pace.limit();
        match self.pool {
            Pool::Quick | Pool::Prompt => earned,
            Pool::Untried => 1,
            Pool::Moderate | Pool::Slow => earned.min(self.pool_share),
            Pool::Troubled => earned.min(self.pool_share).min(MAX_TROUBLED),
        }
    }

    /// Whether claims may bring many for it. Where it has to share, they would only take up room.
    pub fn is_proven(&self) -> bool {
        let is_quick = match self.pool {
            Pool::Quick | Pool::Prompt => true,
            Pool::Moderate | Pool::Slow => self.limit().min(self.steady_share) >= MIN_PROVEN,
            Pool::Untried | Pool::Troubled => false,
        };
        is_quick && self.history.has_answered()
    }

    pub fn readiness(&self, now: Time) -> Readiness {
        if self.paused || self.in_flight >= self.limit() {
            return Readiness::Shut;
        }
        match self.breaker.gate(now) {
            Gate::ClosedUntil(until) => return Readiness::NotBefore(until),
            Gate::Waiting => return Readiness::Shut,
            Gate::Open | Gate::Probe => {}
        }
        match self.rate.map(|rate| self.rate_state.free_at(rate, now)) {
            Some(free_at) if free_at > now => Readiness::NotBefore(free_at),
            _ => Readiness::Open,
        }
    }

    /// Takes the next delivery for the target. Only called while the target is open.
    pub fn take(&mut self, now: Time) -> Option<(T, usize)> {
        let (item, bytes) = self.waiting.pop_front()?;
        self.bytes -= bytes;
        self.bytes_in_flight += bytes;
        self.in_flight += 1;
        if self.breaker.gate(now) == Gate::Probe {
            self.breaker.probe();
        }
        if let Some(rate) = self.rate {
            self.rate_state.take(rate, now);
        }
        Some((item, bytes))
    }

    pub fn clock_went_back(&mut self, now: Time) {
        self.breaker.clock_went_back(now);
    }

    /// Takes what waits beyond `keep`.
    pub fn put_back(&mut self, keep: usize) -> Vec<T> {
        let rest = self.waiting.split_off(keep.min(self.waiting.len()));
        rest.into_iter()
            .map(|(item, bytes)| {
                self.bytes -= bytes;
                item
            })
            .collect()
    }

    pub fn finish(&mut self, outcome: Outcome, bytes: usize, now: Time) -> Option<BreakerChange> {
        let before = self.breaker.open_until();
        self.in_flight = self.in_flight.saturating_sub(1);
        self.bytes_in_flight = self.bytes_in_flight.saturating_sub(bytes);
        match outcome {
            Outcome::Tried { at_fault, load, latency } => {
                self.pace.note(load);
                if at_fault && self.policy.is_hard() && latency < hard_limit::MIN_PATIENCE {
                    self.history.refused();
                } else if at_fault {
                    self.history.failed();
                } else if load == Load::Heavy && !self.policy.is_hard() {
                    self.history.burdened();
                } else {
                    self.history.succeeded(latency);
                }
                if at_fault {
                    self.breaker.failed(now);
                } else {
                    self.breaker.succeeded();
                }
            }
            // Only where it was the probe does this change anything: the next may try.
            Outcome::NotTried => self.breaker.unprobe(),
        }
        match (before, self.breaker.open_until()) {
            (before, Some(until)) if before != Some(until) => Some(BreakerChange::Opened { until }),
            (Some(_), None) => Some(BreakerChange::Closed),
            _ => None,
        }
    }

    /// How many may wait in memory: enough to keep the target busy, too few to crowd out others.
    pub fn max_waiting(&self, now: Time) -> usize {
        match self.breaker.gate(now) {
            _ if self.paused => return 0,
            Gate::ClosedUntil(_) | Gate::Waiting => return 0,
            Gate::Probe => return 1,
            Gate::Open => {}
        }
        let by_pace = match self.pool {
            Pool::Quick | Pool::Prompt => max_by_pace(self.limit()),
            Pool::Untried => MAX_UNTRIED_WAITING,
            Pool::Moderate | Pool::Slow => self.limit().min(self.steady_share) as usize / 4 + 1,
            Pool::Troubled => self.limit() as usize,
        };
        let by_rate = self.rate.map_or(usize::MAX, |rate| {
            let share = RATE_AHEAD.as_secs_f64() / rate.per.as_secs_f64().max(0.001);
            (f64::from(rate.count) * share) as usize + 4
        });
        by_pace.min(by_rate)
    }

    /// The same in bytes: an eighth of all for a target that is quick, less for one that is not.
    fn max_waiting_bytes(&self, of: usize, now: Time) -> usize {
        let full = max_by_pace(Terms::MAX_IN_FLIGHT);
        of / 8 * self.max_waiting(now).min(full) / full
    }

    /// How many of those that wait are within its share. One always is, unless it is paused or rests.
    pub fn share(&self, max_bytes: usize, now: Time) -> usize {
        let max = self.max_waiting(now);
        let max_bytes = self.max_waiting_bytes(max_bytes, now);
        if self.waiting.len() <= max && self.bytes <= max_bytes {
            return self.waiting.len();
        }
        let mut bytes = 0;
        let within = self.waiting.iter().take(max).take_while(|(_, one)| {
            bytes += one;
            bytes <= max_bytes
        });
        within.count().max(max.min(1))
    }

    /// Whether claims should pass it over. Once they do, they do so until half of its line is gone,
    /// so that it is not refilled one by one.
    pub fn wants_no_more(&self, max_bytes: usize, now: Time) -> bool {
        let part = if self.skipped { 2 } else { 1 };
        let is_full = self.waiting.len() > self.max_waiting(now).saturating_sub(1) / part
            || self.bytes > self.max_waiting_bytes(max_bytes, now) / part;
        is_full || self.is_held_up(now)
    }

    /// Paused, resting or being probed: what waits is of no use here and goes back.
    pub fn is_held_up(&self, now: Time) -> bool {
        self.paused || matches!(self.breaker.gate(now), Gate::ClosedUntil(_) | Gate::Waiting)
    }

    pub fn status(&self, is_behind: bool, now: Time) -> TargetStatus {
        let gate = self.breaker.gate(now);
        let free_at = self.rate.map(|rate| self.rate_state.free_at(rate, now));
        TargetStatus {
            // A limited rate says nothing about how it answers.
            pool: self.history.pool(),
            has_failed: self.history.has_failed(),
            in_flight: self.in_flight,
            queued: self.waiting.len(),
            rests_until: match gate {
                Gate::ClosedUntil(until) => Some(until),
                Gate::Open | Gate::Probe | Gate::Waiting => None,
            },
            is_probed: gate == Gate::Waiting,
            rate_allows_at: free_at.filter(|at| *at > now),
            is_at_limit: self.in_flight >= self.pace.max(),
            is_behind,
        }
    }

    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.in_flight == 0
    }
}

/// Enough to go on with when its first answer comes.
const MAX_UNTRIED_WAITING: usize = 4;

/// A target that is not prompt and may have this many in flight is sent enough to be brought many.
const MIN_PROVEN: u32 = 32;

/// A target in trouble is sent no more at once.
const MAX_TROUBLED: u32 = 2;

fn max_by_pace(in_flight: u32) -> usize {
    4 * in_flight as usize + 4
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_secs(1_000);
    const FAULT: Outcome =
        Outcome::Tried { at_fault: true, load: Load::Heavy, latency: Duration::ZERO };

    #[test]
    fn a_failing_target_rests_and_lets_one_probe_out() {
        let mut line = TargetLine::new(64, SlotPolicy::HardUnsorted);
        (0..20).for_each(|item| line.push(item, 0));
        for _ in 0..10 {
            line.take(NOW).unwrap();
        }
        for _ in 0..10 {
            line.finish(FAULT, 0, NOW);
        }
        let Readiness::NotBefore(until) = line.readiness(NOW) else { panic!("it should rest") };
        assert_eq!(line.max_waiting(NOW), 0);
        assert_eq!((line.max_waiting(until), line.readiness(until)), (1, Readiness::Open));
        line.take(until).unwrap();
        assert_eq!(line.readiness(until), Readiness::Shut, "one probe only");
        line.finish(Outcome::NotTried, 0, until);
        assert_eq!(line.readiness(until), Readiness::Open, "it was never sent");
    }

    #[test]
    fn a_slow_target_keeps_less_in_memory() {
        let mut line: TargetLine<()> = TargetLine::new(64, SlotPolicy::HardUnsorted);
        assert_eq!(line.max_waiting(NOW), 260);
        let slow =
            Outcome::Tried { at_fault: false, load: Load::Heavy, latency: Duration::from_secs(3) };
        for _ in 0..30 {
            line.finish(slow, 0, NOW);
        }
        assert_eq!(line.max_waiting(NOW), 8);
        line.agree(None, Some(Rate { count: 6, per: Duration::from_mins(1) }), 1);
        assert_eq!(line.max_waiting(NOW), 5);
    }
}
