//! Which endpoints get an event. Pure.

use gancho_domain::{IdMaker, Lane, Ordering, Time};
use gancho_store::NewDelivery;

use crate::registry::{Target, Targets};

/// One delivery for each endpoint that wants the type; `hold` says whether this node takes it at
/// once.
pub fn fan_out(
    targets: &Targets,
    event_type: &str,
    due_at: Time,
    ids: &IdMaker,
    hold: impl Fn(&Target) -> bool,
) -> Vec<NewDelivery> {
    targets
        .all
        .iter()
        .filter(|target| target.endpoint.wants(event_type))
        .map(|target| NewDelivery {
            id: ids.make(),
            lane: Lane::Webhook,
            target: target.endpoint.id,
            due_at,
            in_order: target.endpoint.ordering == Ordering::PerSubject,
            hold: hold(target),
        })
        .collect()
}
