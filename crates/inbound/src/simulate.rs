//! Sends a test event to the gateway itself: signed with a key and the scheme of the source, and received
//! like any other, but marked as a test.

use bytes::Bytes;
use gancho_domain::{Time, mask::MASK};
use gancho_wire::SignError;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde_json::json;
use thiserror::Error;

use crate::{
    Inbound, Outcome, ReceivedRequest,
    registry::{PreparedKey, PreparedSource, ProofKeys, SourceLookup},
    source::KeyScheme,
    sources::seal,
};

#[derive(Debug, Error)]
pub enum SimulateError {
    #[error("no source exists for this partner: create one first")]
    UnknownPartner,
    #[error(
        "the source has no valid HMAC key: only the partner has the private part of an Ed25519 key; add an HMAC key for tests"
    )]
    NoKey,
    #[error("the source is unusable: {0}")]
    Unusable(String),
    #[error(transparent)]
    Store(#[from] gancho_store::StoreError),
}

/// The simulated request and its outcome.
#[derive(Debug)]
pub struct Simulation {
    /// The headers, masked if they carry a secret.
    pub headers: Vec<(String, String)>,
    /// The body, with secrets masked.
    pub body: Bytes,
    pub outcome: Outcome,
}

impl Inbound {
    /// Sends `body`, or by default one like the example in the documentation.
    pub async fn simulate(
        &self,
        ring: &gancho_vault::KeyRing,
        partner: &str,
        body: Option<Bytes>,
    ) -> Result<Simulation, SimulateError> {
        let source = match self.sources.find(partner).await? {
            SourceLookup::Source(source) => source,
            SourceLookup::Nobody => return Err(SimulateError::UnknownPartner),
            SourceLookup::Unusable(why) => return Err(SimulateError::Unusable(why)),
        };
        let id: gancho_domain::EventId = self.ids.make();
        let id = id.to_string();
        let now = self.clock.now();
        let key = usable_key(&source, now).ok_or(SimulateError::NoKey)?;
        let secret = seal::key_secret(ring, &source.source, &key.key);
        let secret = secret.map_err(SimulateError::Unusable)?;
        // The body to show, without a secret.
        let (body, told) = match body {
            Some(own) => (own.clone(), own),
            None => (example(&source, &id, &secret), example(&source, &id, MASK)),
        };
        let lines = sign(&source, key, &secret, now, &id, &body)?;
        let headers = header_map(&lines).map_err(SimulateError::Unusable)?;
        let request =
            ReceivedRequest { is_test: true, ..ReceivedRequest::post(partner, headers, body) };
        let outcome = self.receive(&request).await;
        // A token is the secret itself; a signature is not.
        let shown = matches!(source.proving, ProofKeys::Signature { .. });
        let headers = if shown { lines } else { Vec::new() };
        Ok(Simulation { headers, body: told, outcome })
    }
}

fn usable_key(source: &PreparedSource, now: Time) -> Option<&PreparedKey> {
    let fits = |key: &&PreparedKey| key.key.scheme == KeyScheme::Hmac && key.key.is_valid_at(now);
    source.keys.iter().find(fits)
}

fn example(source: &PreparedSource, id: &str, secret: &str) -> Bytes {
    let body = match source.proving {
        ProofKeys::ClientState { .. } => {
            json!({ "value": [{ "clientState": secret, "changeType": "created", "resource": id }] })
        }
        _ => json!({ "event": "ping", "event_id": id, "id": id, "type": "ping" }),
    };
    body.to_string().into()
}

fn sign(
    source: &PreparedSource,
    key: &PreparedKey,
    secret: &str,
    now: Time,
    id: &str,
    body: &[u8],
) -> Result<Vec<(String, String)>, SimulateError> {
    match (&source.proving, source.preset.signed()) {
        (ProofKeys::Signature { recipe, .. }, Some(preset)) => {
            let signing = preset.hmac_signing_key(secret, seal::encoding(&key.key));
            let signing = signing.map_err(|error| SimulateError::Unusable(error.to_string()))?;
            recipe
                .sign(&signing, &key.key.key_id, now, id, body)
                .map_err(|error: SignError| SimulateError::Unusable(error.to_string()))
        }
        (ProofKeys::HeaderToken { header, .. }, _) => Ok(vec![(header.clone(), secret.to_owned())]),
        _ => Ok(Vec::new()),
    }
}

fn header_map(lines: &[(String, String)]) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in lines {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| error.to_string())?;
        let value = HeaderValue::from_str(value).map_err(|error| error.to_string())?;
        headers.insert(name, value);
    }
    Ok(headers)
}
