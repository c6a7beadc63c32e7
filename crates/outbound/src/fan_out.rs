//! Which endpoints get an event. Pure.

use gancho_domain::{EndpointId, IdMaker, Lane, Ordering, Time};
use gancho_store::NewDelivery;

use crate::registry::Targets;

/// One delivery for each endpoint that wants the type; `hold` says whether this node takes it at
/// once.
pub fn fan_out(
    targets: &Targets,
    event_type: &str,
    due_at: Time,
    ids: &IdMaker,
    hold: impl Fn(EndpointId) -> bool,
) -> Vec<NewDelivery> {
    targets
        .endpoints()
        .filter(|endpoint| endpoint.wants(event_type))
        .map(|endpoint| NewDelivery {
            id: ids.make(),
            lane: Lane::Webhook,
            target: endpoint.id,
            due_at,
            in_order: endpoint.ordering == Ordering::PerSubject,
            hold: targets.get(endpoint.id).is_some() && hold(endpoint.id),
        })
        .collect()
}
