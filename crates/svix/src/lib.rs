//! The Svix-compatible API below `/api/v1`: clients of Svix that are pointed at the gateway keep working.
//!
//! In reading order: [`server`] takes a request, finds its call in the table of [`calls`], authenticates the caller
//! and runs it; [`visit`] is what a call works on, and asks the gateway's own API through the [`backend`]. The calls
//! are in [`operations`], a file for each noun. [`fields`] and [`query`] read what a caller sent, [`svix_error`] is an
//! error in the form of Svix, [`page`] turns cursors into iterators, [`uid`] names of applications into slugs,
//! [`svix_metadata`] keeps what only Svix has, and [`idempotency`] answers a repeated request again.
//!
//! This crate never depends on the API and never reads the store: each call is translated into operations of the
//! gateway's own API in the same process, so that rights, validation, limits and the audit log are the same
//! (docs/decisions/0028). It never drops what a caller asked for: what cannot be done is refused, with the reason.

pub mod backend;
pub mod calls;
pub mod fields;
pub mod idempotency;
pub mod operations;
pub mod page;
pub mod query;
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
