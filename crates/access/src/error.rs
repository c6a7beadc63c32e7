//! Why a caller may not do something.

use gancho_store::StoreError;
use thiserror::Error;

use crate::Right;

#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum AccessError {
    /// The same for whatever is wrong with a credential.
    #[error(
        "the key is unknown, revoked, expired or mistyped: check that the whole of it was copied"
    )]
    InvalidCredentials,
    /// The operator named a tenant that is not there.
    #[error("there is no such tenant")]
    UnknownTenant,
    /// A tenant's credential named another tenant.
    #[error("a tenant's key acts for its own tenant")]
    OtherTenant,
    /// The call is about one tenant, and the operator named none.
    #[error("this call is about one tenant: name it")]
    TenantRequired,
    #[error("only the operator may do this: use the operator's token")]
    OperatorOnly,
    #[error("the key lacks the scope `{0}`: use one that has it")]
    MissingRight(Right),
    #[error(transparent)]
    Store(#[from] StoreError),
}
