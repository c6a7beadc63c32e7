//! The Svix-compatible API below `/api/v1`: clients of Svix keep working if they are pointed at the gateway.
//!
//! In reading order: [`server`] takes a request, finds its call in the table of [`calls`], authenticates the
//! caller and runs it; [`visit`] is the context of a call, which uses the gateway's own API through the
//! [`backend`]. The calls are in [`operations`], a file for each noun. [`fields`] and [`query`] read the
//! request, [`svix_error`] is an error in the form of Svix, [`page`] converts between cursors and iterators,
//! [`uid`] between names of applications and slugs, [`svix_metadata`] stores what only Svix has, and
//! [`idempotency`] answers repeated requests, at a rate that [`record_rates`] bounds.
//!
//! This crate never depends on the API and never reads the store: each call is translated into operations of
//! the gateway's own API in the same process, so that rights, validation, limits and the audit log are the
//! same (docs/decisions/0028). It never ignores what a caller requested: what is not supported is refused,
//! with the reason.

pub mod backend;
pub mod calls;
pub mod fields;
pub mod idempotency;
pub mod operations;
pub mod page;
pub mod query;
pub mod record_rates;
pub mod server;
pub mod svix_error;
pub mod svix_metadata;
pub mod uid;
pub mod visit;

pub use self::{
    backend::Backend,
    calls::{Support, SvixCall},
    server::{Setup, router},
};
