//! What the engine does for its callers, over a real store, in virtual time.

#![allow(clippy::expect_used, clippy::panic, reason = "a test")]

mod archiving;
#[allow(dead_code, reason = "shared with the simulation")]
#[path = "../simulation/clock.rs"]
mod clock;
mod crashes;
mod delivering;
mod holding;
mod leases;
mod stage;
mod stopping;
mod turns;
mod unstorable;
mod wrong_clock;
