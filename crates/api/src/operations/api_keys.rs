//! API keys: created, listed and revoked by the operator, or by the tenant's people in the portal. The key itself
//! is shown once, when it is created.

pub mod create;
pub mod list;
pub mod own;
pub mod revoke;
pub mod view;

pub(crate) const TAG: &str = "Tenants";
