//! Nobody waits long for a healthy target: not while another tenant floods, nor beside a crowd of
//! targets that hang.

use std::time::Duration;

use super::{Broken, Facts, Promise};
use crate::{scenario::Kind, target::TIMEOUT, world::What};

/// A flood that came first may hold every slot until its attempts time out, and a poll may pass.
const LONGEST_WAIT: Duration = Duration::from_secs(TIMEOUT.as_secs() + 6);

/// Beside a crowd, once it is there. A target that nobody has tried yet may wait a little for its turn.
const LONGEST_BESIDE_CROWD: Duration = Duration::from_millis(150);
const CROWD_IS_THERE: Duration = Duration::from_secs(2);

pub fn check(facts: &Facts<'_>, broken: &mut Vec<Broken>) {
    let scenario = &facts.world.scenario;
    let (longest, after) = match scenario.kind {
        Kind::Flood => (LONGEST_WAIT, Duration::ZERO),
        Kind::Crowd => (LONGEST_BESIDE_CROWD, CROWD_IS_THERE),
        Kind::Calm | Kind::Storm => return,
    };
    for (at, what) in &facts.log {
        let What::Accepted { delivery, target, due_in, .. } = what else {
            continue;
        };
        let floods = scenario.kind == Kind::Flood && target.bits() >> 80 == 1;
        if !scenario.target(*target).is_healthy() || floods || *at < after {
            continue;
        }
        let began = facts.first(*delivery, |what| matches!(what, What::Began { .. }));
        let waited = began.map(|place| facts.log[place].0.saturating_sub(*at + *due_in));
        if waited.is_none_or(|waited| waited > longest) {
            let how = format!("{delivery} waited {waited:?}");
            broken.push(Broken { promise: Promise::NobodyStarves, how });
        }
    }
}
