//! Statistics of deliveries over time: of the gateway, a tenant or a webhook. [`bins`] divides a range into
//! steps, [`view`] renders figures; the other files are operations.

mod bins;
pub mod get;
pub mod tenants;
mod view;
pub mod webhook;
pub mod webhooks;

pub(crate) const TAG: &str = "Statistics";
