//! Webhooks: a tenant's endpoints, under the name that they have in paths.
//!
//! [`draft`] is what may be given for one, [`view`] how one is shown; the rest are calls, one file
//! each.

pub mod change;
pub mod create;
pub mod delete;
pub mod draft;
pub mod get;
mod health;
pub mod list;
pub mod pause;
pub mod replace;
pub mod rotate_secret;
pub mod secret;
pub mod test;
pub mod view;

pub(crate) const TAG: &str = "Webhooks";
