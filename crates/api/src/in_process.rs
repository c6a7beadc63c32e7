//! The API for callers in the same process, such as the dashboard: the same operations, checks and errors,
//! for a principal that is already authenticated.

use std::{convert::Infallible, time::Duration};

use axum::{Router, body::Body};
use bytes::Bytes;
use gancho_access::{
    AccessError, NewPortalSession, OpenPortalError, Operator, PortalLinkError, Principal,
    ThrottleError, ThrottleKey, User, UserError, password::PasswordError, users::plain_name,
};
use gancho_domain::AddressBlock;
use gancho_egress::Hops;
use gancho_vault::Secret;
use http::{HeaderMap, Request, Response, StatusCode, request::Parts};
use http_body_util::BodyExt;
use tower::ServiceExt;

use crate::{
    answer::into_axum,
    audit, auth,
    call_slots::CallSlot,
    caller::{Caller, InProcessCaller},
    codes,
    listener::ReadGuard,
    problem::Problem,
    request_bodies::{BodyOwner, HeldBody},
    router::operations_router,
    serve,
    state::Api,
};

/// Time limit for the body of someone who logs in.
const LOGIN_DEADLINE: Duration = Duration::from_secs(10);

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
        whole(self.stream(principal, request).await).await
    }

    /// As [`Self::call`], for a response that is read piece by piece. The caller checks whether the principal
    /// may continue.
    pub async fn stream(&self, principal: Principal, request: Request<Bytes>) -> Response<Body> {
        let mut request = request.map(Body::from);
        request.extensions_mut().insert(InProcessCaller(principal));
        match self.router.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => never_happens(never),
        }
    }

    /// Authenticates a request from the network for another form of the API that is merged into the router,
    /// as the API does: guesses are throttled and counted. An error is the API's own response.
    pub async fn identify(&self, parts: &Parts) -> Result<Principal, Response<Bytes>> {
        let api = &self.api;
        let outcome = if Hops::is_from_gateway(&parts.headers) {
            Err(Problem::loop_detected())
        } else {
            auth::identify(api, &parts.headers, parts.extensions.get::<Caller>()).await
        };
        match outcome {
            Ok(principal) => Ok(principal),
            Err(problem) => Err(self.refuse(problem, &parts.headers).await),
        }
    }

    /// Reads the body of a request from the network for another form of the API. As for the API, its memory
    /// counts until the guard is dropped, and its connection can be closed while it arrives. `sender` is `None`
    /// for someone who is logging in. An error is the API's own response.
    pub async fn read_body(
        &self,
        sender: Option<&Principal>,
        parts: &Parts,
        mut body: Body,
        max: usize,
    ) -> Result<(Bytes, Option<HeldBody>), Response<Bytes>> {
        let within = self.api.settings.body_deadline;
        let (owner, within) = match sender {
            Some(principal) => {
                let tenant = principal.limited_tenant();
                (tenant.map_or(BodyOwner::Operator, BodyOwner::Tenant), within)
            }
            None => (BodyOwner::Stranger, within.min(LOGIN_DEADLINE)),
        };
        let (caller, bodies) = (parts.extensions.get::<Caller>(), &self.api.request_bodies);
        match bodies.read((owner, caller), &parts.headers, &mut body, max, within).await {
            Ok(read) => Ok(read),
            Err(problem) => Err(self.refuse(problem, &parts.headers).await),
        }
    }

    /// Counts a request from the network that calls in this process will answer, until the slot is dropped. An
    /// error is the API's own response: too many of the caller's are in progress.
    pub async fn begin_request(&self, principal: &Principal) -> Result<CallSlot, Response<Bytes>> {
        match self.api.calls.take(principal) {
            Ok(slot) => Ok(slot),
            Err(problem) => Err(self.refuse(problem, &HeaderMap::new()).await),
        }
    }

    /// Lets the connection of a request be closed to make room for others, until the guard is dropped: while
    /// someone logs in, nothing was done yet.
    pub fn wait(parts: &Parts) -> Option<ReadGuard<'_>> {
        parts.extensions.get::<Caller>().map(|caller| caller.connection.read())
    }

    async fn refuse(&self, problem: Problem, headers: &HeaderMap) -> Response<Bytes> {
        let id = serve::request_id(&self.api.ids, headers);
        whole(into_axum(serve::finish(Err(problem), &id))).await
    }

    /// Checks a token that a person typed. Guesses are throttled and counted together with those at the API.
    pub async fn log_in(&self, from: AddressBlock, token: &str) -> Result<Principal, LoginError> {
        self.api.throttle.admit(from, token).await.map_err(LoginError::Throttled)?;
        let principal = self.api.access.authenticate(token, None).await;
        match &principal {
            Ok(principal) => {
                self.api.throttle.succeed(from, token);
                // A tenant's key is valid, but gives no access here.
                if let Principal::Operator(operator) = principal {
                    audit::record_login(&self.api, Some(operator.actor()), "", from, None).await;
                }
            }
            Err(AccessError::InvalidCredentials) => {
                self.api.meter.login_failed();
                self.api.throttle.fail(from);
                let code = Some(&codes::INVALID_CREDENTIALS);
                audit::record_login(&self.api, None, "", from, code).await;
            }
            Err(_) => {}
        }
        principal.map_err(LoginError::Access)
    }

    /// Records a login without a token or a password, by a link that was made in this process.
    pub async fn record_login(&self, operator: &Operator, from: AddressBlock) {
        audit::record_login(&self.api, Some(operator.actor()), "", from, None).await;
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

    /// Checks the password of a user. Guesses are throttled by address and by account.
    pub async fn log_in_user(
        &self,
        from: AddressBlock,
        name: &str,
        password: Secret,
    ) -> Result<(User, Operator), LoginError> {
        let api = &self.api;
        let credential = Secret::new(format!("{name}\n{}", *password));
        api.throttle.admit(from, &credential).await.map_err(LoginError::Throttled)?;
        // A user who logged in from this address before is not slowed down by guesses from others.
        let (account, address) = (account_key(name), from.to_string());
        let admitted = api.account_throttle.admit(account, &address).await;
        admitted.map_err(LoginError::Throttled)?;
        let found =
            api.access.users.log_in(Some(from), name, password).await.map_err(
                |error| match error {
                    UserError::Store(error) => LoginError::Access(error.into()),
                    UserError::Password(PasswordError::Busy) => {
                        LoginError::Throttled(ThrottleError { retry_after: Duration::from_secs(1) })
                    }
                    _ => LoginError::Access(AccessError::InvalidCredentials),
                },
            )?;
        if let Some((user, operator)) = found {
            api.throttle.succeed(from, &credential);
            api.account_throttle.succeed(account, &address);
            audit::record_login(api, Some(operator.actor()), &user.name, from, None).await;
            return Ok((user, operator));
        }
        api.meter.login_failed();
        api.throttle.fail(from);
        api.account_throttle.fail(account);
        let known = api.access.users.get(name).await.ok().flatten();
        let known = known.map(|user| user.name).unwrap_or_default();
        audit::record_login(api, None, &known, from, Some(&codes::INVALID_CREDENTIALS)).await;
        Err(LoginError::Access(AccessError::InvalidCredentials))
    }
}

async fn whole(response: Response<Body>) -> Response<Bytes> {
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

/// Returns the key of an account. Spellings of a name that mean the same account count as one.
fn account_key(name: &str) -> ThrottleKey {
    ThrottleKey::account(&plain_name(name).unwrap_or_default())
}

fn never_happens<T>(never: Infallible) -> T {
    match never {}
}
