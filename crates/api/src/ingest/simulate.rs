//! `POST /webhooks/_simulate`, for this machine alone: signs a test event as the partner would, and
//! receives it.

use std::net::SocketAddr;

use bytes::Bytes;
use gancho_inbound::{Outcome, simulate::NotSimulated};
use http::{HeaderMap, Request, Uri, header};
use hyper::body::Incoming as Body;
use serde_json::{Value, json};

use super::{Ingest, Simulator, front::nothing};
use crate::{
    answer::Answer,
    codes,
    host::Hosts,
    input::{Field, Kind, body, content, field::Noun},
    problem::Problem,
    show::Json,
};

const FIELDS: &[Field] = &[
    Field::new("partner", Kind::Id(Noun::Source), "For whom the event is made.").required(),
    Field::new("body", Kind::Json, "The body to send; one is made where it is left out."),
];

/// Nobody else learns that the path is there. A name that is not this machine's would be a web page's
/// that was let point here.
pub(super) fn only_here(
    ingest: &Ingest,
    peer: SocketAddr,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<(), Problem> {
    let is_here = peer.ip().to_canonical().is_loopback();
    // Whoever stands before us speaks for others, and may say so.
    let is_passed_on = PASSED_ON.iter().any(|name| headers.contains_key(*name));
    if !is_here || is_passed_on || Hosts::default().check(uri, headers).is_err() {
        return Err(nothing());
    }
    match &ingest.settings.simulator {
        Simulator::Nobody => Err(nothing()),
        Simulator::Anyone => Ok(()),
        Simulator::Operator(token) => {
            let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
            match given.and_then(|text| text.strip_prefix("Bearer ")) {
                Some(given) if token.matches(given.trim()) => Ok(()),
                Some(_) => Err(nothing()),
                None => {
                    let detail = "a test event takes the operator's token: send `Authorization: Bearer <token>`, or use `gancho sources simulate`";
                    Err(Problem::new(&codes::UNAUTHENTICATED, detail))
                }
            }
        }
    }
}

const PASSED_ON: [&str; 6] =
    ["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "forwarded", "via", "x-real-ip"];

pub(super) async fn simulate(ingest: &Ingest, request: Request<Body>) -> Result<Answer, Problem> {
    let (parts, given) = request.into_parts();
    content::check_type(&parts.headers)?;
    let most = ingest.inbound.limits.body_bytes + 1_024;
    let given = content::read(&parts.headers, given, most, ingest.settings.body_deadline).await?;
    let values = body::read(FIELDS, &given)?;
    let partner = values.text("partner").unwrap_or_default();
    let own = values.json("body").map(|text| Bytes::from(text.to_owned()));
    let simulated = ingest.inbound.simulate(&ingest.ring, partner, own).await.map_err(problem)?;
    let headers: serde_json::Map<String, Value> =
        simulated.headers.into_iter().map(|(name, value)| (name, value.into())).collect();
    Answer::ok(&json!({
        "sent": { "headers": headers, "body": Json::of(&simulated.body) },
        "answer": shown(simulated.outcome),
    }))
}

fn shown(outcome: Outcome) -> Value {
    match outcome {
        Outcome::Kept(kept) => json!({
            "status": 204,
            "receipt": kept.receipt.to_string(),
            "is_repeat": kept.is_repeat,
            "policy_sign": kept.policy_sign,
        }),
        Outcome::Clash { first } => json!({ "status": 204, "clashes_with": first.to_string() }),
        Outcome::Reply(reply) => {
            json!({ "status": 200, "body": String::from_utf8_lossy(&reply.body) })
        }
        Outcome::Denied(denied) => json!({
            "status": denied.status,
            "code": denied.code,
            // Whoever may simulate may know why.
            "reason": denied.reason.name(),
            "detail": denied.detail,
        }),
    }
}

fn problem(error: NotSimulated) -> Problem {
    match error {
        NotSimulated::UnknownPartner => Problem::not_found(Noun::Source),
        NotSimulated::NoKey => Problem::new(&codes::CONFLICT, error.to_string()),
        NotSimulated::Unusable(why) => Problem::internal(why),
        NotSimulated::Store(error) => error.into(),
    }
}
