//! Renders what differs between a received request and the one that was sent.

use gancho_wire::{Profile, SignatureCheck, SignedPart, SignedParts};
use serde::Serialize;
use utoipa::ToSchema;

use super::pasted_headers::PastedHeaders;

/// Comparison of the signature that a receiver got with what was sent.
#[derive(Debug, Serialize, ToSchema)]
pub struct SignatureReport {
    /// Whether the signature is valid for what was received.
    pub is_valid: bool,
    /// The parts that differ from what was sent: `id`, `timestamp`, `body`, `secret`.
    pub differs: Vec<&'static str>,
    /// The comparison part by part: `id`, `timestamp`, `body` and `secret`.
    pub parts: Vec<SignaturePart>,
}

/// Comparison of one part of a signed request.
#[derive(Debug, Serialize, ToSchema)]
pub struct SignaturePart {
    /// Part that is compared: `id`, `timestamp`, `body` or `secret`.
    pub part: &'static str,
    /// Result of the comparison: `same`, `different`, `assumed` (not given, and taken as it was sent), `unsigned` (the
    /// signature does not cover it) or `unknown`.
    pub state: &'static str,
    /// What differs and what to check, in English; empty if nothing differs.
    pub hint: String,
}

impl SignatureReport {
    /// `was_recorded`: an attempt sent this very signature.
    pub fn new(
        profile: &Profile,
        check: &SignatureCheck,
        received: &PastedHeaders<'_>,
        parts: SignedParts<'_>,
        sent: &[SignedParts<'_>],
        was_recorded: bool,
    ) -> Self {
        let is_signed = |part| profile.signature.scheme.signs().contains(&part);
        let id = part("id", is_signed(SignedPart::Id), received.id.is_some(), || {
            let is_same = sent.iter().any(|sent| sent.id == parts.id);
            (is_same, format!("sent: {}", sent.first().map_or("", |sent| sent.id)))
        });
        let timestamp = part(
            "timestamp",
            is_signed(SignedPart::Timestamp),
            received.timestamp.is_some(),
            || {
                let is_same = sent.iter().any(|sent| sent.timestamp == parts.timestamp);
                let times: Vec<_> = sent.iter().map(|sent| sent.timestamp).collect();
                (is_same, format!("sent: {}", times.join(", ")))
            },
        );
        let sent_body = sent.first().map_or(parts.body, |sent| sent.body);
        let body = part("body", true, true, || {
            (sent_body == parts.body, body_difference(sent_body, parts.body))
        });
        let is_as_sent = [&id, &timestamp, &body].iter().all(|part| part.state != "different");
        let (state, hint) = match check {
            SignatureCheck::Made { .. } => ("same", ""),
            SignatureCheck::OtherKey if was_recorded => (
                "different",
                "the gateway sent this signature; the secret that made it has since been rotated out",
            ),
            SignatureCheck::OtherKey if is_as_sent => (
                "different",
                "none of the webhook's secrets makes this signature; the receiver may use the secret of another webhook, or an old one",
            ),
            SignatureCheck::OtherKey => (
                "unknown",
                "none of the webhook's secrets produces this signature, for either the received or the sent body",
            ),
        };
        let secret = SignaturePart { part: "secret", state, hint: hint.to_owned() };
        let parts = vec![id, timestamp, body, secret];
        let differs = parts.iter().filter(|part| part.state == "different");
        Self {
            is_valid: matches!(check, SignatureCheck::Made { differs } if differs.is_empty()),
            differs: differs.map(|part| part.part).collect(),
            parts,
        }
    }
}

fn part(
    part: &'static str,
    is_signed: bool,
    is_given: bool,
    compare: impl FnOnce() -> (bool, String),
) -> SignaturePart {
    let (state, hint) = match (is_signed, is_given) {
        (false, _) => ("unsigned", String::new()),
        (true, false) => ("assumed", String::new()),
        (true, true) => match compare() {
            (true, _) => ("same", String::new()),
            (false, hint) => ("different", hint),
        },
    };
    SignaturePart { part, state, hint }
}

/// Where two bodies part, and the usual cause.
fn body_difference(sent: &[u8], received: &[u8]) -> String {
    let at = sent.iter().zip(received).take_while(|(one, other)| one == other).count();
    let json = |body| serde_json::from_slice::<serde_json::Value>(body).ok();
    if at == received.len() {
        return format!("it was cut off after {at} of {} bytes", sent.len());
    }
    if at == sent.len() {
        let more = received.len() - sent.len();
        return format!(
            "{more} bytes more than the {at} that were sent; is there a line break at the end?"
        );
    }
    if json(sent).is_some_and(|sent| json(received) == Some(sent)) {
        return format!(
            "the same JSON, written differently from byte {at} on; verify the raw bytes, before parsing them"
        );
    }
    format!(
        "it differs from byte {at} on ({} bytes were sent, {} received)",
        sent.len(),
        received.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_of_another_body_is_named() {
        let sent = br#"{"a":1,"b":2}"#;
        for (received, hint) in [
            (&br#"{"a": 1, "b": 2}"#[..], "the same JSON"),
            (br#"{"a":1"#, "cut off after 6 of 13 bytes"),
            (b"{\"a\":1,\"b\":2}\n", "line break"),
            (br#"{"a":2,"b":2}"#, "differs from byte 5 on"),
        ] {
            let difference = body_difference(sent, received);
            assert!(difference.contains(hint), "{difference}");
        }
    }
}
