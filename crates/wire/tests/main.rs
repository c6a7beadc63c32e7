//! The crate's promises, checked from outside: against other implementations' signatures, against the
//! published examples, and against the list of attacks (`SG-…`, `TS-…`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod json {
    mod strict;
}
mod presets {
    mod verify;
}
mod request;
mod signatures {
    mod any_input;
    mod attacks_on_ed25519;
    mod attacks_on_form;
    mod attacks_on_keys;
    mod attacks_on_timestamps;
    mod published_examples;
    mod vectors;
}
mod standard_request;
