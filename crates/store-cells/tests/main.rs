//! A store made of several databases, on a real server: the suite that every store must pass, and what only several
//! cells can get wrong.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cells {
    mod hang;
    mod moved;
    mod moves;
    mod moves_busy;
    mod moves_guarded;
    mod moves_in_use;
    mod moves_outage;
    mod outage;
    mod placement;
    mod refusals;
    mod stale_leases;
}
mod conformance;
mod stage;
