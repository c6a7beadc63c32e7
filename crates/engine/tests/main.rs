//! What the engine does for its callers, over a real store, in virtual time.

#![allow(clippy::expect_used, clippy::panic, reason = "a test")]

#[allow(dead_code, reason = "shared with the simulation")]
#[path = "simulation/clock.rs"]
mod clock;
mod dead_letters {
    mod archive;
}
mod deliveries {
    mod carry;
    mod fan_out;
    mod hold;
    mod unstorable_result;
    mod wake_up;
}
mod nodes {
    mod crash_loop;
    mod leases;
    mod stop;
}
mod stage;
mod statistics {
    mod count;
}
mod tenants {
    mod hard_slots;
    mod restart;
    mod turns;
}
mod upkeep {
    mod wrong_clock;
}
