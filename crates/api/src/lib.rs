//! The JSON API: its operations, who may call them, and the form of requests and responses.
//!
//! In reading order: [`router`] has the table of routes, [`route`] says what an entry contains. [`serve`]
//! handles a request: [`auth`] (authentication and authorization), [`input`] (strict parsing), the operation,
//! then [`answer`] or [`problem`], with [`codes`] for every error. Each of the [`operations`] is a file, in
//! the directory of its noun. [`render`], [`page`], [`cursor`] and `json_lines` are shared by responses;
//! [`openapi`] and [`docs`] generate the documentation. [`in_process`] serves callers in this process, such
//! as the dashboard. [`policy`] says which roles may run an operation, and whether it is recorded in the
//! [`audit`] log. [`service`] is the tower service of the API; [`ingest`] is the one for partners. Below them
//! is [`listener`], with [`host`], [`client_address`], `caller` and `keep_alive`; beside them [`state`] (with
//! [`cells`], [`key_ring`], [`reload`], [`tails`], `request_bodies` and `body_budget`, [`response_budget`],
//! [`tail_relay`], `call_slots` and `caller_slots`, with `fair_shares`), [`meter`], [`probes`] and [`watch`].
//!
//! This crate decides nothing about deliveries: it checks requests, calls the flows and renders the outcome.
//! It never creates a [`gancho_domain::TenantScope`] ([`gancho_access`] does), creates error responses only
//! in [`problem`], and never reads a body before the caller is authenticated.

pub mod answer;
pub mod audit;
pub mod auth;
mod body_budget;
pub mod breaker_relay;
mod call_slots;
mod caller;
mod caller_slots;
pub mod cells;
pub mod client_address;
pub mod codes;
pub mod cursor;
pub mod docs;
mod fair_shares;
pub mod host;
pub mod in_process;
pub mod ingest;
pub mod input;
mod json_lines;
mod keep_alive;
pub mod key_ring;
mod line_limit;
pub mod listener;
pub mod meter;
pub mod openapi;
pub mod operations;
pub mod page;
pub mod policy;
pub mod probes;
pub mod problem;
mod refusal_limiter;
pub mod reload;
pub mod render;
mod request_bodies;
pub mod response_budget;
pub mod route;
pub mod router;
pub mod serve;
pub mod service;
pub mod state;
pub mod tail_relay;
pub mod tails;
pub mod watch;

pub use client_address::TrustedProxies;
pub use in_process::InProcessApi;
pub use ingest::{Ingest, IngestSettings, Simulator};
pub use listener::ListenSettings;
pub use router::{node_router, router};
pub use service::listen;
pub use state::{Api, ApiSetup, InboundParts, MetricsAccess, Settings};
