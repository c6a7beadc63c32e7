//! Authentication and authorization. Whatever talks to callers (the API, and pages made on the server) asks
//! here, and learns it in the same way.
//!
//! In reading order: [`authenticate`] says whose a credential is: the operator's ([`admin_token`]), a tenant's
//! API key ([`api_key`], whose text is [`key_text`]'s business) or a [`portal`] token. The answer is a [`principal`],
//! with its [`rights`]. A credential that is unknown, wrong, revoked or expired is one [`error`] and takes as long;
//! an address that sends many of them is slowed down by [`throttle`], with [`seen_set`] for those that were good
//! before. [`tenant_cache`] keeps tenants in memory.
//!
//! Only this crate makes a [`TenantScope`](gancho_domain::TenantScope) for a caller. It knows no HTTP.

pub mod admin_token;
pub mod api_key;
pub mod authenticate;
pub mod error;
pub mod key_text;
pub mod portal;
pub mod principal;
pub mod rights;
pub mod seen_set;
pub mod tenant_cache;
pub mod throttle;

pub use admin_token::{AdminToken, AdminTokenError};
pub use api_key::{ApiKey, ApiKeyUse, ApiKeys, KeyError, KeyId};
pub use authenticate::Access;
pub use error::AccessError;
pub use portal::PortalTokens;
pub use principal::{Operator, Principal, TenantPrincipal};
pub use rights::{Needs, Right, Rights};
pub use seen_set::SeenSet;
pub use tenant_cache::TenantCache;
pub use throttle::{Throttle, ThrottleError};
