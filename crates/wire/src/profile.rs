//! A profile: the wire format of a delivery. Data, not code, so that an operator can write one.

use std::time::Duration;

use serde::Deserialize;

use crate::span;

/// The wire format of a delivery, with its timeout and retry schedule.
///
/// A profile that was read from configuration may be used only if [`Profile::errors`] returns none.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub name: String,
    pub envelope: Envelope,
    /// Headers besides the signature, in the order in which they are sent.
    #[serde(default)]
    pub headers: Vec<HeaderLine>,
    pub signature: SignatureLine,
    #[serde(default = "default_user_agent")]
    pub user_agent: String,
    /// For the whole attempt: connecting, sending, and reading the response.
    #[serde(default = "default_timeout", deserialize_with = "span::one")]
    pub timeout: Duration,
    /// The delays between attempts: one fewer than there are attempts.
    #[serde(default = "default_schedule", deserialize_with = "span::many")]
    pub schedule: Vec<Duration>,
}

/// The envelope around the publisher's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Envelope {
    /// `{"type", "timestamp", "data"}`
    Standard,
    /// `{"eventType", "eventId", "timestamp", "sequenceNumber", "data"}`
    EmailGateway,
    /// `{"id", "type", "created_at", "data"}`
    Auracore,
    /// Nothing: the body is the data itself.
    Bare,
}

/// A header of every attempt.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderLine {
    pub name: String,
    pub value: HeaderValue,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeaderValue {
    EventId,
    EndpointId,
    EventType,
    /// The time of this attempt, in seconds since 1970.
    TimeSeconds,
    /// The time of this attempt, in milliseconds since 1970.
    TimeMillis,
    /// `0` on the first attempt.
    RetryCount,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignatureLine {
    pub header: String,
    pub scheme: Scheme,
}

/// The signed text, and the form of the signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// Standard Webhooks: `v1,<base64>` (HMAC) or `v1a,<base64>` (Ed25519, if the key is one) of
    /// `id.seconds.body`.
    Standard,
    /// GitHub's form: `sha256=<hex>` of the body.
    Sha256,
    /// Convoy's simple form: `<hex>` of the body.
    Hex,
    /// Outpost's form: `v0=<hex>` of the body.
    V0,
    /// Stripe's form: `t=<seconds>,v1=<hex>` of `seconds.body`.
    TimedSeconds,
    /// The same with milliseconds.
    TimedMillis,
}

impl Scheme {
    /// Returns the text before the signature, in schemes that sign only the body.
    pub(crate) const fn body_prefix(self) -> Option<&'static str> {
        match self {
            Self::Sha256 => Some("sha256="),
            Self::Hex => Some(""),
            Self::V0 => Some("v0="),
            Self::Standard | Self::TimedSeconds | Self::TimedMillis => None,
        }
    }
}

impl Profile {
    /// Returns the number of attempts before a delivery becomes a dead letter.
    pub fn attempts(&self) -> usize {
        self.schedule.len() + 1
    }

    /// Returns the name of the header with `value`, if the profile has one.
    pub(crate) fn header_of(&self, value: HeaderValue) -> Option<&str> {
        self.headers.iter().find(|line| line.value == value).map(|line| line.name.as_str())
    }
}

pub(crate) fn default_user_agent() -> String {
    concat!("Gancho/", env!("CARGO_PKG_VERSION")).to_owned()
}

fn default_timeout() -> Duration {
    Profile::standard().timeout
}

fn default_schedule() -> Vec<Duration> {
    Profile::standard().schedule
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_can_write_one() {
        let profile: Profile = serde_json::from_str(
            r#"{
                "name": "acme",
                "envelope": "email-gateway",
                "headers": [
                    {"name": "X-Acme-Id", "value": "event_id"},
                    {"name": "X-Acme-Try", "value": "retry_count"}
                ],
                "signature": {"header": "X-Acme-Signature", "scheme": "timed-seconds"},
                "timeout": "10s",
                "schedule": ["90s", "2h"]
            }"#,
        )
        .unwrap();
        assert_eq!(profile.envelope, Envelope::EmailGateway);
        assert_eq!(profile.header_of(HeaderValue::RetryCount), Some("X-Acme-Try"));
        assert_eq!(profile.schedule, [Duration::from_secs(90), Duration::from_hours(2)]);
        assert_eq!(profile.attempts(), 3);
        assert_eq!(profile.errors(), []);
    }

    #[test]
    fn what_is_left_out_is_as_in_standard() {
        let profile: Profile = serde_json::from_str(
            r#"{"name": "b", "envelope": "bare", "signature": {"header": "S", "scheme": "sha256"}}"#,
        )
        .unwrap();
        let standard = Profile::standard();
        assert_eq!(profile.timeout, standard.timeout);
        assert_eq!(profile.schedule, standard.schedule);
        assert_eq!(profile.user_agent, standard.user_agent);
    }

    #[test]
    fn an_unknown_field_is_refused() {
        let error = serde_json::from_str::<Profile>(
            r#"{"name": "b", "envelope": "bare", "signatur": {}, "timeout": "1s"}"#,
        )
        .unwrap_err();
        assert!(error.to_string().contains("unknown field `signatur`"), "{error}");
    }
}
