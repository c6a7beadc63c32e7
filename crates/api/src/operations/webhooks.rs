//! Webhooks: a tenant's endpoints. [`draft`] has the bodies, [`view`] renders a webhook; the other files are
//! operations.

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
