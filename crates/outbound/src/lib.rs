//! Sending webhooks: accepting events, and the carrier that brings them to endpoints.
//!
//! In reading order: [`publish`] accepts an event; [`fan_out`] says which endpoints get it;
//! [`registry`] keeps the endpoints in memory; [`carrier`] makes one attempt; [`deliver`] is the HTTP
//! under it, with the guard that keeps it off private addresses.
//!
//! This crate never decides about retries (the engine does), never opens a connection to an address
//! that was not judged, and knows nothing of how the API looks.

pub mod carrier;
pub mod deliver;
pub mod fan_out;
pub mod publish;
pub mod registry;

pub use carrier::WebhookCarrier;
pub use publish::{NewEvent, PublishError, Published, Publisher};
pub use registry::Registry;
