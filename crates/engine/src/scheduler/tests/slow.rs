//! Targets that take their time share with their like, tenant by tenant, and a target that wants less than its share
//! is served at once.

use std::collections::{BTreeMap, VecDeque};

use super::*;
use crate::room::Size;

const TICK: Duration = Duration::from_millis(10);

/// A lane with a store behind it, in virtual time.
struct Lane {
    queue: Scheduler<u32>,
    now: Time,
    out: Vec<(Time, Slot)>,
    targets: BTreeMap<Key, Target>,
    /// How long each delivery to the target that is watched waited to be sent.
    waits: Vec<Duration>,
}

struct Target {
    takes: Duration,
    /// A new one each time, from the start on, for as long as the run lasts.
    every: Duration,
    next: Time,
    /// What lies in the store.
    stored: usize,
    /// When those that are watched were published.
    published: Option<VecDeque<Time>>,
}

impl Lane {
    fn new() -> Self {
        let limits = LaneLimits { max_jobs: 4_096, remembered: 10_000, ..soft(512) };
        let mut queue = Scheduler::new(limits);
        queue.claimed(&queue.skip(), true);
        Self { queue, now: NOW, out: Vec::new(), targets: BTreeMap::new(), waits: Vec::new() }
    }

    fn add(&mut self, key: Key, takes: Duration, every: Duration, stored: usize) {
        let next = self.now;
        self.targets.insert(key, Target { takes, every, next, stored, published: None });
    }

    fn run(&mut self, seconds: u64) {
        for _ in 0..seconds * 100 {
            self.tick();
        }
    }

    fn tick(&mut self) {
        self.now = self.now + TICK;
        let now = self.now;
        let (out, done) = std::mem::take(&mut self.out).into_iter().partition(|(at, _)| *at > now);
        self.out = out;
        for (_, slot) in done {
            let latency = self.targets[&slot.key].takes;
            let outcome = Outcome::Tried { at_fault: false, load: Load::Light, latency };
            self.queue.finished(slot, outcome, now);
        }
        for (key, target) in &mut self.targets {
            while target.next <= now {
                target.next = target.next + target.every;
                target.published.iter_mut().for_each(|all| all.push_back(now));
                if self.queue.welcomes(*key, 0, now) {
                    self.queue.push(incoming(*key, 64, None, item_of(*key)), now);
                } else {
                    target.stored += 1;
                }
            }
        }
        self.send();
        self.claim();
        self.send();
    }

    fn send(&mut self) {
        while let Some((slot, _)) = self.queue.next(self.now) {
            let target = self.targets.get_mut(&slot.key).unwrap();
            if let Some(at) = target.published.as_mut().and_then(VecDeque::pop_front) {
                self.waits.push(self.now.since(at));
            }
            self.out.push((self.now + target.takes, slot));
        }
        for item in self.queue.take_evicted() {
            self.targets.get_mut(&key_of(item)).unwrap().stored += 1;
        }
    }

    /// One look around, target by target, as a store does it.
    fn claim(&mut self) {
        let max = Size { jobs: 256, bytes: 1_000_000 };
        let Some(max) = self.queue.max_to_claim(max) else {
            return;
        };
        let (skip, proven) = (self.queue.skip(), self.queue.proven());
        let per = self.queue.per_target(max.jobs);
        let mut left = max.jobs;
        for (key, target) in &mut self.targets {
            let per = if proven.contains(&key.1) { per.proven } else { per.unproven };
            let count = target.stored.min(per).min(left);
            if skip.covers(key.0, key.1) || count == 0 {
                continue;
            }
            target.stored -= count;
            left -= count;
            (0..count)
                .for_each(|_| self.queue.push(incoming(*key, 64, None, item_of(*key)), self.now));
        }
        let is_behind = self
            .targets
            .iter()
            .any(|(key, target)| target.stored > 0 && !skip.covers(key.0, key.1));
        self.queue.claimed(&skip, !is_behind);
    }

    fn worst_wait(&mut self, key: Key, seconds: u64) -> Duration {
        self.waits.clear();
        self.targets.get_mut(&key).unwrap().published = Some(VecDeque::new());
        self.run(seconds);
        assert!(!self.waits.is_empty(), "nothing was sent");
        self.waits.iter().copied().max().unwrap()
    }
}

/// A delivery is named by its target, so that what comes back to the store is known.
fn item_of(key: Key) -> u32 {
    key.1.bits() as u32
}

fn key_of(item: u32) -> Key {
    key(u128::from(item) / 1_000, u128::from(item) % 1_000)
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Tenants whose targets take `takes` and have more waiting than they can ever be sent.
fn crowd(lane: &mut Lane, tenants: u128, targets: u128, takes: Duration) {
    for tenant in 0..tenants {
        for target in 0..targets {
            lane.add(key(100 + tenant, target), takes, millis(40), 10_000);
        }
    }
}

#[test]
fn a_target_of_moderate_latency_does_not_notice_any_number_of_slow_ones() {
    for (tenants, targets) in [(1, 40), (40, 1), (200, 1), (20, 20), (500, 1)] {
        for takes in [120, 300] {
            let mut lane = Lane::new();
            lane.add(key(1, 1), millis(takes), millis(20), 0);
            lane.run(5);
            crowd(&mut lane, tenants, targets, millis(1_900));
            lane.run(5);
            let worst = lane.worst_wait(key(1, 1), 10);
            assert!(worst <= millis(20), "{tenants} x {targets}, {takes} ms: {worst:?}");
        }
    }
}

/// Those of the crowd are prompt, or quick and hold their slots for nearly as long as that allows. In this run they all
/// begin and end at the same time, which is the worst: the wait is for a slot, not for a turn.
#[test]
fn a_target_that_answers_at_once_does_not_wait_for_those_that_nearly_do() {
    for (tenants, targets) in [(1, 60), (60, 1), (15, 15)] {
        for (takes, every) in [(95, 40), (30, 200), (20, 40)] {
            let mut lane = Lane::new();
            lane.add(key(1, 1), millis(10), millis(every), 0);
            lane.run(2);
            crowd(&mut lane, tenants, targets, millis(takes));
            lane.run(4);
            let worst = lane.worst_wait(key(1, 1), 4);
            assert!(worst <= pool::QUICK, "{tenants} x {targets}, {takes} ms: {worst:?}");
        }
    }
}

/// Nor for its tenant's own.
#[test]
fn a_target_that_keeps_up_does_not_wait_for_its_tenants_others() {
    for targets in [8, 60, 300] {
        let mut lane = Lane::new();
        lane.add(key(1, 0), millis(10), millis(40), 0);
        lane.run(2);
        for target in 1..=targets {
            lane.add(key(1, target), millis(90), millis(40), 10_000);
        }
        lane.run(10);
        let worst = lane.worst_wait(key(1, 0), 10);
        assert!(worst <= millis(50), "{targets}: {worst:?}");
    }
}

#[test]
fn a_tenant_that_wants_less_than_its_share_is_served_at_once_among_its_like() {
    for (tenants, targets) in [(1, 1), (1, 100), (3, 20), (30, 3), (150, 1), (300, 1)] {
        for takes in [350, 1_500] {
            let mut lane = Lane::new();
            lane.add(key(1, 1), millis(takes), millis(2 * takes), 0);
            lane.run(8);
            crowd(&mut lane, tenants, targets, millis(takes));
            lane.run(10);
            let worst = lane.worst_wait(key(1, 1), 20);
            assert!(worst <= millis(20), "{tenants} x {targets}, {takes} ms: {worst:?}");
        }
    }
}

/// Several tenants that want a good part of their share, not one that wants little.
#[test]
fn tenants_that_want_half_of_their_share_wait_for_nobody() {
    for (tenants, takes, every) in
        [(40, 900, 100), (150, 450, 200), (150, 900, 300), (150, 1_500, 500)]
    {
        let mut lane = Lane::new();
        for tenant in 1..=6 {
            lane.add(key(tenant, 1), millis(takes), millis(every), 0);
        }
        lane.run(8);
        crowd(&mut lane, tenants, 1, millis(1_900));
        lane.run(20);
        let worst = lane.worst_wait(key(3, 1), 20);
        assert!(worst <= millis(20), "{tenants} x 1, {takes} ms: {worst:?}");
    }
}

#[test]
fn tenants_share_a_pool_equally_however_many_targets_they_have() {
    let mut lane = Lane::new();
    crowd(&mut lane, 1, 100, millis(1_000));
    lane.add(key(1, 1), millis(1_000), millis(10), 10_000);
    lane.run(30);
    // One target may have 64 at once, and has them although the others are a hundred.
    let status = lane.queue.status(key(1, 1), lane.now).unwrap();
    assert!(status.in_flight >= 50, "{status:?}");
}
