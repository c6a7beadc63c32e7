//! What the dashboard needs from the gateway: the API, and authentication.

use std::{any::Any, sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::body::Body;
use bytes::Bytes;
use gancho_access::{
    AccessError, BeginSessionError, NewPortalSession, Operator, OperatorSession, PortalSession,
    Principal, SessionCookie, User,
};
use gancho_domain::{AddressBlock, Tenant};
use http::{Request, Response, request::Parts};

/// What a request holds of the gateway's memory or connections until it is answered.
pub type RequestGuard = Arc<dyn Any + Send + Sync>;

/// The gateway for the dashboard. Pages read and change things only through [`Backend::call`], so the
/// dashboard can do nothing that the API cannot.
#[async_trait]
pub trait Backend: Send + Sync + 'static {
    /// Checks the operator token. Guesses from the address of the request are throttled.
    async fn log_in(&self, parts: &Parts, token: &str) -> Result<Login, LoginError>;

    /// Checks the password of a user. Guesses are throttled by address and by account.
    async fn log_in_user(
        &self,
        parts: &Parts,
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
        parts: &Parts,
        token: &str,
    ) -> Result<NewPortalSession, PortalError>;

    /// Returns the session of the portal in a cookie, if it has not ended.
    async fn portal_session(&self, cookie: &str) -> Result<Option<PortalSession>, AccessError>;

    /// Whether a session of the portal that was open still is.
    async fn is_portal_session_open(&self, session: &PortalSession) -> bool;

    /// Finds a tenant by slug or id.
    async fn tenant(&self, name: &str) -> Result<Option<Arc<Tenant>>, AccessError>;

    /// Reads the body of a form within the limits of the API, which counts its memory until the guard is
    /// dropped. `sender` is `None` for someone who is logging in. An error is the response of the API.
    async fn read_form(
        &self,
        sender: Option<&Principal>,
        parts: &Parts,
        body: Body,
        max: usize,
    ) -> Result<(Bytes, RequestGuard), Response<Bytes>>;

    /// Counts a request that is being answered for a principal, until the guard is dropped. An error is the
    /// response of the API: there are too many.
    async fn begin_request(&self, principal: &Principal) -> Result<RequestGuard, Response<Bytes>>;

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
