//! Keeps a flood of failures from becoming a flood of log lines: each target and all of them together may
//! write a number of lines per period. What is left out is counted and reported.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use gancho_domain::{Gcra, Rate, Time};
use gancho_store::TargetId;
use parking_lot::Mutex;

/// Lines about one target.
const PER_TARGET: Rate = Rate { count: 60, per: Duration::from_mins(1) };
/// Lines about all targets together.
const PER_NODE: Rate = Rate { count: 1_000, per: Duration::from_secs(10) };
/// Targets whose lines are counted apart. When there are more, all start over.
const MAX_TARGETS: usize = 10_000;

#[derive(Default)]
pub(crate) struct LogSampler(Mutex<State>);

#[derive(Default)]
struct State {
    node: Gcra,
    targets: HashMap<TargetId, Gcra>,
    suppressed: BTreeMap<&'static str, u64>,
}

impl LogSampler {
    /// Whether a line about a target may be written now. If not, it is counted under the name of its event.
    pub fn allows(&self, event: &'static str, target: Option<TargetId>, now: Time) -> bool {
        let mut state = self.0.lock();
        if state.targets.len() >= MAX_TARGETS {
            state.targets.clear();
        }
        let state = &mut *state;
        let mut of_target = target.map(|target| state.targets.entry(target).or_default());
        let is_free = state.node.free_at(PER_NODE, now) <= now
            && of_target.as_ref().is_none_or(|gcra| gcra.free_at(PER_TARGET, now) <= now);
        if is_free {
            state.node.take(PER_NODE, now);
            if let Some(gcra) = &mut of_target {
                gcra.take(PER_TARGET, now);
            }
        } else {
            *state.suppressed.entry(event).or_default() += 1;
        }
        is_free
    }

    /// How many lines of each event were left out since the last call.
    pub fn take_suppressed(&self) -> BTreeMap<&'static str, u64> {
        std::mem::take(&mut self.0.lock().suppressed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_secs(1_000);

    #[test]
    fn a_target_that_floods_does_not_hide_another() {
        let sampler = LogSampler::default();
        let target = |number| Some(TargetId::from_bits(number));
        let written = (0..500).filter(|_| sampler.allows("failed", target(1), NOW)).count();
        assert_eq!(written, 60);
        assert!(sampler.allows("failed", target(2), NOW));
        assert_eq!(sampler.take_suppressed(), BTreeMap::from([("failed", 440)]));
        assert!(sampler.take_suppressed().is_empty());
        let later = NOW + Duration::from_secs(30);
        let written = (0..500).filter(|_| sampler.allows("failed", target(1), later)).count();
        assert_eq!(written, 30);
    }

    #[test]
    fn many_targets_together_are_bounded() {
        let sampler = LogSampler::default();
        let targets = (0..30_000).map(|number| Some(TargetId::from_bits(number)));
        let written = targets.filter(|target| sampler.allows("failed", *target, NOW)).count();
        assert_eq!(written, 1_000);
        assert_eq!(sampler.take_suppressed()["failed"], 29_000);
    }
}
