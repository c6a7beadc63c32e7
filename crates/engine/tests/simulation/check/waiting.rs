//! No delivery begins before it is due, and none waits long for a healthy target: not while other tenants
//! flood, nor beside a crowd of targets that hang.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use gancho_domain::TenantId;

use super::{Broken, Facts, Promise};
use crate::{scenario::Kind, target::TIMEOUT, world::What};

/// Maximum wait: an earlier flood may hold every slot until its attempts time out, and one poll may pass.
const MAX_WAIT: Duration = Duration::from_secs(TIMEOUT.as_secs() + 6);

/// Maximum wait beside an established crowd or backlog. A target that was never tried may wait a little for its turn;
/// the crowd's owner waits until all of its targets have been tried once.
const MAX_BESIDE_CROWD: Duration = Duration::from_millis(150);
const CROWD_IS_THERE: Duration = Duration::from_secs(2);

/// How far the clocks of two nodes may differ that have asked the store for its time.
const MAX_CLOCK_ERROR: Duration = Duration::from_millis(100);

pub fn check(facts: &Facts<'_>, broken: &mut Vec<Broken>) {
    early(facts, broken);
    starving(facts, broken);
}

/// Not in a storm, where the store takes long to say what time it is, or changes its mind.
fn early(facts: &Facts<'_>, broken: &mut Vec<Broken>) {
    if facts.world.scenario.kind == Kind::Storm {
        return;
    }
    for (at, what) in &facts.log {
        if let What::Accepted { delivery, due_in, .. } = what
            && let Some(began) = facts.first(*delivery, |what| matches!(what, What::Began { .. }))
            && facts.log[began].0 + MAX_CLOCK_ERROR < *at + *due_in
        {
            let how = format!(
                "{delivery} was due in {due_in:?}, and began after {:?}",
                facts.log[began].0.saturating_sub(*at)
            );
            broken.push(Broken { promise: Promise::NothingEarly, how });
        }
    }
}

fn starving(facts: &Facts<'_>, broken: &mut Vec<Broken>) {
    let scenario = &facts.world.scenario;
    let longest = match scenario.kind {
        Kind::Flood => MAX_WAIT,
        Kind::Crowd | Kind::Backlogs => MAX_BESIDE_CROWD,
        Kind::Calm | Kind::Storm => return,
    };
    let all_tried = all_tried(facts);
    for (at, what) in &facts.log {
        let What::Accepted { delivery, target, due_in, .. } = what else {
            continue;
        };
        let target = scenario.target(*target);
        let tenant = target.tenant;
        let after = match scenario.kind {
            Kind::Crowd => CROWD_IS_THERE.max(all_tried.get(&tenant).copied().unwrap_or_default()),
            Kind::Backlogs => CROWD_IS_THERE,
            _ => Duration::ZERO,
        };
        let is_judged = target.is_healthy() || scenario.kind == Kind::Backlogs;
        if !is_judged || scenario.is_flooding(target.owner()) || *at + *due_in < after {
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

/// Returns when the last of each tenant's targets was tried for the first time.
fn all_tried(facts: &Facts<'_>) -> BTreeMap<TenantId, Duration> {
    let mut targets = BTreeMap::new();
    let mut tried = BTreeSet::new();
    let mut last = BTreeMap::new();
    for (at, what) in &facts.log {
        match what {
            What::Accepted { delivery, target, .. } => {
                targets.insert(*delivery, *target);
            }
            What::Began { delivery, .. } => {
                let Some(target) = targets.get(delivery) else {
                    continue;
                };
                if tried.insert(*target) {
                    last.insert(facts.world.scenario.target(*target).tenant, *at);
                }
            }
            _ => {}
        }
    }
    last
}
