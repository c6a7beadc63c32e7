//! The HTTP client for untrusted URLs. It prevents SSRF (server-side request forgery) by checking every
//! address, and bounds the time that a request takes and the bytes of a response that are read.
//!
//! In reading order: [`settings`] says what is allowed; [`url_policy`] checks a URL, when it is saved and
//! again before each attempt; [`resolve`] queries the DNS once per attempt; [`address`] checks the resolved
//! addresses and is the only one to construct an [`address::AllowedAddress`]; [`connect`], [`tls`] and
//! [`proxy`] open a connection to such an address and to no other, and [`shortage`] distinguishes a shortage
//! of this node, such as of file handles, from a failure of the target; [`handshake`] speaks HTTP/1.1 or
//! HTTP/2; [`pool`] keeps idle [`connections`] for the next request; [`request`] and [`answer`] build the
//! request and bound the response; [`client`] puts these together under one deadline; [`retry_after`] and
//! [`verdict`] say what an outcome means. [`hops`] marks what the gateway sends, to detect loops. [`aws`]
//! signs requests to Amazon's services and compatible ones.
//!
//! This crate never follows a redirect, decompresses a body, reads a proxy from the environment, or repeats a
//! request once a byte of it may have been read.

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
pub use request::{add_signed, header_record, header_value};
pub use resolve::{Resolve, ResolveError};
pub use retry_after::RetryAfter;
pub use settings::{Settings, SetupError};
pub use url_policy::{Policy, UrlError};
pub use verdict::{Assessment, carried, verdict};
