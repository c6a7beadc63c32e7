//! If an endpoint asks for order, a delivery begins only after the one before it has ended.

use std::collections::BTreeMap;

use gancho_domain::DeliveryId;

use super::{Broken, Facts, Promise};
use crate::world::{End, What};

pub fn check(facts: &Facts<'_>, broken: &mut Vec<Broken>) {
    let mut lines: BTreeMap<_, Vec<DeliveryId>> = BTreeMap::new();
    for (_, what) in &facts.log {
        if let What::Accepted { delivery, target, subject: Some(subject), .. } = what
            && facts.world.scenario.target(*target).in_order
        {
            lines.entry((*target, subject.clone())).or_default().push(*delivery);
        }
    }
    for line in lines.values() {
        for (place, next) in line.iter().enumerate() {
            for before in &line[..place] {
                if came_before(facts, *before, *next) && overtook(facts, *before, *next) {
                    let how = format!("{next} began before {before} had ended");
                    broken.push(Broken { promise: Promise::InOrder, how });
                }
            }
        }
    }
}

/// Whether one was acknowledged before the other was requested. Only then is their order defined.
fn came_before(facts: &Facts<'_>, before: DeliveryId, next: DeliveryId) -> bool {
    let known = facts.first(before, |what| matches!(what, What::Acknowledged { .. }));
    let asked = facts.first(next, |what| matches!(what, What::Asked { .. }));
    matches!((known, asked), (Some(known), Some(asked)) if known < asked)
}

fn overtook(facts: &Facts<'_>, before: DeliveryId, next: DeliveryId) -> bool {
    let began = facts.first(next, |what| matches!(what, What::Began { .. }));
    let ended = facts.first(before, |what| {
        matches!(what, What::Settled { end: End::Delivered | End::Dead, .. })
    });
    match (began, ended) {
        (Some(began), Some(ended)) => began < ended,
        (Some(_), None) => true,
        (None, _) => false,
    }
}
