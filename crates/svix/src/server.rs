//! Handles a request: find its call → authenticate → read the body → run it → respond.
//!
//! **Invariant.** No body is read before its caller is authenticated.

use std::sync::Arc;

use axum::{Router, body::Body, extract::Request, routing::any};
use gancho_domain::{AddressBlock, Clock, IdMaker};
use http::{HeaderValue, Method, Response, StatusCode, header};
use percent_encoding::percent_decode_str;

use crate::{
    backend::Backend,
    calls::{self, Support, SvixCall},
    idempotency,
    record_rates::RecordRates,
    svix_error::SvixError,
    visit::{Reply, Visit},
};

pub struct Setup {
    pub backend: Arc<dyn Backend>,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<IdMaker>,
    /// Maximum size of a body.
    pub body_bytes: usize,
}

pub struct SvixApi {
    pub backend: Arc<dyn Backend>,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<IdMaker>,
    pub record_rates: RecordRates,
    body_bytes: usize,
}

/// Routes everything below `/api/v1` and `/ingest/api/v1`.
pub fn router(setup: Setup) -> Router {
    let svix = Arc::new(SvixApi {
        backend: setup.backend,
        clock: setup.clock,
        ids: setup.ids,
        record_rates: RecordRates::default(),
        body_bytes: setup.body_bytes,
    });
    let answer = move |request: Request| {
        let svix = svix.clone();
        async move { respond(svix, request).await }
    };
    Router::new()
        .route("/api/v1/{*path}", any(answer.clone()))
        .route("/ingest/api/v1/{*path}", any(answer))
}

async fn respond(svix: Arc<SvixApi>, request: Request) -> Response<Body> {
    let response = match answer(svix, request).await {
        Ok(reply) => {
            let mut response = Response::new(reply.body);
            *response.status_mut() = reply.status;
            if reply.status != StatusCode::NO_CONTENT {
                let json = HeaderValue::from_static("application/json");
                response.headers_mut().insert(header::CONTENT_TYPE, json);
            }
            response
        }
        Err(error) => error.into_response(),
    };
    let mut response = response.map(Body::from);
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

async fn answer(svix: Arc<SvixApi>, request: Request) -> Result<Reply, SvixError> {
    let (parts, body) = request.into_parts();
    let (call, path) = find(&parts.method, parts.uri.path())?;
    if call.is_public() {
        return Ok(Reply::no_content());
    }
    let identified = svix.backend.identify(&parts).await;
    let caller = identified.map_err(|refused| SvixError::of_problem(&refused, &[]))?;
    let run = match &call.support {
        Support::Same(run) | Support::Differs(run, _) => *run,
        Support::Unsupported(why) => return Err(SvixError::unsupported(why)),
    };
    let begun = svix.backend.begin_request(&caller, &parts, body, svix.body_bytes).await;
    let (body, guard) = begun.map_err(|refused| SvixError::of_problem(&refused, &[]))?;
    let address = parts.extensions.get::<AddressBlock>().copied();
    let visit = Visit {
        svix: svix.clone(),
        caller,
        path,
        query: parts.uri.query().map(ToOwned::to_owned),
        headers: parts.headers,
        body,
        address,
        guard,
    };
    if parts.method != Method::POST || call.keeps_keys() {
        return run(visit).await;
    }
    idempotency::run_once(visit, &parts.uri.to_string(), run).await
}

/// The parameters of a path, by their names.
type PathParameters = Vec<(&'static str, String)>;

/// Finds the call for a path, with the parameters of the path.
fn find(method: &Method, path: &str) -> Result<(&'static SvixCall, PathParameters), SvixError> {
    let unknown = || {
        let detail = "Svix has no call at this path, or the gateway does not know it";
        SvixError::new(StatusCode::NOT_FOUND, "not_found", detail)
    };
    let mut segments = Vec::new();
    for part in path.trim_end_matches('/').split('/').skip(1) {
        let text = percent_decode_str(part).decode_utf8().map_err(|_| unknown())?;
        segments.push(text.into_owned());
    }
    let mut is_known = false;
    for call in calls::all() {
        let Some(parameters) = call.matches(&segments) else { continue };
        is_known = true;
        // GET calls answer HEAD; hyper drops the body.
        let name = if *method == Method::HEAD { "GET" } else { method.as_str() };
        if call.method == name {
            return Ok((call, parameters));
        }
    }
    if is_known {
        let detail = "method not allowed";
        let status = StatusCode::METHOD_NOT_ALLOWED;
        return Err(SvixError::new(status, "method_not_allowed", detail));
    }
    Err(unknown())
}
