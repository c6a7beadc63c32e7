//! The tower service of the ingest listener: routes requests to its few paths.

use std::{
    convert::Infallible,
    future::Future,
    panic::AssertUnwindSafe,
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::FutureExt;
use gancho_egress::hops;
use gancho_inbound::Partner;
use http::{Method, Request, Response, request::Parts};
use hyper::body::Incoming;
use serde_json::json;
use tower::Service;

use super::{Ingest, receive, simulate};
use crate::{
    answer::{Answer, AnswerBody},
    caller::Caller,
    codes, docs,
    keep_alive::KeepAlive,
    listener::Peer,
    problem::Problem,
    serve,
};

#[derive(Clone)]
pub struct IngestService {
    ingest: Ingest,
    peer: Peer,
}

impl IngestService {
    pub fn new(ingest: Ingest, peer: Peer) -> Self {
        Self { ingest, peer }
    }
}

impl Service<Request<Incoming>> for IngestService {
    type Response = Response<AnswerBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let Self { ingest, peer } = self.clone();
        Box::pin(async move {
            let answering = peer.connection.answer();
            let id = serve::request_id(&ingest.ids, request.headers());
            let (parts, mut body) = request.into_parts();
            let caller = Caller::new(&peer, &parts.headers);
            let keep_alive = KeepAlive::of(&parts);
            let work = AssertUnwindSafe(answer(&ingest, &caller, parts, &mut body)).catch_unwind();
            let outcome =
                work.await.unwrap_or_else(|_| Err(Problem::internal("ingest handler panicked")));
            let response = keep_alive.finish(serve::finish(outcome, &id), &mut body);
            let address = Some(caller.address.block);
            ingest.refusal_limiter.delay(Some(answering), address, response.status()).await;
            Ok(response)
        })
    }
}

/// The path of the error pages.
const ERRORS: &str = "/docs/errors/";

/// Answers a request. A partner's name has one spelling, so the path is compared as it is: encoded characters
/// or further segments are not accepted.
async fn answer(
    ingest: &Ingest,
    caller: &Caller,
    parts: Parts,
    body: &mut Incoming,
) -> Result<Answer, Problem> {
    let method = parts.method.clone();
    match parts.uri.path() {
        "/webhooks/_health" => {
            allow_methods(&method, &[Method::GET, Method::HEAD])?;
            Answer::ok(&json!({ "ok": true }))
        }
        "/.well-known/jwks.json" => {
            allow_methods(&method, &[Method::GET, Method::HEAD])?;
            Answer::ok(&ingest.inbound.keys.jwks())
        }
        "/webhooks/_simulate" => {
            simulate::check_caller(ingest, caller, &parts).await?;
            allow_methods(&method, &[Method::POST])?;
            simulate::simulate(ingest, &parts, body).await
        }
        path if path.starts_with(ERRORS) => {
            allow_methods(&method, &[Method::GET, Method::HEAD])?;
            docs::standalone_error_page(&path[ERRORS.len()..]).ok_or_else(unknown_path)
        }
        path => match path.strip_prefix("/webhooks/").filter(|name| Partner::fits(name)) {
            Some(partner) => {
                allow_methods(&method, &[Method::POST, Method::GET])?;
                // A delivery to an endpoint may be received once; a dispatched receipt may not be received
                // again.
                if ingest.inbound.sources.hops().of(&parts.headers) > hops::OF_EVENT {
                    return Err(Problem::loop_detected());
                }
                let partner = partner.to_owned();
                receive::receive(ingest, caller, partner, parts, body).await
            }
            None => Err(unknown_path()),
        },
    }
}

pub(super) fn unknown_path() -> Problem {
    let detail = "the gateway serves nothing at this path; send webhooks to `/webhooks/{partner}`";
    Problem::new(&codes::NO_ROUTE, detail)
}

fn allow_methods(method: &Method, known: &[Method]) -> Result<(), Problem> {
    if known.contains(method) {
        return Ok(());
    }
    let names: Vec<_> = known.iter().map(Method::as_str).collect();
    Err(Problem::method_not_allowed(&names))
}
