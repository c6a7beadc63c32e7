//! For tests: the real things to talk to, and some that misbehave on command.
//!
//! [`postgres`] starts a server, or uses the one in `DATABASE_URL`, and [`pgbouncer`] a pooler in front of
//! it; [`stores`] opens either store, and [`parcels`] makes their content; [`python`] runs other people's
//! servers, such as a mail server; [`receiver`] receives webhooks and answers by a script, and
//! [`http_request`] parses them; [`dns`] is a name server that lies; [`tls`] makes certificates, valid and
//! invalid; [`sns`] signs as Amazon SNS does; [`wait_for`] waits until something has happened. Everything
//! listens on loopback only and ends with the test. Never part of the product.

pub mod dns;
pub mod http_request;
pub mod parcels;
pub mod pgbouncer;
pub mod postgres;
pub mod python;
pub mod receiver;
pub mod receiver_h2;
pub mod sns;
pub mod stores;
pub mod tls;
mod wait;

pub use wait::{until, wait_for};
