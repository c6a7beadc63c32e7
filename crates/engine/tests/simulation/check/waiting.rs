//! While another tenant floods, nobody waits long for a healthy target.

use std::time::Duration;

use super::{Broken, Facts, Promise};
use crate::{scenario::Kind, target::TIMEOUT, world::What};

/// A flood that came first may hold every slot until its attempts time out, and a poll may pass.
const LONGEST_WAIT: Duration = Duration::from_secs(TIMEOUT.as_secs() + 6);

pub fn check(facts: &Facts<'_>, broken: &mut Vec<Broken>) {
    if facts.world.scenario.kind != Kind::Flood {
        return;
    }
    for (at, what) in &facts.log {
        let What::Accepted { delivery, target, due_in, .. } = what else {
            continue;
        };
        if !facts.world.scenario.target(*target).is_healthy() || target.bits() >> 80 == 1 {
            continue;
        }
        let began = facts.first(*delivery, |what| matches!(what, What::Began { .. }));
        let waited = began.map(|place| facts.log[place].0.saturating_sub(*at + *due_in));
        if waited.is_none_or(|waited| waited > LONGEST_WAIT) {
            let how = format!("{delivery} waited {waited:?}");
            broken.push(Broken { promise: Promise::NobodyStarves, how });
        }
    }
}
