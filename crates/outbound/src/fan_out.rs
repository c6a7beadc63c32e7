//! Selects the endpoints that get an event. Pure.

use gancho_domain::{Endpoint, EndpointId, IdMaker, Lane, Ordering, Time};
use gancho_store::NewDelivery;

use crate::registry::Targets;

/// The addressees of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Every active endpoint that subscribes to the type.
    Wanting,
    /// Every active endpoint that subscribes to the type, except the one that the event is about.
    WantingBut(EndpointId),
    /// Only this endpoint, whatever it subscribes to.
    Only(EndpointId),
}

impl Audience {
    fn includes(self, endpoint: &Endpoint, event_type: &str) -> bool {
        match self {
            Self::Wanting => endpoint.wants(event_type),
            Self::WantingBut(id) => endpoint.id != id && endpoint.wants(event_type),
            Self::Only(id) => endpoint.id == id && endpoint.is_active,
        }
    }
}

/// Returns one delivery for each endpoint of the audience.
pub fn fan_out(
    targets: &Targets,
    audience: Audience,
    event_type: &str,
    due_at: Time,
    ids: &IdMaker,
) -> Vec<NewDelivery> {
    targets
        .endpoints()
        .filter(|endpoint| audience.includes(endpoint, event_type))
        .map(|endpoint| NewDelivery {
            id: ids.make(),
            lane: Lane::Webhook,
            target: endpoint.id,
            due_at,
            in_order: endpoint.ordering == Ordering::PerSubject,
            hold: false,
        })
        .collect()
}
