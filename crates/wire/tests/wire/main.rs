//! What the crate promises, checked from outside: against other implementations' signatures,
//! against the published examples, and against the list of attacks (`SG-…`, `TS-…`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod any_input;
mod attacks_on_ed25519;
mod attacks_on_form;
mod attacks_on_keys;
mod attacks_on_timestamps;
mod presets;
mod published;
mod request;
mod standard_request;
mod strict_json;
mod vectors;
