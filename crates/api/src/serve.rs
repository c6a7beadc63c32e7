//! Handles a request: authorize → parse → run → respond.
//!
//! **Invariant.** Nothing of a request is read before its caller is authenticated, and nothing is done before
//! all of it is read and valid.

use std::{fmt::Display, panic::AssertUnwindSafe, pin::pin, sync::Arc, task::Poll, time::Duration};

use bytes::Bytes;
use futures_util::{FutureExt, poll};
use gancho_access::Role;
use gancho_domain::{AddressBlock, Id, IdMaker, id::IdKind};
use gancho_egress::Hops;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header,
    request::Parts,
};
use hyper::body::Body;

use crate::{
    answer::{Answer, AnswerBody},
    audit::AuditedAction,
    auth,
    caller::{Caller, InProcessCaller},
    codes,
    input::{content, query},
    keep_alive::KeepAlive,
    meter::RouteMeter,
    policy::{self, Policy},
    problem::Problem,
    request_bodies::{BodyOwner, HeldBody},
    response_budget::ResponseOwner,
    route::{Call, PathParts, Route, Takes},
    state::Api,
};

enum RequestIdKind {}

impl IdKind for RequestIdKind {
    const PREFIX: &'static str = "req";
}

const IDENTIFY_TIMEOUT: Duration = Duration::from_secs(10);

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// A route with its counters.
pub struct RouteHandle {
    route: &'static Route,
    policy: Policy,
    meter: Arc<RouteMeter>,
}

impl RouteHandle {
    pub fn new(api: &Api, route: &'static Route) -> Self {
        let policy = policy::of(route);
        Self { route, policy, meter: api.meter.route(&route.method, route.path) }
    }
}

/// Answers a request. `routes` are the routes of its path, one for each method. The caller is in the extensions of the
/// request.
pub async fn serve<B>(
    api: &Api,
    routes: &[RouteHandle],
    path: Option<PathParts>,
    request: Request<B>,
) -> Response<AnswerBody>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Display,
{
    let id = request_id(&api.ids, request.headers());
    let (mut parts, mut body) = request.into_parts();
    let Some(RouteHandle { route, policy, meter }) = choose(routes, &parts.method) else {
        let keep_alive = KeepAlive::of(&parts);
        return keep_alive.finish(finish(refuse_method(routes), &id), &mut body);
    };
    let keep_alive = KeepAlive::of(&parts);
    let caller = parts.extensions.remove::<Caller>();
    let address = match &caller {
        Some(caller) => Some(caller.address.block),
        None => parts.extensions.get::<AddressBlock>().copied(),
    };
    let mut act = AuditedAction::begin(api, route, *policy, path.as_ref(), &id, address);
    let requested =
        RequestedOperation { route, role: policy.role, caller: caller.as_ref(), act: act.as_mut() };
    let work = answer(api, requested, path, parts, &mut body);
    let outcome = AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
        api.meter.panicked();
        Err(Problem::internal("handler panicked"))
    });
    let storing = act.and_then(|act| act.end(&outcome));
    let is_unavailable =
        outcome.as_ref().is_err_and(|problem| *problem.code() == codes::UNAVAILABLE);
    // If the store did not answer, the entry is stored when it does.
    if let Some(storing) = storing.filter(|_| !is_unavailable) {
        // A panic is logged by its own hook, and does not undo the act.
        let _ = storing.await;
    }
    let response = finish(outcome, &id);
    meter.answered(response.status());
    log_answer(route, response.status(), &id);
    keep_alive.finish(response, &mut body)
}

/// Logs the response with its request id. Only internal errors are warnings: a gateway that is full or
/// stopping logs that elsewhere, once.
fn log_answer(route: &Route, status: StatusCode, id: &HeaderValue) {
    let request_id = id.to_str().unwrap_or_default();
    let (method, path, status) = (route.method.as_str(), route.path, status.as_u16());
    if status >= 500 && status != 503 {
        tracing::warn!(request_id, method, path, status, "request failed");
    } else {
        tracing::debug!(request_id, method, path, status, "request");
    }
}

/// The requested operation, and its caller.
struct RequestedOperation<'a> {
    route: &'static Route,
    /// The lowest role of a user that may run it.
    role: Role,
    caller: Option<&'a Caller>,
    act: Option<&'a mut AuditedAction>,
}

async fn answer<B>(
    api: &Api,
    requested: RequestedOperation<'_>,
    path: Option<PathParts>,
    mut parts: Parts,
    body: &mut B,
) -> Result<Answer, Problem>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Display,
{
    let Some(path) = path else {
        return Err(Problem::new(&codes::NO_ROUTE, "the path is not valid UTF-8"));
    };
    if Hops::is_from_gateway(&parts.headers) {
        return Err(Problem::loop_detected());
    }
    let RequestedOperation { route, role, caller, mut act } = requested;
    let in_process = parts.extensions.remove::<InProcessCaller>();
    let is_in_process = in_process.is_some();
    let principal = if let Some(InProcessCaller(principal)) = in_process {
        principal
    } else {
        let caller =
            with_timeout(IDENTIFY_TIMEOUT, auth::identify(api, &parts.headers, caller)).await;
        caller.inspect_err(|problem| note_refusal(api, route, problem))?
    };
    if let Some(act) = &mut act {
        act.by(&principal);
    }
    let principal = principal.check(route.needs, role)?;
    if let Some(act) = &mut act {
        act.by(&principal);
    }
    let parameters = query::read(route.query, parts.uri.query())?;
    let tenant = principal.limited_tenant();
    let sender = tenant.map_or(BodyOwner::Operator, BodyOwner::Tenant);
    let (body, _held) = read_body(api, route, (sender, caller), &parts.headers, body).await?;
    // A caller in this process has one for all the calls that it makes to answer a request.
    let _slot = if is_in_process { None } else { Some(api.calls.take(&principal)?) };
    let owner = tenant.map_or(ResponseOwner::Operator, ResponseOwner::Tenant);
    let running = (route.run)(Call {
        api: api.clone(),
        route,
        principal,
        path,
        parameters,
        headers: parts.headers,
        body,
    });
    Ok(with_timeout(route.timeout, running).await?.owned_by(owner))
}

/// Limits the time of the work: a database that accepts requests without answering must not leave callers
/// without a response.
async fn with_timeout<T>(
    timeout: Duration,
    work: impl Future<Output = Result<T, Problem>>,
) -> Result<T, Problem> {
    let mut work = pin!(work);
    // Does not read the clock if the result is there at once, as from a cache.
    if let Poll::Ready(done) = poll!(work.as_mut()) {
        return done;
    }
    tokio::time::timeout(timeout, work).await.unwrap_or_else(|_| Err(Problem::no_answer()))
}

/// Counts what could not be accepted because the caller could not be looked up. The engine counts everything
/// after that.
fn note_refusal(api: &Api, route: &Route, problem: &Problem) {
    if route.takes_idempotency_key && *problem.code() == codes::UNAVAILABLE {
        api.engine.note_unread_refusal();
    }
}

async fn read_body<B>(
    api: &Api,
    route: &Route,
    of: (BodyOwner, Option<&Caller>),
    headers: &HeaderMap,
    body: &mut B,
) -> Result<(Bytes, Option<HeldBody>), Problem>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Display,
{
    let (settings, bodies) = (&api.settings, &api.request_bodies);
    let within = settings.body_deadline;
    let max = match route.takes {
        // An unexpected body is ignored, but must be small.
        Takes::Nothing => 0,
        Takes::Body(_) | Takes::Maybe(_) => settings.body_bytes,
        Takes::Batch(_) => settings.batch_bytes,
        Takes::Large(_) => settings.email_bytes,
    };
    match route.takes {
        Takes::Nothing => {
            if !body.is_end_stream() {
                // Clients that always send `{}` are accepted.
                bodies.read(of, headers, body, MAX_IGNORED_BODY, within).await?;
            }
            Ok((Bytes::new(), None))
        }
        Takes::Maybe(_) if body.is_end_stream() => Ok((Bytes::new(), None)),
        Takes::Maybe(_) if !headers.contains_key(header::CONTENT_TYPE) => {
            let (read, held) = bodies.read(of, headers, body, max, within).await?;
            if !read.is_empty() {
                content::check_type(headers)?;
            }
            Ok((read, held))
        }
        _ => {
            content::check_type(headers)?;
            bodies.read(of, headers, body, max, within).await
        }
    }
}

/// Maximum size of a body that is ignored.
const MAX_IGNORED_BODY: usize = 16 * 1024;

fn choose<'a>(routes: &'a [RouteHandle], method: &Method) -> Option<&'a RouteHandle> {
    // GET routes answer HEAD; hyper drops the body.
    let method = if *method == Method::HEAD { &Method::GET } else { method };
    routes.iter().find(|handle| handle.route.method == *method)
}

fn refuse_method(routes: &[RouteHandle]) -> Result<Answer, Problem> {
    let mut methods: Vec<_> = routes.iter().map(|handle| handle.route.method.as_str()).collect();
    if methods.contains(&"GET") {
        methods.push("HEAD");
    }
    Err(Problem::method_not_allowed(&methods))
}

/// Returns the response for unknown paths.
pub fn no_route<B>(api: &Api, request: Request<B>) -> Response<AnswerBody>
where
    B: Body<Data = Bytes> + Unpin,
{
    let problem = Problem::new(
        &codes::NO_ROUTE,
        "the gateway serves nothing at this path; see the API reference at `/docs`",
    );
    refuse(api, request, problem)
}

/// Returns the response for requests that are refused before they reach a route.
pub fn refuse<B>(api: &Api, request: Request<B>, problem: Problem) -> Response<AnswerBody>
where
    B: Body<Data = Bytes> + Unpin,
{
    let (parts, mut body) = request.into_parts();
    let refused = finish(Err(problem), &request_id(&api.ids, &parts.headers));
    KeepAlive::of(&parts).finish(refused, &mut body)
}

pub(crate) fn finish(outcome: Result<Answer, Problem>, id: &HeaderValue) -> Response<AnswerBody> {
    let answer = outcome.unwrap_or_else(|problem| {
        // Request ids consist of visible ASCII.
        problem.into_answer(id.to_str().unwrap_or_default())
    });
    answer.finish(id.clone())
}

/// Returns the caller's request id if it is well-formed, or a new one.
pub(crate) fn request_id(ids: &IdMaker, headers: &HeaderMap) -> HeaderValue {
    let plain =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
    if let Some(given) = headers.get(&X_REQUEST_ID) {
        let bytes = given.as_bytes();
        if (1..=128).contains(&bytes.len()) && bytes.iter().all(plain) {
            return given.clone();
        }
    }
    let id: Id<RequestIdKind> = ids.make();
    HeaderValue::from_maybe_shared(Bytes::from(id.to_string()))
        .unwrap_or_else(|_| HeaderValue::from_static("req_unknown"))
}
