//! The JSON API: who may ask for what, how it is asked, and how the answer looks.
//!
//! In reading order: [`router`] has the one table of routes, [`route`] says what an entry holds;
//! [`serve`] is the way of every request: [`auth`] (who asks, and may they), [`input`] (what was
//! sent, read strictly), the operation itself, [`answer`] or [`problem`] (what goes back, with
//! [`codes`] for every refusal there is). Operations have a file each, in the folder of their noun:
//! [`events`], [`emails`], [`suppressions`], [`letters`], [`webhooks`], [`event_types`], [`deliveries`],
//! [`replays`], [`dlq`], [`queues`], [`tenants`], [`api_keys`], [`portal_links`], [`keys`], [`sources`],
//! [`ledger`]. [`show`] and [`cursor`] are what their answers share; [`openapi`] and [`docs`] tell of all of it. Below stands [`listener`], with
//! [`host`], [`client_address`], `caller`, `ending` and `familiar`; beside it [`state`], [`tenant_cache`], [`meter`], [`probes`] and [`watch`].
//!
//! This crate decides nothing about deliveries: it checks, calls the flows and shows the outcome. It
//! never makes a [`gancho_domain::TenantScope`] but in [`auth`], never builds a refusal but in
//! [`problem`], and never reads a body before it knows who sent it.

pub mod answer;
pub mod api_keys;
pub mod auth;
mod caller;
pub mod client_address;
pub mod codes;
pub mod cursor;
pub mod deliveries;
pub mod dlq;
pub mod docs;
pub mod egress_addresses;
pub mod emails;
mod ending;
pub mod event_types;
pub mod events;
mod familiar;
pub mod host;
pub mod ingest;
pub mod input;
pub mod keys;
pub mod ledger;
pub mod letters;
pub mod listener;
pub mod meter;
pub mod openapi;
pub mod portal_links;
pub mod probes;
pub mod problem;
pub mod queues;
pub mod replays;
pub mod route;
pub mod router;
pub mod serve;
pub mod show;
pub mod sources;
pub mod state;
pub mod suppressions;
pub mod tenant_cache;
pub mod tenants;
pub mod watch;
pub mod webhooks;

pub use auth::{AdminToken, WeakToken};
pub use client_address::TrustedProxies;
pub use ingest::{Ingest, IngestSettings, Simulator};
pub use listener::{ListenSettings, listen};
pub use router::{of_node, router};
pub use state::{Api, ApiSetup, InboundParts, MetricsFor, Settings};
