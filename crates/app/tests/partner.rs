//! A partner that shares no code with the gateway's listener: signs its webhooks, and posts them until they
//! are accepted.

use std::net::SocketAddr;

use gancho_domain::{Clock, SystemClock};
use gancho_testkit::until;
use gancho_wire::{Preset, SecretEncoding};

use crate::http::{self, Answer};

pub const SECRET: &str = "the secret of acme";

/// Returns the headers of a signed body.
pub fn signed(body: &str) -> Vec<(String, String)> {
    let key = Preset::Partner.hmac_signing_key(SECRET, SecretEncoding::Raw).unwrap();
    let recipe = Preset::Partner.recipe().unwrap();
    recipe.sign(&key, "k1", SystemClock.now(), "", body.as_bytes()).unwrap()
}

/// Posts it; `None` if there is no response.
pub fn try_post(ingest: SocketAddr, body: &str) -> Option<Answer> {
    let headers = signed(body);
    let headers: Vec<(&str, &str)> =
        headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    http::try_call(ingest, "POST", "/webhooks/acme", &headers, body)
}

pub fn post(ingest: SocketAddr, body: &str) -> Answer {
    try_post(ingest, body).expect("an answer")
}

/// Posts as partners do: again, until the response is 204.
pub fn insist(mut ingest: impl FnMut() -> SocketAddr, body: &str) {
    let is_taken = || try_post(ingest(), body).is_some_and(|answer| answer.status == 204);
    until("a partner's webhook is taken", is_taken);
}
