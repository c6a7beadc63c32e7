//! Sending webhooks: tenants' endpoints, the events that they receive, and the carrier that delivers
//! them there.
//!
//! In reading order: [`publish`] accepts events, within [`limits`] and [`plans`] and of types that
//! [`event_types`] knows; [`fan_out`] says which endpoints get one; [`endpoints`] makes and changes
//! those; [`registry`] keeps them in memory, ready to be delivered to; [`carrier`] makes one
//! attempt, with the headers that `request` prepares. What follows from attempts over days is in
//! [`health`], and its notices in [`notify`]. [`orphans`] ends deliveries to deleted endpoints.
//! [`replay`] sends what is past again, [`try_out`] a sample. [`owner`] says whose something is.
//!
//! This crate never decides about retries (the engine does), never opens a connection by itself (egress
//! does), never shows or stores a secret unsealed, and knows nothing of how the API looks.

pub mod carrier;
pub mod endpoints;
pub mod event_types;
pub mod fan_out;
pub mod health;
pub mod limits;
pub mod notify;
pub mod orphans;
pub mod owner;
pub mod plans;
pub mod publish;
pub mod registry;
pub mod replay;
mod request;
pub mod try_out;

pub use carrier::WebhookCarrier;
pub use endpoints::{
    EndpointDraft, EndpointError, EndpointService, NewEndpoint, RevealedSecret, RotatedSecret,
};
pub use event_types::{Catalog, EventTypeError, EventTypeInfo, EventTypes, NewEventType};
pub use health::HealthService;
pub use limits::{PublishRates, RateStanding};
pub use notify::Notifier;
pub use orphans::OrphanSweeper;
pub use owner::Owner;
pub use plans::{Plan, PlanLimit, Plans};
pub use publish::{NewEvent, PublishError, Published, Publisher};
pub use registry::Registry;
pub use replay::{NewReplay, Replay, ReplayError, ReplayFilter, ReplayOf, ReplayState, Replays};
pub use try_out::{TryOut, TryOutError, try_out};
