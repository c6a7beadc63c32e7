//! For tests: servers to talk to.

pub mod postgres;
