//! The identity of a message, for deduplication: the partner's event id if it is authenticated, otherwise the
//! hash of the signed bytes.

use aws_lc_rs::digest::{Context, SHA256};
use data_encoding::HEXLOWER;
use gancho_wire::strict_json;

use crate::{Partner, receive::verify::VerifiedMessage};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The partner's event id.
    pub event_id: Option<String>,
    /// SHA-256 of the partner and the identity of the message.
    pub key: [u8; 32],
    pub body_sha256: [u8; 32],
}

impl Identity {
    /// Returns the key of a body whose event id was already used with a different body: both identify it.
    pub fn clash_key(key: &[u8; 32], body_sha256: &[u8; 32]) -> [u8; 32] {
        sha256(&[b"clash\0", key, body_sha256])
    }

    /// Returns the identity of a body that does not match the schema: its bytes alone. After a correction of
    /// the body or the schema, the event is a new one, not a duplicate of the rejected one.
    pub fn of_misfit(self) -> Self {
        let key = sha256(&[b"misfit\0", &self.key, &self.body_sha256]);
        Self { key, ..self }
    }
}

const MAX_ID_BYTES: usize = 256;

/// Returns the event id in a JSON value: a string or a number, as text. `None` for other values, and for text
/// that is empty, too long, or has control characters.
pub fn event_id(value: &str) -> Option<String> {
    let text = match value.as_bytes().first()? {
        b'-' | b'0'..=b'9' => value.into(),
        _ => strict_json::string(value)?,
    };
    let fits = (1..=MAX_ID_BYTES).contains(&text.len()) && !text.chars().any(char::is_control);
    fits.then(|| text.into_owned())
}

/// Identifies a message. `in_body` is the value at the source's event-id pointer.
pub fn identify(
    message: &VerifiedMessage<'_>,
    in_body: Option<String>,
    topic: Option<&str>,
    body: &[u8],
) -> Identity {
    let body_sha256 = sha256(&[body]);
    // A signed message id takes precedence: it is the sender's own identifier.
    let event_id = message.message_id().map(str::to_owned).or(in_body);
    let partner = &message.source.source.partner;
    let key = if let Some(id) = &event_id {
        key_of(partner, b"id", id.as_bytes())
    } else {
        // With a token nothing is signed, so only the body is left.
        let base = message.base_sha256().map(String::into_bytes);
        let mut base = base.unwrap_or_else(|| body_sha256.to_vec());
        let topic = message.source.preset.telling_topic(topic);
        base.extend_from_slice(topic.unwrap_or_default().as_bytes());
        key_of(partner, b"base", &base)
    };
    Identity { event_id, key, body_sha256 }
}

/// Returns the hash of a body as in a ledger line.
pub fn body_sha256(body: &[u8]) -> String {
    HEXLOWER.encode(&sha256(&[body]))
}

fn key_of(partner: &Partner, kind: &[u8], what: &[u8]) -> [u8; 32] {
    sha256(&[b"receipt\0", partner.as_str().as_bytes(), b"\0", kind, b"\0", what])
}

fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(part);
    }
    let mut bytes = [0; 32];
    bytes.copy_from_slice(context.finish().as_ref());
    bytes
}

#[cfg(test)]
mod tests {
    use super::event_id;

    #[test]
    fn ids_are_strings_or_numbers_of_some_length() {
        for (value, id) in [
            (r#""e_1""#, Some("e_1")),
            (r#""\u0065_1""#, Some("e_1")),
            ("12", Some("12")),
            ("12.0", Some("12.0")),
            (r#""""#, None),
            (r#""a\nb""#, None),
            (r#""\ud800""#, None),
            ("true", None),
            ("null", None),
            ("{}", None),
            ("[]", None),
        ] {
            assert_eq!(event_id(value).as_deref(), id, "{value}");
        }
        assert_eq!(event_id(&format!("\"{}\"", "a".repeat(257))), None);
    }
}
