//! Portal links: short-lived access to the dashboard for the users of one tenant.

pub mod create;
pub mod revoke;
