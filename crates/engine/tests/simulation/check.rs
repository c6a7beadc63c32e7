//! What must be true of every run, whatever went wrong in it.

mod attempts;
mod duplicates;
mod order;
mod waiting;

use std::{collections::BTreeMap, time::Duration};

use gancho_domain::{DeliveryId, State, TenantScope};
use gancho_store::{Deliveries, DeliveryView};

use crate::world::{What, World};

/// The name of a promise that was broken, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub promise: Promise,
    pub how: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Promise {
    /// Every acknowledged delivery was delivered or is a dead letter.
    NothingLost,
    /// No delivery is pending at the end.
    NothingLeft,
    /// The attempts are numbered 1..n, and the one final state agrees with them.
    AttemptsTrue,
    /// A target gets something twice only if a process died or lost its lease in between.
    DuplicatesExcused,
    /// Per subject, a delivery begins only after the one before has ended.
    InOrder,
    /// No delivery waits long for a healthy target.
    NobodyStarves,
    /// No attempt begins before its delivery is due.
    NothingEarly,
    MemoryBounded,
    /// No attempt begins under a lease that was taken away.
    LeaseRespected,
}

/// Everything that the checks need to know.
pub struct Facts<'a> {
    pub world: &'a World,
    pub log: Vec<(Duration, What)>,
    pub views: BTreeMap<DeliveryId, Option<DeliveryView>>,
    /// The positions of each delivery in the log.
    places: BTreeMap<DeliveryId, Vec<usize>>,
    /// The positions in the log at which nodes and processes begin and end.
    pub lives: Vec<usize>,
}

impl Facts<'_> {
    /// Returns the positions in the log at which something happened to a delivery.
    pub fn places(&self, of: DeliveryId, is_it: impl Fn(&What) -> bool) -> Vec<usize> {
        let all = self.places.get(&of).map_or(&[][..], Vec::as_slice);
        all.iter().copied().filter(|place| is_it(&self.log[*place].1)).collect()
    }

    pub fn first(&self, of: DeliveryId, is_it: impl Fn(&What) -> bool) -> Option<usize> {
        self.places(of, is_it).first().copied()
    }

    pub fn first_after(
        &self,
        place: usize,
        of: DeliveryId,
        is_it: impl Fn(&What) -> bool,
    ) -> Option<usize> {
        self.places(of, is_it).into_iter().find(|found| *found > place)
    }
}

pub async fn all(world: &World, drained: bool) -> Vec<Broken> {
    let facts = gather(world).await;
    let mut broken = Vec::new();
    if !drained {
        let how = format!("{:?}", unfinished(&facts));
        broken.push(Broken { promise: Promise::NothingLeft, how });
    }
    nothing_lost(&facts, &mut broken);
    memory(&facts, &mut broken);
    attempts::check(&facts, &mut broken);
    duplicates::check(&facts, &mut broken);
    order::check(&facts, &mut broken);
    waiting::check(&facts, &mut broken);
    broken
}

async fn gather(world: &World) -> Facts<'_> {
    let log = world.log.lock().clone();
    let mut views = BTreeMap::new();
    let mut places: BTreeMap<DeliveryId, Vec<usize>> = BTreeMap::new();
    let mut lives = Vec::new();
    for (place, (_, what)) in log.iter().enumerate() {
        match what.delivery() {
            Some(delivery) => places.entry(delivery).or_default().push(place),
            None => lives.push(place),
        }
        if let What::Accepted { delivery, target, .. } = what {
            let scope = TenantScope::internal(world.scenario.target(*target).tenant);
            let view = world.store.delivery(scope, *delivery).await.expect("the store works");
            views.insert(*delivery, view);
        }
    }
    Facts { world, log, views, places, lives }
}

fn unfinished(facts: &Facts<'_>) -> Vec<(DeliveryId, State)> {
    let states = facts.views.iter().filter_map(|(id, view)| Some((*id, view.as_ref()?.row.state)));
    states.filter(|(_, state)| !state.is_final()).collect()
}

fn nothing_lost(facts: &Facts<'_>, broken: &mut Vec<Broken>) {
    for (_, what) in &facts.log {
        if let What::Acknowledged { delivery } = what
            && facts.views.get(delivery).is_none_or(Option::is_none)
        {
            let how = format!("{delivery} was acknowledged and is not in the store");
            broken.push(Broken { promise: Promise::NothingLost, how });
        }
    }
}

fn memory(facts: &Facts<'_>, broken: &mut Vec<Broken>) {
    for (at, what) in &facts.log {
        if let What::TooMuchHeld { life, jobs } = what {
            let how = format!("{life:?} held {jobs} at {at:?}");
            broken.push(Broken { promise: Promise::MemoryBounded, how });
        }
    }
}
