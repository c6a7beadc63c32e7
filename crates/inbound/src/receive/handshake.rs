//! Handshakes: before a sender sends anything, it asks a question that only the right receiver can answer.
//! Nothing of it is stored.

use bytes::Bytes;
use gancho_domain::Time;
use gancho_wire::VerifyError;
use serde::Deserialize;
use serde_json::json;

use crate::{
    ReceivedRequest, RequestMethod,
    outcome::{Reason, ReceiveError, Reply},
    preset::Handshake,
    receive::verify::{RequestVerifier, VerifiedMessage},
    registry::PreparedSource,
};

/// Maximum length of a response.
const MAX_LENGTH: usize = 2_048;
const PLAIN: &str = "text/plain; charset=utf-8";

/// Answers Microsoft's handshake with its `validationToken`. Every partner name gets the answer, known or
/// not, so that it does not reveal which partners use Microsoft. A request without a body can be nothing
/// else.
pub fn for_anyone(request: &ReceivedRequest) -> Option<Reply> {
    if request.verb != RequestMethod::Post || !request.body.is_empty() {
        return None;
    }
    echo(&request.parameter("validationToken")?)
}

/// Answers an unsigned handshake. `None` if it is not one.
pub fn unsigned(
    source: &PreparedSource,
    request: &ReceivedRequest,
) -> Option<Result<Reply, ReceiveError>> {
    match (source.preset.handshake(), request.verb) {
        (Handshake::VerifyToken, RequestMethod::Get) => Some(verify_token(source, request)),
        _ => None,
    }
}

/// Answers a signed handshake. `None` if it is not one.
pub async fn signed(
    verifier: &RequestVerifier,
    message: &VerifiedMessage<'_>,
    request: &ReceivedRequest,
    now: Time,
) -> Option<Result<Reply, ReceiveError>> {
    match message.source.preset.handshake() {
        Handshake::UrlVerification => url_verification(&request.body).map(Ok),
        Handshake::Subscription => verifier.answer_subscription(message, now).await,
        Handshake::VerifyToken | Handshake::Nothing => None,
    }
}

/// Answers `{"type":"url_verification","challenge":…}` with the challenge.
fn url_verification(body: &[u8]) -> Option<Reply> {
    #[derive(Deserialize)]
    struct Challenge {
        r#type: String,
        challenge: String,
    }
    let challenge: Challenge = serde_json::from_slice(body).ok()?;
    if challenge.r#type != "url_verification" || challenge.challenge.len() > MAX_LENGTH {
        return None;
    }
    let body = json!({ "challenge": challenge.challenge }).to_string();
    Some(Reply { content_type: "application/json", body: body.into() })
}

/// Answers a GET with `hub.challenge`, if the caller knows the verify token.
fn verify_token(source: &PreparedSource, request: &ReceivedRequest) -> Result<Reply, ReceiveError> {
    const NAME: &str = "verify-token";
    let refused = || ReceiveError::unproven(Reason::Handshake);
    let token = request.parameter("hub.verify_token").ok_or_else(refused)?;
    let known = source.verify_token.as_ref().ok_or(VerifyError::NoMatch);
    let verified = known.and_then(|known| known.verify(&[(NAME, token.as_bytes())], NAME));
    if verified.is_err() || request.parameter("hub.mode").as_deref() != Some("subscribe") {
        return Err(refused());
    }
    let challenge = request.parameter("hub.challenge").ok_or_else(refused)?;
    Some(challenge)
        .filter(|_| source.source.is_active)
        .and_then(|text| echo(&text))
        .ok_or_else(refused)
}

/// Replies with plain text, so that no browser renders it as a page.
fn echo(text: &str) -> Option<Reply> {
    let fits = !text.is_empty() && text.len() <= MAX_LENGTH && !text.chars().any(char::is_control);
    fits.then(|| Reply { content_type: PLAIN, body: Bytes::from(text.to_owned()) })
}
