//! The user of a page: the operator, or a tenant's user in the portal.

use gancho_access::{Operator, OperatorSession, PortalSession};

#[derive(Clone)]
pub enum Visitor {
    /// A session of the dashboard.
    Operator(OperatorSession),
    /// A session of the portal. It acts for its tenant, and cannot become an [`Operator`].
    Tenant(PortalSession),
}

impl Visitor {
    /// Returns the token of each form.
    pub fn csrf(&self) -> &str {
        match self {
            Self::Operator(session) => session.csrf(),
            Self::Tenant(session) => session.csrf(),
        }
    }

    pub fn has_csrf(&self, token: &str) -> bool {
        match self {
            Self::Operator(session) => session.has_csrf(token),
            Self::Tenant(session) => session.has_csrf(token),
        }
    }

    /// Whether the visitor may retry, replay, test, pause and resume.
    pub fn may_change(&self) -> bool {
        match self {
            Self::Operator(session) => session.operator().role().may_support(),
            Self::Tenant(session) => session.may_manage(),
        }
    }

    /// Whether the visitor may change the configuration and see secrets. A tenant's users may do so for the
    /// tenant.
    pub fn may_configure(&self) -> bool {
        match self {
            Self::Operator(session) => session.operator().role().may_operate(),
            Self::Tenant(session) => session.may_manage(),
        }
    }

    pub fn operator(&self) -> Option<&Operator> {
        match self {
            Self::Operator(session) => Some(session.operator()),
            Self::Tenant(_) => None,
        }
    }
}
