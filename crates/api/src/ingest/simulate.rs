//! `POST /webhooks/_simulate`, for callers on this machine: signs a test event as the partner would, and
//! receives it.

use std::borrow::Cow;

use bytes::{Bytes, BytesMut};
use gancho_inbound::{Outcome, simulate::SimulateError};
use http::{header, request::Parts};
use hyper::body::Incoming as Body;
use serde_json::{Value, json};

use super::{Ingest, Simulator, service::unknown_path};
use crate::{
    answer::Answer,
    caller::Caller,
    codes,
    host::Hosts,
    input::{body, content, field::ResourceKind, request},
    problem::Problem,
    render::Json,
};

request! {
    struct SimulateBody<'a> {
        /// Name of the partner to simulate.
        required partner: Cow<'a, str> as id(ResourceKind::Source),
        /// Body of the test event. Default: a generated one.
        optional body: &'a str as json(),
    }
}

/// Hides the path from all other callers. A `Host` of another machine would be DNS rebinding.
pub(super) async fn check_caller(
    ingest: &Ingest,
    caller: &Caller,
    parts: &Parts,
) -> Result<(), Problem> {
    let headers = &parts.headers;
    if !caller.is_local || Hosts::default().check(&parts.uri, headers).is_err() {
        return Err(unknown_path());
    }
    match &ingest.settings.simulator {
        Simulator::Nobody => Err(unknown_path()),
        Simulator::Anyone => Ok(()),
        Simulator::Operator(token) => {
            let value = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
            let Some(given) = value.and_then(|text| text.strip_prefix("Bearer ")) else {
                let detail = "authentication required; send `Authorization: Bearer <operator token>`, or use `gancho sources simulate`";
                return Err(Problem::new(&codes::UNAUTHENTICATED, detail));
            };
            let address = caller.address.block;
            ingest.throttle.admit(address, given).await?;
            if !token.matches(given.trim()) {
                ingest.throttle.fail(address);
                return Err(unknown_path());
            }
            ingest.throttle.succeed(address, given);
            Ok(())
        }
    }
}

pub(super) async fn simulate(
    ingest: &Ingest,
    parts: &Parts,
    body: &mut Body,
) -> Result<Answer, Problem> {
    content::check_type(&parts.headers)?;
    let max = ingest.inbound.limits.body_bytes + 1_024;
    content::check_length(&parts.headers, max)?;
    let within = ingest.settings.body_deadline;
    let read = tokio::time::timeout(within, content::collect(BytesMut::new(), body, max)).await;
    let bytes = read.unwrap_or_else(|_| Err(content::timed_out(within)))?;
    let SimulateBody { partner, body } = body::parse(&bytes)?;
    let own = body.map(|text| Bytes::from(text.to_owned()));
    let simulated = ingest.inbound.simulate(&ingest.ring, &partner, own).await.map_err(problem)?;
    let headers: serde_json::Map<String, Value> =
        simulated.headers.into_iter().map(|(name, value)| (name, value.into())).collect();
    Answer::ok(&json!({
        "sent": { "headers": headers, "body": Json::of(&simulated.body) },
        "answer": render(simulated.outcome),
    }))
}

fn render(outcome: Outcome) -> Value {
    match outcome {
        Outcome::Accepted(kept) => json!({
            "status": 204,
            "receipt": kept.receipt.to_string(),
            "is_repeat": kept.is_repeat,
            "policy_sign": kept.policy_sign,
            "clashes_with": kept.clashes_with.map(|first| first.to_string()),
        }),
        Outcome::Reply(reply) => {
            json!({ "status": 200, "body": String::from_utf8_lossy(&reply.body) })
        }
        Outcome::Rejected(denied) => json!({
            "status": denied.status,
            "code": denied.code,
            // Callers who may simulate may see the reason.
            "reason": denied.reason.name(),
            "detail": denied.detail,
        }),
    }
}

fn problem(error: SimulateError) -> Problem {
    match error {
        SimulateError::UnknownPartner => Problem::not_found(ResourceKind::Source),
        SimulateError::NoKey => Problem::new(&codes::CONFLICT, error.to_string()),
        SimulateError::Unusable(why) => Problem::internal(why),
        SimulateError::Store(error) => error.into(),
    }
}
