//! The HTTP client for untrusted addresses: a request, with a response of which little is read, that can harm neither
//! the gateway nor others.
//!
//! In reading order: [`settings`] says what is allowed; [`url_policy`] judges a URL, when it is
//! saved and again before each attempt; [`resolve`] asks the DNS once per attempt; [`address`]
//! judges what it answered and is the only maker of a [`address::AllowedAddress`] address; [`connect`],
//! [`tls`] and [`proxy`] open a connection to such an address and to no other, and [`shortage`] tells
//! what this node lacked for it from what a target did; [`handshake`] speaks
//! HTTP/1.1 or HTTP/2 on it; [`pool`] keeps it on a [`connections`] for the next one; [`request`] and [`answer`] shape
//! what is sent and bound what is read; [`client`] puts these together under one deadline;
//! [`retry_after`] and [`verdict`] say what an outcome means. [`hops`] marks what the gateway sends, so that it
//! knows its own requests when they come back. [`aws`] signs requests to Amazon's services and to those that are compatible.
//!
//! This crate never follows a redirect, decompresses a body, reads a proxy from the environment, or repeats
//! a request once a byte of it may have been read.

pub mod address;
pub mod answer;
pub mod aws;
pub mod client;
pub(crate) mod connect;
mod connections;
pub(crate) mod handshake;
pub mod hops;
pub mod outcome;
pub(crate) mod pool;
pub mod proxy;
pub(crate) mod request;
pub mod resolve;
pub mod retry_after;
pub mod settings;
pub mod shortage;
pub mod tls;
pub mod url_policy;
pub mod verdict;

pub use address::{AddressPolicy, Nat64, Ruling};
pub use client::Client;
pub use hops::Hops;
pub use outcome::{Answer, Outcome, RequestError};
pub use proxy::Proxy;
pub use request::header_record;
pub use resolve::{Resolve, ResolveError};
pub use retry_after::RetryAfter;
pub use settings::{Settings, SetupError};
pub use url_policy::{Policy, UrlError};
pub use verdict::{Conclusion, carried, verdict};
