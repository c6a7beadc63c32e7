//! `POST /webhooks/{partner}`: the request to the flow, and its outcome as an answer.

use gancho_inbound::{Incoming, Outcome, Verb, policy_sign};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header};
use hyper::body::Incoming as Body;
use tokio::sync::SemaphorePermit;

use super::Ingest;
use crate::{answer::Answer, codes, input::content, problem::Problem};

const X_POLICY_SIGN: HeaderName = HeaderName::from_static(policy_sign::HEADER);

pub(super) async fn receive(
    ingest: &Ingest,
    partner: String,
    request: Request<Body>,
) -> Result<Answer, Problem> {
    let (parts, body) = request.into_parts();
    let most = ingest.inbound.limits.body_bytes;
    let verb = if parts.method == Method::GET { Verb::Get } else { Verb::Post };
    let query = parts.uri.query().map(str::to_owned);
    let _room = ingest.room_for(&parts.headers, most)?;
    let read = content::read(&parts.headers, body, most, ingest.settings.body_deadline).await;
    let body = read.inspect_err(|problem| {
        if *problem.code() == codes::TOO_LARGE {
            ingest.inbound.refused_unread();
        }
    })?;
    let headers = parts.headers;
    let incoming = Incoming { verb, partner, query, headers, body, is_test: false };
    answer(ingest.inbound.receive(&incoming).await)
}

impl Ingest {
    /// Room for a body of the length that is announced, or of the longest.
    fn room_for(&self, headers: &HeaderMap, most: usize) -> Result<SemaphorePermit<'_>, Problem> {
        let announced = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        let announced = announced.and_then(|text| text.parse::<usize>().ok());
        let bytes = announced.unwrap_or(most).min(most);
        self.room.try_acquire_many(bytes.div_ceil(1024) as u32).map_err(|_| {
            let detail = "too many webhooks are being read: send it again in a moment";
            Problem::new(&codes::UNAVAILABLE, detail)
                .with(header::RETRY_AFTER, HeaderValue::from_static("1"))
        })
    }
}

fn answer(outcome: Outcome) -> Result<Answer, Problem> {
    match outcome {
        Outcome::Kept(kept) => {
            let sign = HeaderValue::from_str(&kept.policy_sign).map_err(Problem::internal)?;
            Ok(Answer::nothing().with(X_POLICY_SIGN, sign))
        }
        Outcome::Clash { .. } => Ok(Answer::nothing()),
        Outcome::Reply(reply) if reply.body.is_empty() => Ok(Answer::nothing()),
        Outcome::Reply(reply) => {
            let media_type = HeaderValue::from_static(reply.content_type);
            Ok(Answer::of(StatusCode::OK, media_type, reply.body))
        }
        Outcome::Denied(denied) => Err(denied.into()),
    }
}
