//! Why a caller may not do something.

use gancho_store::StoreError;
use thiserror::Error;

use crate::Right;

#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum AccessError {
    /// The same for whatever is wrong with a credential.
    #[error(
        "the API key is unknown, revoked, expired or mistyped; check that the whole key was copied"
    )]
    InvalidCredentials,
    /// The operator named a tenant that is not there.
    #[error("the tenant does not exist")]
    UnknownTenant,
    /// A tenant's credential named another tenant.
    #[error("an API key works for its own tenant only")]
    OtherTenant,
    /// The call is about one tenant, and the operator named none.
    #[error("this operation works on one tenant; name it")]
    TenantRequired,
    #[error("only the operator can do this; use the operator token")]
    OperatorOnly,
    #[error("the API key lacks the scope `{0}`; use a key that has it")]
    MissingRight(Right),
    #[error(transparent)]
    Store(#[from] StoreError),
}
