//! Targets that wait take nothing from targets that answer, however many there are.

use std::ops::Bound;

use super::*;
use crate::room::Size;

const SECOND: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(10);

/// A lane in virtual time: targets that answer do so within a tick, the others never.
struct Lane {
    queue: Scheduler<u32>,
    now: Time,
    out: Vec<Slot>,
    hangs: fn(Key) -> bool,
}

impl Lane {
    fn new(limits: LaneLimits, hangs: fn(Key) -> bool) -> Self {
        let mut queue = Scheduler::new(limits);
        queue.claimed(&queue.skip(), true);
        Self { queue, now: NOW, out: Vec::new(), hangs }
    }

    /// Comes straight in, if the target is welcome to it.
    fn publish(&mut self, key: Key) -> bool {
        let welcome = self.queue.welcomes(key, 0, self.now);
        if welcome {
            self.queue.push(incoming(key, 64, None, 0), self.now);
        }
        welcome
    }

    /// It has answered often enough to have earned its share.
    fn prove(&mut self, key: Key) {
        for _ in 0..30 {
            (0..4).for_each(|_| _ = self.publish(key));
            self.tick();
            // Of what it was not welcome to, nothing is in the store.
            self.queue.claimed(&self.queue.skip(), true);
        }
        self.tick();
        assert_eq!(self.queue.targets[&key].pool, Pool::Quick);
    }

    /// Answers what was sent in the last tick, sends what may go, and says to whom.
    fn tick(&mut self) -> Vec<Key> {
        self.now = self.now + TICK;
        let (stuck, answered) =
            std::mem::take(&mut self.out).into_iter().partition(|slot| (self.hangs)(slot.key));
        self.out = stuck;
        for slot in answered {
            self.queue.finished(slot, FINE, self.now);
        }
        let sent: Vec<Slot> =
            std::iter::from_fn(|| self.queue.next(self.now)).map(|(slot, _)| slot).collect();
        let keys = sent.iter().map(|slot| slot.key).collect();
        self.out.extend(sent);
        self.queue.take_evicted();
        self.queue.check(self.now);
        keys
    }
}

/// Tenant 1 is healthy; so is the first target of each tenant.
fn all_but_the_first_hang(key: Key) -> bool {
    key.0.bits() > 1 && key.1.bits() % 1_000 > 1
}

// faults.md 0
#[test]
fn however_many_targets_hang_a_healthy_one_does_not_notice() {
    for (dead, each) in [(0, 0), (8, 300), (50, 100), (700, 20), (3_000, 3)] {
        let mut lane = Lane::new(soft(512), all_but_the_first_hang);
        lane.prove(key(1, 1));
        for round in 0..400 {
            for target in 0..dead {
                // Spread over the run, so that there is always somebody new who hangs.
                if round < each && target % 400 <= round {
                    lane.publish(key(2 + target / 40, 2 + target % 40));
                }
            }
            for _ in 0..20 {
                assert!(lane.publish(key(1, 1)), "{dead} hang, round {round}");
            }
            let sent = lane.tick();
            let mine = sent.iter().filter(|sent| **sent == key(1, 1)).count();
            assert_eq!(mine, 20, "{dead} hang, round {round}");
        }
    }
}

// faults.md 0
#[test]
fn targets_that_hang_do_not_hold_up_others_of_their_tenant() {
    let mut lane = Lane::new(soft(512), |key| key.1.bits() % 1_000 > 1);
    lane.prove(key(1, 1));
    for round in 0..600 {
        for target in 2..400 {
            lane.publish(key(1, target));
        }
        for _ in 0..10 {
            assert!(lane.publish(key(1, 1)), "round {round}");
        }
        let mine = lane.tick().into_iter().filter(|sent| *sent == key(1, 1)).count();
        assert_eq!(mine, 10, "round {round}");
    }
}

#[test]
fn a_new_target_is_tried_at_once_beside_any_number_that_hang() {
    let mut lane = Lane::new(soft(64), all_but_the_first_hang);
    for target in 0..500 {
        lane.publish(key(2 + target, 2));
        lane.tick();
    }
    for _ in 0..50 {
        lane.tick();
    }
    for fresh in 0..200 {
        let new = key(10_000 + fresh, 1);
        assert!(lane.publish(new));
        assert!(lane.tick().contains(&new), "{fresh}");
    }
}

#[test]
fn targets_that_answer_slowly_do_not_hold_up_those_that_are_prompt() {
    let slow = Outcome::Tried { at_fault: false, load: Load::Light, latency: SECOND };
    let mut queue = Scheduler::new(soft(100));
    queue.claimed(&queue.skip(), true);
    let mut now = NOW;
    let mut out: Vec<(Time, Slot)> = Vec::new();
    for round in 0..2_000 {
        now = now + TICK;
        queue.claimed(&queue.skip(), true);
        // Fifty targets that take a second, with as much as they may hold.
        for target in 0..50 {
            let key = key(2 + target % 5, 2 + target);
            if round >= 30 && queue.welcomes(key, 0, now) {
                queue.push(incoming(key, 64, None, 0), now);
            }
        }
        let load = match round {
            0 => 1,
            ..30 => 3,
            _ => 20,
        };
        for _ in 0..load {
            assert!(queue.welcomes(key(1, 1), 0, now), "round {round}");
            queue.push(incoming(key(1, 1), 64, None, 0), now);
        }
        let (ended, still): (Vec<_>, Vec<_>) = out
            .into_iter()
            .partition(|(at, slot)| tenant_of(slot) == 1 || now.since(*at) >= SECOND);
        out = still;
        for (_, slot) in ended {
            let outcome = if tenant_of(&slot) == 1 { FINE } else { slow };
            queue.finished(slot, outcome, now);
        }
        let mut mine = 0;
        while let Some((slot, _)) = queue.next(now) {
            mine += u32::from(tenant_of(&slot) == 1);
            out.push((now, slot));
        }
        assert_eq!(mine, load, "round {round}");
        queue.check(now);
    }
    let slow_out = out.iter().filter(|(_, slot)| tenant_of(slot) != 1).count();
    assert!(slow_out >= 100, "the slow ones are sent two each: {slow_out}");
}

#[test]
fn those_that_hang_share_what_is_theirs() {
    let mut lane = Lane::new(soft(512), |key| key.0.bits() > 1);
    let mut tried = BTreeSet::new();
    for _ in 0..400 {
        for tenant in 2..302 {
            lane.publish(key(tenant, 1));
        }
        tried.extend(lane.tick());
    }
    assert_eq!(tried.len(), 300, "each gets its attempt");
    let held = lane.queue.queued() + lane.queue.in_flight() as usize;
    assert!(held <= 4_000 / 4 + 300, "{held} are held for nothing");
}

#[test]
fn a_hard_limit_counts_every_attempt() {
    let mut lane = Lane::new(limits(5), |_| true);
    for tenant in 1..50 {
        lane.publish(key(tenant, 1));
    }
    for _ in 0..500 {
        lane.tick();
        assert!(lane.queue.in_flight() <= 5);
    }
}

/// What waits in the store: claims go around the targets as the stores do.
struct Backlog {
    waiting: BTreeMap<Key, usize>,
    cursor: Key,
}

impl Backlog {
    fn claim(&mut self, lane: &mut Lane) {
        let max = Size { jobs: 256, bytes: 1 << 20 };
        let Some(max) = lane.queue.max_to_claim(max) else {
            return;
        };
        let (skip, proven) = (lane.queue.skip(), lane.queue.proven());
        let (per_target, per_tenant) =
            (lane.queue.per_target(max.jobs), lane.queue.per_tenant(max.jobs));
        let after = (Bound::Excluded(self.cursor), Bound::Unbounded);
        let order: Vec<Key> = self.waiting.range(after).map(|(key, _)| *key).collect();
        let rest = self.waiting.range(..=self.cursor).map(|(key, _)| *key);
        let order: Vec<Key> = order.into_iter().chain(rest).collect();
        let mut taken: BTreeMap<TenantId, usize> = BTreeMap::new();
        let mut room = max.jobs;
        for key in order.into_iter().filter(|key| !skip.covers(key.0, key.1)) {
            let share =
                if proven.contains(&key.1) { per_target.proven } else { per_target.unproven };
            let of_tenant = taken.entry(key.0).or_default();
            let waiting = self.waiting.get_mut(&key).unwrap();
            let take = share.min(*waiting).min(per_tenant - *of_tenant).min(room);
            (*waiting, *of_tenant, room) = (*waiting - take, *of_tenant + take, room - take);
            for _ in 0..take {
                lane.queue.push(incoming(key, 64, None, 0), lane.now);
            }
            if take > 0 {
                self.cursor = key;
            }
        }
        self.waiting.retain(|_, waiting| *waiting > 0);
    }
}

fn the_first_thousand_hang(key: Key) -> bool {
    (1_000..2_000).contains(&key.1.bits())
}

#[test]
fn a_backlog_of_targets_that_hang_is_no_wall_before_the_others_of_their_tenant() {
    // One that answers comes last in the round of one tenant's targets; so do those of other tenants.
    for (dead, rounds) in [(5, 20), (45, 20), (99, 20), (500, 60)] {
        let mut lane = Lane::new(soft(512), the_first_thousand_hang);
        let mine = key(1, 1_000);
        let others: Vec<Key> = (2..20).map(|tenant| key(tenant, 1_000 + tenant)).collect();
        let mut waiting: BTreeMap<Key, usize> =
            (0..dead).map(|target| (key(1, target), 100)).collect();
        waiting.extend(others.iter().chain([&mine]).map(|key| (*key, 1)));
        let mut store = Backlog { waiting, cursor: key(1, 0) };
        let mut served = BTreeMap::new();
        for round in 0..rounds {
            store.claim(&mut lane);
            for key in lane.tick() {
                served.entry(key).or_insert(round);
            }
            lane.queue.take_eased();
        }
        assert!(served.contains_key(&mine), "{dead} dead: {} were served", served.len());
        let rounds: Vec<_> = others.iter().filter_map(|key| served.get(key)).collect();
        let in_time = rounds.iter().filter(|round| ***round < 20).count();
        assert_eq!(in_time, others.len(), "{dead} dead: {rounds:?}");
    }
}

#[test]
fn one_call_brings_no_more_than_the_first_attempts_of_a_target_that_nobody_knows() {
    let mut queue: Scheduler<u32> = Scheduler::new(soft(512));
    queue.claimed(&queue.skip(), true);
    let mine = key(1, 1);
    let welcome = (0..100).filter(|before| queue.welcomes(mine, *before, NOW)).count();
    assert_eq!(welcome, 2);
}
