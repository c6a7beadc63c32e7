//! For tests: servers to talk to.

pub mod dns;
pub mod postgres;
pub mod receiver;
pub mod receiver_h2;
pub mod tls;
