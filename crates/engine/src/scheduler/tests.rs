//! The promises of the queue: fair, capped, nothing lost, nobody starved, memory bounded.

mod fairness;
mod limits;
mod random;

use std::time::Duration;

use gancho_domain::{TenantId, Time, pace::Load};
use gancho_store::TargetId;

use super::*;

const NOW: Time = Time::from_secs(1_000_000);

const FINE: Outcome = Outcome::Tried { at_fault: false, load: Load::Light };
const FAULT: Outcome = Outcome::Tried { at_fault: true, load: Load::Heavy };

fn limits(concurrency: u32) -> LaneLimits {
    LaneLimits { concurrency, rate: None, most_jobs: 4_000, most_bytes: 1_000_000, remembered: 100 }
}

fn key(tenant: u128, target: u128) -> Key {
    (TenantId::from_bits(tenant), TargetId::from_bits(tenant * 1_000 + target))
}

fn tenant_of(slot: &Slot) -> u128 {
    slot.key.0.bits()
}

fn incoming(key: Key, most_in_flight: u32, rate: Option<Rate>, item: u32) -> Incoming<u32> {
    Incoming { key, most_in_flight, rate, bytes: 10, item }
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
        assert_eq!(self.in_flight, out);
        assert!(self.in_flight <= self.limits.concurrency);
        for (tenant, owner) in &self.tenants {
            let all = (*tenant, TargetId::from_bits(0))..=(*tenant, TargetId::from_bits(u128::MAX));
            let lines: Vec<_> = self.targets.range(all).collect();
            let sum = |of: fn(&TargetLine<T>) -> usize| -> usize {
                lines.iter().map(|(_, line)| of(line)).sum()
            };
            assert_eq!(owner.queued, sum(|line| line.waiting.len()));
            assert_eq!(owner.in_flight as usize, sum(|line| line.in_flight as usize));
            let waiting: usize =
                lines.iter().flat_map(|(_, line)| &line.waiting).map(|(_, bytes)| bytes).sum();
            assert_eq!(owner.bytes, waiting + 10 * owner.in_flight as usize);
            assert_eq!(owner.ready.len(), sum(|line| usize::from(line.turn.is_some())));
            assert_eq!(owner.targets, lines.len());
            assert_eq!(owner.turn.is_some(), !owner.ready.is_empty());
        }
        for (key, line) in &self.targets {
            if now >= self.last_now && line.timer.is_none() {
                let open = line.stand(now) == Stand::Open && !line.waiting.is_empty();
                assert_eq!(line.turn.is_some(), open, "{key:?} {:?}", line.stand(now));
            }
            assert!(line.timer.is_none_or(|at| self.timers.contains(&(at, *key))));
            assert_eq!(line.idle.is_some(), line.is_idle());
        }
        let turns = self.tenants.values().filter(|owner| owner.turn.is_some()).count();
        assert_eq!(self.turns.len(), turns);
        assert!(self.idle.len() <= self.limits.remembered);
    }
}
