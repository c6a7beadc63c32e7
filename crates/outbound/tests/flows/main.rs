//! The business of sending webhooks, from an endpoint's draft to what arrives: with a real SQLite
//! file, a real engine and receivers on loopback. Time is set by hand.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod batches;
mod deleting;
mod delivering;
mod drafts;
mod event_types;
mod failing;
mod headers;
mod notices;
mod publishing;
mod registry;
mod replaying;
mod replaying_in_order;
mod resuming;
mod rotation;
mod secrets;
mod stage;
mod trying;
