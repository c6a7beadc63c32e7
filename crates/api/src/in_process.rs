//! The API for callers in the same process, such as the dashboard: the same operations, checks and errors,
//! for a principal that is already authenticated.

use std::convert::Infallible;

use axum::{Router, body::Body};
use bytes::Bytes;
use gancho_access::{
    AccessError, NewPortalSession, OpenPortalError, PortalLinkError, Principal, ThrottleError,
};
use gancho_domain::AddressBlock;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use tower::ServiceExt;

use crate::{router::operations_router, state::Api};

/// The principal of a call from this process. Extensions of a request never come from the network.
#[derive(Clone)]
pub(crate) struct InProcessCaller(pub Principal);

#[derive(Clone)]
pub struct InProcessApi {
    api: Api,
    router: Router,
}

/// Why a token was not accepted.
#[derive(Debug)]
pub enum LoginError {
    Throttled(ThrottleError),
    Access(AccessError),
}

/// Why a portal link was not accepted.
#[derive(Debug)]
pub enum PortalError {
    Throttled(ThrottleError),
    Open(OpenPortalError),
}

impl InProcessApi {
    pub fn new(api: &Api) -> Self {
        Self { router: operations_router(api), api: api.clone() }
    }

    pub fn api(&self) -> &Api {
        &self.api
    }

    /// Runs an operation for the principal, whose rights are checked as for any other caller.
    pub async fn call(&self, principal: Principal, request: Request<Bytes>) -> Response<Bytes> {
        let mut request = request.map(Body::from);
        request.extensions_mut().insert(InProcessCaller(principal));
        let response = match self.router.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => never_happens(never),
        };
        let (parts, body) = response.into_parts();
        match body.collect().await {
            Ok(body) => Response::from_parts(parts, body.to_bytes()),
            Err(error) => {
                tracing::error!(%error, "internal error");
                let mut broken = Response::new(Bytes::new());
                *broken.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
                broken
            }
        }
    }

    /// Checks a token that a person typed. Guesses are throttled and counted together with those at the API.
    pub async fn log_in(&self, from: AddressBlock, token: &str) -> Result<Principal, LoginError> {
        self.api.throttle.admit(from, token).await.map_err(LoginError::Throttled)?;
        let principal = self.api.access.authenticate(token, None).await;
        match &principal {
            Ok(_) => self.api.throttle.succeed(from, token),
            Err(AccessError::InvalidCredentials) => {
                self.api.meter.login_failed();
                self.api.throttle.fail(from);
            }
            Err(_) => {}
        }
        principal.map_err(LoginError::Access)
    }

    /// Exchanges the token of a portal link for a session. Invalid ones count as guesses.
    pub async fn open_portal(
        &self,
        from: AddressBlock,
        token: &str,
    ) -> Result<NewPortalSession, PortalError> {
        self.api.throttle.admit(from, token).await.map_err(PortalError::Throttled)?;
        let session = self.api.access.open_portal(token).await;
        match &session {
            Ok(_) => self.api.throttle.succeed(from, token),
            Err(OpenPortalError::Link(PortalLinkError::Invalid)) => {
                self.api.meter.login_failed();
                self.api.throttle.fail(from);
            }
            Err(_) => {}
        }
        session.map_err(PortalError::Open)
    }
}

fn never_happens<T>(never: Infallible) -> T {
    match never {}
}
