//! `POST /webhooks/_simulate`, for this machine alone: signs a test event as the partner would, and
//! receives it.

use bytes::Bytes;
use gancho_domain::AddressBlock;
use gancho_inbound::{Outcome, simulate::SimulateError};
use http::{header, request::Parts};
use hyper::body::Incoming as Body;
use serde_json::{Value, json};

use super::{Ingest, Simulator, front::nothing};
use crate::{
    answer::Answer,
    client_address::is_passed_on,
    codes,
    host::Hosts,
    input::{Field, Kind, body, content, field::Noun},
    listener::Peer,
    problem::Problem,
    show::Json,
};

const FIELDS: &[Field] = &[
    Field::new("partner", Kind::Id(Noun::Source), "For whom the event is made.").required(),
    Field::new("body", Kind::Json, "The body to send; one is made where it is left out."),
];

/// Nobody else learns that the path is there. A name that is not this machine's would be a web page's
/// that was let point here.
pub(super) async fn only_here(ingest: &Ingest, peer: &Peer, parts: &Parts) -> Result<(), Problem> {
    let headers = &parts.headers;
    let is_here = peer.address.ip().to_canonical().is_loopback();
    // Whoever stands before us speaks for others, and may say so.
    if !is_here || is_passed_on(headers) || Hosts::default().check(&parts.uri, headers).is_err() {
        return Err(nothing());
    }
    match &ingest.settings.simulator {
        Simulator::Nobody => Err(nothing()),
        Simulator::Anyone => Ok(()),
        Simulator::Operator(token) => {
            let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
            let Some(given) = given.and_then(|text| text.strip_prefix("Bearer ")) else {
                let detail = "a test event takes the operator's token: send `Authorization: Bearer <token>`, or use `gancho sources simulate`";
                return Err(Problem::new(&codes::UNAUTHENTICATED, detail));
            };
            let address = AddressBlock::from(peer.address.ip());
            ingest.throttle.admit(address, given).await?;
            if !token.matches(given.trim()) {
                ingest.throttle.fail(address);
                return Err(nothing());
            }
            ingest.throttle.succeed(address, given);
            Ok(())
        }
    }
}

pub(super) async fn simulate(
    ingest: &Ingest,
    parts: &Parts,
    given: &mut Body,
) -> Result<Answer, Problem> {
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
            // Whoever may simulate may know why.
            "reason": denied.reason.name(),
            "detail": denied.detail,
        }),
    }
}

fn problem(error: SimulateError) -> Problem {
    match error {
        SimulateError::UnknownPartner => Problem::not_found(Noun::Source),
        SimulateError::NoKey => Problem::new(&codes::CONFLICT, error.to_string()),
        SimulateError::Unusable(why) => Problem::internal(why),
        SimulateError::Store(error) => error.into(),
    }
}
