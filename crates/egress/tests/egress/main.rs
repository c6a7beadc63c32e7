//! The HTTP client against tables of addresses and spellings, against names that lie, and against
//! receivers that misbehave. Nothing here leaves loopback.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod addresses;
mod fetching;
mod http2;
mod pooling;
mod proxying;
mod rebinding;
mod receivers;
mod resolving;
mod spellings;
mod stage;
mod tls;
