//! Authentication and authorization, for the API and for pages rendered on the server.
//!
//! In reading order: [`authenticate`] identifies the owner of a credential: the operator token
//! ([`operator_token`]), an API key ([`api_key`], with its format in [`key_text`]; [`expiring_keys`] finds
//! those that expire soon) or a [`portal`] token, which a browser exchanges for a [`portal_session`], unless
//! [`portal_revocations`] contains it. The result is a [`principal`] with [`rights`]. Every unknown, wrong,
//! revoked or expired credential gives the same [`error`] and takes the same time. [`throttle`] slows down
//! addresses that send many invalid credentials, except for credentials in its [`recent_set`]. [`users`] have
//! a name, a [`password`] that is not among the [`common_passwords`] and is checked in `turns`, and a [`role`];
//! they and the operator have [`operator_sessions`] in the dashboard. [`tenant_cache`] caches tenants.
//!
//! Only this crate creates a [`TenantScope`](gancho_domain::TenantScope) for a caller. It knows no HTTP.

pub mod api_key;
pub mod authenticate;
mod bounded_records;
pub mod common_passwords;
mod digest;
pub mod error;
pub mod expiring_keys;
pub mod key_text;
pub mod operator_sessions;
pub mod operator_token;
pub mod password;
pub mod portal;
pub mod portal_revocations;
pub mod portal_session;
pub mod principal;
pub mod recent_set;
pub mod rights;
pub mod role;
pub mod tenant_cache;
pub mod throttle;
mod turns;
pub mod users;

pub use api_key::{ApiKey, ApiKeyUse, ApiKeys, KeyError, KeyId};
pub use authenticate::Access;
pub use bounded_records::BoundedRecords;
pub use error::AccessError;
pub use gancho_store::{Actor, ActorKind};
pub use operator_sessions::{BeginSessionError, OperatorSession, OperatorSessions, SessionCookie};
pub use operator_token::{OperatorToken, OperatorTokenError};
pub use portal::{PortalLinkError, PortalTokens};
pub use portal_revocations::PortalRevocations;
pub use portal_session::{NewPortalSession, OpenPortalError, PortalSession};
pub use principal::{Operator, Principal, TenantPrincipal};
pub use recent_set::RecentSet;
pub use rights::{Needs, Right, Rights};
pub use role::Role;
pub use tenant_cache::TenantCache;
pub use throttle::{Throttle, ThrottleError, ThrottleKey};
pub use users::{NewUser, User, UserChange, UserError, Users};
