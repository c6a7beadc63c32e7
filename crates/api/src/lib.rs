//! The JSON API: who may ask for what, how it is asked, and how the answer looks.
//!
//! In reading order: [`router`] has the one table of routes, [`route`] says what an entry holds;
//! [`serve`] is the way of every request: [`auth`] (who asks, and may they), [`input`] (what was
//! sent, read strictly), the operation itself, [`answer`] or [`problem`] (what goes back, with
//! [`codes`] for every refusal there is). [`operations`] have a file each, in the folder of their noun.
//! [`render`], [`page`] and [`cursor`] are what their answers share; [`openapi`] and [`docs`] tell of all of it.
//! [`service`] is the first to see a request. Below stands [`listener`], with [`host`], [`client_address`],
//! `caller` and `ending`; beside it [`state`] (with the [`key_ring`] and [`exports`]), [`meter`], [`probes`] and [`watch`].
//!
//! This crate decides nothing about deliveries: it checks, calls the flows and shows the outcome. It
//! never makes a [`gancho_domain::TenantScope`] ([`gancho_access`] does), never builds a refusal but in
//! [`problem`], and never reads a body before it knows who sent it.

pub mod answer;
pub mod auth;
mod caller;
pub mod client_address;
pub mod codes;
pub mod cursor;
pub mod docs;
pub mod exports;
pub mod host;
pub mod ingest;
pub mod input;
mod keep_alive;
pub mod key_ring;
pub mod listener;
pub mod meter;
pub mod openapi;
pub mod operations;
pub mod page;
pub mod probes;
pub mod problem;
pub mod render;
pub mod route;
pub mod router;
pub mod serve;
pub mod service;
pub mod state;
pub mod watch;

pub use client_address::TrustedProxies;
pub use ingest::{Ingest, IngestSettings, Simulator};
pub use listener::ListenSettings;
pub use router::{node_router, router};
pub use service::listen;
pub use state::{Api, ApiSetup, InboundParts, MetricsFor, Settings};
