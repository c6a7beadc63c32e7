//! The API for callers in the same process, such as the dashboard: the same operations, checks and errors,
//! for a principal that is already authenticated.

use std::convert::Infallible;

use axum::{Router, body::Body};
use bytes::Bytes;
use gancho_access::{AccessError, Principal, ThrottleError};
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

impl InProcessApi {
    pub fn new(api: &Api) -> Self {
        Self { router: operations_router(api), api: api.clone() }
    }

    pub fn api(&self) -> &Api {
        &self.api
    }

    /// Runs an operation for the principal, whose rights are checked as for any other caller.
    pub async fn call(&self, principal: Principal, request: Request<Bytes>) -> Response<Bytes> {
        let (parts, body) = self.stream(principal, request).await.into_parts();
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

    /// The same for a response that is read piece by piece. The caller checks whether the principal may go on.
    pub async fn stream(&self, principal: Principal, request: Request<Bytes>) -> Response<Body> {
        let mut request = request.map(Body::from);
        request.extensions_mut().insert(InProcessCaller(principal));
        match self.router.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => never_happens(never),
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
}

fn never_happens<T>(never: Infallible) -> T {
    match never {}
}
