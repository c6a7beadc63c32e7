//! `POST /webhooks/{partner}`: passes the request to the flow, and turns the outcome into a response.

use gancho_inbound::{Outcome, ReceivedRequest, RequestMethod, receive::policy_sign};
use http::{HeaderName, HeaderValue, Method, StatusCode, request::Parts};
use hyper::body::Incoming as Body;

use super::Ingest;
use crate::{answer::Answer, caller::Caller, codes, problem::Problem};

const X_POLICY_SIGN: HeaderName = HeaderName::from_static(policy_sign::HEADER);

pub(super) async fn receive(
    ingest: &Ingest,
    caller: &Caller,
    partner: String,
    parts: Parts,
    body: &mut Body,
) -> Result<Answer, Problem> {
    let verb = if parts.method == Method::GET { RequestMethod::Get } else { RequestMethod::Post };
    let query = parts.uri.query().map(str::to_owned);
    let read = ingest.read(caller, &partner, &parts.headers, body).await;
    let (body, held) = read.inspect_err(|problem| {
        if *problem.code() == codes::TOO_LARGE {
            ingest.inbound.refused_unread();
        }
    })?;
    let headers = parts.headers;
    let incoming = ReceivedRequest { verb, partner, query, headers, body, is_test: false };
    // A partner whose webhooks fill its share of the memory is refused, once it is known to be the sender.
    let admit = || held.claim(&incoming.partner);
    let outcome = ingest.inbound.receive_if(&incoming, &admit).await;
    if matches!(outcome, Outcome::Accepted(_)) {
        caller.connection.mark_authenticated();
        ingest.verified_addresses.insert(&caller.address);
    }
    answer(outcome)
}

fn answer(outcome: Outcome) -> Result<Answer, Problem> {
    match outcome {
        Outcome::Accepted(kept) => {
            let sign = HeaderValue::from_str(&kept.policy_sign).map_err(Problem::internal)?;
            Ok(Answer::no_content().with(X_POLICY_SIGN, sign))
        }
        Outcome::Reply(reply) if reply.body.is_empty() => Ok(Answer::no_content()),
        Outcome::Reply(reply) => {
            let media_type = HeaderValue::from_static(reply.content_type);
            Ok(Answer::of(StatusCode::OK, media_type, reply.body))
        }
        Outcome::Rejected(denied) => Err(denied.into()),
    }
}
