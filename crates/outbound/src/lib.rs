//! Sending webhooks: tenants' endpoints, the events that they receive, and the carrier that delivers them there.
//!
//! In reading order: [`publish`] accepts events, within [`limits`] and [`plans`] and with the [`event_types`];
//! [`intake`] accepts what `gancho.publish` has stored; [`fan_out`] selects the endpoints; [`endpoints`] creates
//! and changes them; [`registry`] caches them, prepared for delivery; [`carrier`] makes one attempt, with the
//! headers of `request`. [`health`] tracks failures over days, and [`notify`] reports them. [`orphans`] ends
//! deliveries to deleted endpoints. [`replay`] sends past events again, [`endpoint_test`] sends a sample. [`owner`]
//! distinguishes tenants and the operator. [`setup`] puts all of it together.
//!
//! This crate never decides about retries (the engine does), never opens a connection itself (egress does), never
//! shows or stores a secret in the clear, and does not know the API.

pub mod carrier;
pub mod endpoint_test;
pub mod endpoints;
pub mod event_types;
pub mod fan_out;
pub mod health;
pub mod intake;
pub mod limits;
pub mod notify;
pub mod orphans;
pub mod owner;
pub mod plans;
pub mod publish;
pub mod registry;
pub mod replay;
mod request;
pub mod setup;

pub use carrier::WebhookCarrier;
pub use endpoint_test::{EndpointTest, EndpointTestError, test_endpoint};
pub use endpoints::{
    EndpointDraft, EndpointError, EndpointService, NewEndpoint, RevealedSecret, RotatedSecret,
};
pub use event_types::{Catalog, EventTypeError, EventTypeInfo, EventTypes, NewEventType};
pub use health::HealthService;
pub use intake::IntakeMover;
pub use limits::{PublishRates, RateLimitStatus};
pub use notify::Notifier;
pub use orphans::OrphanSweeper;
pub use owner::Owner;
pub use plans::{Plan, PlanLimit, Plans};
pub use publish::{AcceptedEvent, NewEvent, PublishError, Publisher};
pub use registry::Registry;
pub use replay::{NewReplay, Replay, ReplayError, ReplayFilter, ReplayItems, ReplayState, Replays};
pub use setup::{Outbound, OutboundSetup};
