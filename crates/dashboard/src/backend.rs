//! What the dashboard needs from the gateway: the API, and authentication.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::body::Body;
use bytes::Bytes;
use gancho_access::{
    AccessError, BeginSessionError, NewPortalSession, Operator, OperatorSession, PortalSession,
    Principal, SessionCookie, User,
};
use gancho_domain::{AddressBlock, Tenant};
use http::{Request, Response};

/// The gateway for the dashboard. Pages read and change things only through [`Backend::call`], so the
/// dashboard can do nothing that the API cannot.
#[async_trait]
pub trait Backend: Send + Sync + 'static {
    /// Checks the operator token. Guesses from an address are throttled.
    async fn log_in(&self, from: AddressBlock, token: &str) -> Result<Login, LoginError>;

    /// Checks the password of a user. Guesses are throttled by address and by account.
    async fn log_in_user(
        &self,
        from: AddressBlock,
        name: &str,
        password: &str,
    ) -> Result<Login, LoginError>;

    /// Records in the audit log that someone signed in by a link.
    async fn record_login(&self, operator: &Operator, from: AddressBlock);

    /// Starts a session of the dashboard, and returns the value of its cookie.
    async fn begin_session(&self, login: &Login) -> Result<String, BeginSessionError>;

    /// Returns the cookie of a session of the dashboard, even if the session is over; `None` if the gateway
    /// has not made it.
    fn session_cookie(&self, cookie: &str) -> Option<SessionCookie>;

    /// Returns the session of the dashboard in a cookie, if it has not ended.
    async fn session(&self, cookie: SessionCookie) -> Result<Option<OperatorSession>, AccessError>;

    /// Whether a session of the dashboard that was open still is.
    async fn is_session_open(&self, session: &OperatorSession) -> bool;

    async fn end_session(&self, session: &OperatorSession) -> Result<(), AccessError>;

    /// Exchanges the token of a portal link for a session. Guesses are throttled as well.
    async fn open_portal(
        &self,
        from: AddressBlock,
        token: &str,
    ) -> Result<NewPortalSession, PortalError>;

    /// Returns the session of the portal in a cookie, if it has not ended.
    async fn portal_session(&self, cookie: &str) -> Result<Option<PortalSession>, AccessError>;

    /// Whether a session of the portal that was open still is.
    async fn is_portal_session_open(&self, session: &PortalSession) -> bool;

    /// Finds a tenant by slug or id.
    async fn tenant(&self, name: &str) -> Result<Option<Arc<Tenant>>, AccessError>;

    /// Runs an operation of the API for an authenticated principal, and checks its rights.
    async fn call(&self, principal: Principal, request: Request<Bytes>) -> Response<Bytes>;

    /// As [`Self::call`], for a response that is read piece by piece, and may have no end.
    async fn stream(&self, principal: Principal, request: Request<Bytes>) -> Response<Body>;
}

/// The owner of a login.
pub enum Login {
    /// The owner of the operator token.
    Operator,
    User(User),
}

/// Why a login failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginError {
    InvalidToken,
    /// Too many invalid tokens came from this address.
    Throttled(Duration),
    Unavailable,
}

/// Why a link did not open the portal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortalError {
    Invalid,
    Expired,
    Throttled(Duration),
    Unavailable,
}
