//! An unrecorded result is excused only by the death of its process or the loss of its lease; and no attempt
//! begins under a lease that was taken away.

use super::{Broken, Facts, Promise};
use crate::{
    scenario::Clocks,
    world::{LifeId, What},
};

pub fn check(facts: &Facts<'_>, broken: &mut Vec<Broken>) {
    for (place, (at, what)) in facts.log.iter().enumerate() {
        if let What::Began { attempt, delivery, life, .. } = what {
            if !is_accounted_for(facts, place) {
                let how = format!("attempt {attempt} at {delivery}, {life:?}, begun at {at:?}");
                broken.push(Broken { promise: Promise::DuplicatesExcused, how });
            }
            // If the store's clock jumps, other nodes may take a living node for silent.
            let may_lose = facts.world.scenario.clocks == Clocks::Jumping;
            if !may_lose && lost_its_lease(facts, *life, place, place) {
                let how = format!("{life:?} began attempt {attempt} at {delivery} at {at:?}");
                broken.push(Broken { promise: Promise::LeaseRespected, how });
            }
        }
    }
}

/// Whether the result of the attempt that began here was recorded, was refused because the lease was lost
/// before, or never came because the process died.
fn is_accounted_for(facts: &Facts<'_>, place: usize) -> bool {
    let What::Began { delivery, life, started, .. } = &facts.log[place].1 else {
        return false;
    };
    // If the clock was set back, an earlier attempt may have started at the same time.
    let result = facts.first_after(place, *delivery, |what| match what {
        What::Settled { life: by, started: at, .. }
        | What::Refused { life: by, started: at, .. } => by == life && at == started,
        _ => false,
    });
    match result.map(|result| (result, &facts.log[result].1)) {
        Some((result, What::Refused { .. })) => lost_its_lease(facts, *life, place, result),
        Some(_) => true,
        None => facts.lives.iter().any(
            |place| matches!(&facts.log[*place].1, What::Died { life: dead, .. } if dead == life),
        ),
    }
}

/// Whether the node that had this life at `place` had been declared dead, or had left, by `until`.
fn lost_its_lease(facts: &Facts<'_>, life: LifeId, place: usize, until: usize) -> bool {
    let lives = || facts.lives.iter().map(|place| (*place, &facts.log[*place].1));
    let joined = lives().take_while(|(at, _)| *at < place).filter_map(|(_, what)| match what {
        What::Joined { life: joined, node } if *joined == life => Some(*node),
        _ => None,
    });
    let node = joined.last();
    lives().take_while(|(at, _)| *at < until).any(|(_, what)| match what {
        What::DeclaredDead { node: dead } | What::Left { node: dead } => Some(*dead) == node,
        _ => false,
    })
}
