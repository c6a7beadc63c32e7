//! Why access is denied.

use gancho_store::StoreError;
use thiserror::Error;

use crate::{Right, Role};

#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum AccessError {
    /// The same for every kind of invalid credential.
    #[error(
        "the API key or token is unknown, revoked, expired or mistyped; check that all of it was copied"
    )]
    InvalidCredentials,
    /// The operator named a tenant that does not exist.
    #[error("the tenant does not exist")]
    UnknownTenant,
    /// A tenant's credential named another tenant.
    #[error("an API key or portal token works for its own tenant only")]
    OtherTenant,
    /// The operation is for one tenant, and the operator named none.
    #[error("this operation works on one tenant; name it")]
    TenantRequired,
    #[error("only the operator can do this; use the operator token")]
    OperatorOnly,
    /// The operation is for people, and the caller used an API key.
    #[error("an API key cannot do this; use a portal link or the operator token")]
    PersonRequired,
    #[error("the API key or portal token lacks the scope `{0}`; use one that has it")]
    MissingRight(Right),
    /// The user's role is too low.
    #[error("your role does not allow this; the role `{0}` is required")]
    MissingRole(Role),
    #[error(transparent)]
    Store(#[from] StoreError),
}
