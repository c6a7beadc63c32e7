//! The headers of one attempt, including the signature.
//!
//! This runs for every attempt of every delivery. Keys are prepared beforehand, the body is read once per
//! key, and nothing is copied but the few bytes of the headers (Ed25519 needs the signed text in one piece,
//! so it copies the body).

use data_encoding::{BASE64, HEXLOWER};
use gancho_domain::Time;

use crate::{
    HeaderValue, Profile, Scheme, SigningKey, headers::is_message_id, profile_check::is_printable,
};

/// The metadata of an attempt.
#[derive(Debug, Clone, Copy)]
pub struct AttemptMetadata<'a> {
    pub event_id: &'a str,
    pub endpoint_id: &'a str,
    pub event_type: &'a str,
    /// The time of this attempt. A retry has a new time and the same id.
    pub at: Time,
    /// 0 on the first attempt.
    pub retry: u32,
}

/// A stored delivery causes none of these errors; they keep mistakes elsewhere off the wire.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    #[error("no signing key")]
    NoKey,
    #[error("the scheme of the header `{0}` does not support Ed25519 keys")]
    KeyDoesNotFit(String),
    #[error("the event id cannot be signed: use A-Z, a-z, 0-9, `_` and `-` only")]
    EventId,
    #[error("the value of the header `{0}` is not printable ASCII")]
    Unprintable(String),
}

/// Returns all headers of the profile for this attempt, except content type and user agent.
///
/// `keys` are those that sign now, newest first; during a rotation there are two. Schemes with room for one
/// signature use the first.
pub fn sign<'p>(
    profile: &'p Profile,
    sending: &AttemptMetadata<'_>,
    body: &[u8],
    keys: &[SigningKey],
) -> Result<Vec<(&'p str, String)>, SignError> {
    let mut headers = Vec::with_capacity(profile.headers.len() + 1);
    for line in &profile.headers {
        let value = sending.value(line.value);
        if !value.bytes().all(is_printable) {
            return Err(SignError::Unprintable(line.name.clone()));
        }
        headers.push((line.name.as_str(), value));
    }
    headers.push((profile.signature.header.as_str(), signature(profile, sending, body, keys)?));
    Ok(headers)
}

fn signature(
    profile: &Profile,
    sending: &AttemptMetadata<'_>,
    body: &[u8],
    keys: &[SigningKey],
) -> Result<String, SignError> {
    let first = keys.first().ok_or(SignError::NoKey)?;
    let scheme = profile.signature.scheme;
    if scheme == Scheme::Standard {
        return standard(sending, body, keys);
    }
    if !keys.iter().all(SigningKey::is_hmac) {
        return Err(SignError::KeyDoesNotFit(profile.signature.header.clone()));
    }
    Ok(match scheme {
        Scheme::TimedSeconds => timed(&sending.at.secs().to_string(), body, keys),
        Scheme::TimedMillis => timed(&sending.at.millis().to_string(), body, keys),
        Scheme::Sha256 | Scheme::Hex | Scheme::V0 | Scheme::Standard => {
            let mut text = String::with_capacity(72);
            text.push_str(scheme.body_prefix().unwrap_or_default());
            HEXLOWER.encode_append(first.tag(&[body]).as_ref(), &mut text);
            text
        }
    })
}

fn standard(
    sending: &AttemptMetadata<'_>,
    body: &[u8],
    keys: &[SigningKey],
) -> Result<String, SignError> {
    // With a `.` in the id, the text could be split into id, time and body in another way.
    if !is_message_id(sending.event_id.as_bytes()) {
        return Err(SignError::EventId);
    }
    let time = sending.at.secs().to_string();
    let base = [sending.event_id.as_bytes(), b".", time.as_bytes(), b".", body];
    let mut text = String::with_capacity(48 * keys.len());
    for key in keys {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(if key.is_hmac() { "v1," } else { "v1a," });
        BASE64.encode_append(key.tag(&base).as_ref(), &mut text);
    }
    Ok(text)
}

fn timed(time: &str, body: &[u8], keys: &[SigningKey]) -> String {
    let mut text = String::with_capacity(16 + 68 * keys.len());
    text.push_str("t=");
    text.push_str(time);
    for key in keys {
        text.push_str(",v1=");
        HEXLOWER.encode_append(key.tag(&[time.as_bytes(), b".", body]).as_ref(), &mut text);
    }
    text
}

/// Returns the `X-Signature` of a partner's request, as `_simulate` and partners compute it. `timestamp` is
/// the text of `X-Timestamp`, as it is sent.
pub fn sign_as_partner(key: &SigningKey, timestamp: &str, body: &[u8]) -> String {
    let mut text = String::from(if key.is_hmac() { "hmac-sha256=" } else { "ed25519=" });
    let tag = key.tag(&[timestamp.as_bytes(), b".", body]);
    BASE64.encode_append(tag.as_ref(), &mut text);
    text
}

impl AttemptMetadata<'_> {
    fn value(&self, kind: HeaderValue) -> String {
        match kind {
            HeaderValue::EventId => self.event_id.to_owned(),
            HeaderValue::EndpointId => self.endpoint_id.to_owned(),
            HeaderValue::EventType => self.event_type.to_owned(),
            HeaderValue::TimeSeconds => self.at.secs().to_string(),
            HeaderValue::TimeMillis => self.at.millis().to_string(),
            HeaderValue::RetryCount => self.retry.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SecretEncoding;

    const SENDING: AttemptMetadata<'_> = AttemptMetadata {
        event_id: "evt_1",
        endpoint_id: "wh_1",
        event_type: "user.created",
        at: Time::from_millis(1_706_012_345_678),
        retry: 2,
    };

    fn keys(profile: &Profile, secrets: &[&str]) -> Vec<SigningKey> {
        secrets.iter().map(|s| SigningKey::for_profile(profile, s).unwrap()).collect()
    }

    fn names_and_plain_values(profile: &Profile) -> Vec<(&str, String)> {
        let keys = keys(profile, &["a secret of some length"]);
        let mut headers = sign(profile, &SENDING, b"{}", &keys).unwrap();
        headers.pop();
        headers
    }

    #[test]
    fn each_profile_sends_its_headers() {
        let value = |v: &str| v.to_owned();
        assert_eq!(
            names_and_plain_values(&Profile::standard()),
            [("webhook-id", value("evt_1")), ("webhook-timestamp", value("1706012345"))]
        );
        assert_eq!(
            names_and_plain_values(&Profile::email_gateway()),
            [
                ("X-Event-Id", value("evt_1")),
                ("X-Retry-Count", value("2")),
                ("X-Sent-At", value("1706012345678")),
            ]
        );
        assert_eq!(
            names_and_plain_values(&Profile::auracore()),
            [("X-Webhook-ID", value("evt_1")), ("X-Webhook-Timestamp", value("1706012345"))]
        );
        assert_eq!(
            names_and_plain_values(&Profile::saas()),
            [
                ("X-Webhook-Id", value("wh_1")),
                ("X-Webhook-Event", value("user.created")),
                ("X-Webhook-Timestamp", value("1706012345678")),
            ]
        );
    }

    #[test]
    fn rotation_carries_both_where_there_is_room() {
        for profile in Profile::built_in() {
            let both = keys(&profile, &["the new secret, first", "the old secret, second"]);
            let with = |keys: &[SigningKey]| {
                sign(&profile, &SENDING, b"{}", keys).unwrap().pop().unwrap().1
            };
            let (new, old) = (with(&both[..1]), with(&both[1..]));
            let expected = match profile.signature.scheme {
                Scheme::Standard => format!("{new} {old}"),
                Scheme::Sha256 | Scheme::Hex | Scheme::V0 => new,
                Scheme::TimedSeconds | Scheme::TimedMillis => {
                    format!("{new},{}", old.split_once(',').unwrap().1)
                }
            };
            assert_eq!(with(&both), expected, "{}", profile.name);
        }
    }

    #[test]
    fn mistakes_stay_off_the_wire() {
        let (standard, saas) = (Profile::standard(), Profile::saas());
        let hmac = [SigningKey::hmac("a secret of some length", SecretEncoding::Raw).unwrap()];
        let pair = crate::new_key_pair().unwrap();
        let ed25519 = [SigningKey::ed25519(&pair.private_key).unwrap()];

        assert_eq!(sign(&standard, &SENDING, b"", &[]), Err(SignError::NoKey));
        let error = sign(&saas, &SENDING, b"", &ed25519);
        assert_eq!(error, Err(SignError::KeyDoesNotFit("X-Webhook-Signature".to_owned())));
        let dotted = AttemptMetadata { event_id: "a.1", ..SENDING };
        assert_eq!(sign(&standard, &dotted, b"", &hmac), Err(SignError::EventId));
        let injected = AttemptMetadata { event_type: "a\r\nX-Evil: 1", ..SENDING };
        let error = sign(&saas, &injected, b"", &hmac);
        assert_eq!(error, Err(SignError::Unprintable("X-Webhook-Event".to_owned())));
    }
}
