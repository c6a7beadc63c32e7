//! The promises of the queue: fair, capped, nothing lost, nobody starved, memory bounded.

mod fairness;
mod hard;
mod isolation;
mod limits;
mod random;
mod slow;

use std::time::Duration;

use gancho_domain::{Lane, TenantId, Time, fairness::TURN, pace::Load};
use gancho_store::{Pause, TargetId};

use super::*;

const NOW: Time = Time::from_secs(1_000_000);

const QUICK: Duration = Duration::from_millis(3);
const FINE: Outcome = Outcome::Tried { at_fault: false, load: Load::Light, latency: QUICK };
const FAULT: Outcome = Outcome::Tried { at_fault: true, load: Load::Heavy, latency: QUICK };

/// A lane whose concurrency is hard: targets are all in one pool.
fn limits(concurrency: u32) -> LaneLimits {
    LaneLimits {
        concurrency,
        policy: SlotPolicy::HardUnsorted,
        rate: None,
        tenant_batch: TURN,
        max_jobs: 4_000,
        max_bytes: 1_000_000,
        remembered: 100,
    }
}

/// A lane that sorts its targets into pools by how they answer.
fn soft(concurrency: u32) -> LaneLimits {
    LaneLimits { policy: SlotPolicy::ByLatency, ..limits(concurrency) }
}

fn key(tenant: u128, target: u128) -> Key {
    (TenantId::from_bits(tenant), TargetId::from_bits(tenant * 1_000 + target))
}

fn tenant_of(slot: &Slot) -> u128 {
    slot.key.0.bits()
}

fn incoming(key: Key, max_in_flight: u32, rate: Option<Rate>, item: u32) -> QueueEntry<u32> {
    QueueEntry { key, max_in_flight: Some(max_in_flight), rate, bytes: 10, is_urgent: false, item }
}

fn fill(queue: &mut Scheduler<u32>, key: Key, count: u32) {
    for item in 0..count {
        queue.push(incoming(key, 64, None, item), NOW);
    }
}

impl<T> Scheduler<T> {
    /// Checks everything that must be true between two calls.
    fn check(&self, now: Time) {
        let waiting: usize = self.targets.values().map(|line| line.waiting.len()).sum();
        assert_eq!(self.queued, waiting);
        let out: u32 = self.targets.values().map(|line| line.in_flight).sum();
        assert_eq!(self.in_flight(), out);
        assert!(self.in_flight() <= self.limits.concurrency || !self.limits.policy.is_hard());
        let young = [Pool::Quick, Pool::Untried].map(|pool| self.pools[pool].in_flight);
        assert!(young.iter().sum::<u32>() <= self.limits.concurrency, "{young:?}");
        for pool in Pool::ALL {
            self.check_pool(pool);
        }
        for (tenant, owner) in &self.tenants {
            let all = (*tenant, TargetId::from_bits(0))..=(*tenant, TargetId::from_bits(u128::MAX));
            let lines: Vec<_> = self.targets.range(all).map(|(_, line)| line).collect();
            assert_eq!(self.owners.count(*tenant), lines.len());
            assert_eq!(owner.queued, lines.iter().map(|line| line.waiting.len()).sum::<usize>());
            for pool in Pool::ALL {
                let mine = owner.of(pool);
                let here: Vec<_> = lines.iter().filter(|line| line.pool == pool).collect();
                let held = |of: fn(&TargetLine<T>) -> usize| -> usize {
                    here.iter().map(|line| of(line)).sum()
                };
                assert_eq!(mine.held.jobs, held(|line| line.held().jobs));
                assert_eq!(mine.held.bytes, held(|line| line.held().bytes));
                assert_eq!(mine.busy, held(|line| usize::from(line.held().jobs > 0)));
                assert_eq!(mine.busy > 0, self.pools[pool].holders.contains(tenant));
                assert!(mine.busy > 0 || !mine.held.is_crowded);
                assert_eq!(mine.ready.len(), held(|line| usize::from(line.turn.is_some())));
                assert_eq!(mine.turn.is_some(), !mine.ready.is_empty());
            }
        }
        for (key, line) in &self.targets {
            if now >= self.last_now && line.timer.is_none() {
                let open = line.readiness(now) == Readiness::Open && !line.waiting.is_empty();
                assert_eq!(line.turn.is_some(), open, "{key:?} {:?}", line.readiness(now));
            }
            assert!(line.timer.is_none_or(|at| self.timers.contains(&(at, *key))));
            assert_eq!(line.idle.is_some(), line.is_idle());
            assert_eq!(self.claims.skips(*key), line.skipped || self.pauses.targets.contains(key));
        }
        assert_eq!(self.idle, self.tenants.values().map(|owner| owner.idle.len()).sum::<usize>());
        assert!(self.idle <= self.limits.remembered);
    }

    fn check_pool(&self, pool: Pool) {
        let state = &self.pools[pool];
        let here = || self.targets.values().filter(|line| line.pool == pool);
        assert_eq!(state.held.jobs, here().map(|line| line.held().jobs).sum::<usize>());
        assert_eq!(state.held.bytes, here().map(|line| line.held().bytes).sum::<usize>());
        assert_eq!(state.busy, here().filter(|line| line.held().jobs > 0).count());
        assert_eq!(state.in_flight as usize, self.flights.in_pool(pool));
        let with_turn = self.tenants.values().filter(|owner| owner.of(pool).turn.is_some());
        assert_eq!(state.turns.len(), with_turn.count());
    }
}
