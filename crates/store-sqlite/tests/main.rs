//! The embedded store on real files: the suite that every store must pass, and what only a file can get
//! wrong.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod claims {
    mod unreadable;
}
mod conformance;
mod disk {
    mod full;
}
mod erasure {
    mod file;
}
mod keys {
    mod buffer;
}
mod open {
    mod refusals;
}
mod upkeep {
    mod growth;
}
mod world;
