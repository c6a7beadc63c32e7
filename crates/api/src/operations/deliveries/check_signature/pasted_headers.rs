//! The parts of a request that a signature is about: as a receiver got them, and as an attempt sent them.

use gancho_domain::Attempt;
use gancho_wire::{HeaderValue, Profile};

/// What was pasted.
pub struct PastedHeaders<'a> {
    pub id: Option<&'a str>,
    pub timestamp: Option<&'a str>,
    pub signature: &'a str,
}

impl<'a> PastedHeaders<'a> {
    /// Reads header lines; a text without any is the signature itself.
    pub fn read(profile: &Profile, text: &'a str) -> Self {
        let value = |name: &str| {
            text.lines().find_map(|line| {
                let (known, value) = line.split_once(':')?;
                known.trim().eq_ignore_ascii_case(name).then(|| value.trim())
            })
        };
        let signature = value(&profile.signature.header).unwrap_or_else(|| text.trim());
        let header = |kinds: &[HeaderValue]| {
            let line = profile.headers.iter().find(|line| kinds.contains(&line.value));
            line.and_then(|line| value(&line.name))
        };
        Self {
            id: header(&[HeaderValue::EventId]),
            timestamp: time_in(signature)
                .or_else(|| header(&[HeaderValue::TimeSeconds, HeaderValue::TimeMillis])),
            signature,
        }
    }
}

/// What an attempt sent, from the attempt log.
pub struct SentAttempt {
    pub timestamp: String,
    pub signature: String,
}

impl SentAttempt {
    pub fn read(profile: &Profile, attempt: &Attempt) -> Self {
        let record = String::from_utf8_lossy(&attempt.request_headers);
        let received = PastedHeaders::read(profile, &record);
        Self {
            timestamp: received.timestamp.unwrap_or_default().to_owned(),
            signature: received.signature.to_owned(),
        }
    }
}

/// The time within a signature header: `t=1706012345,v1=…`.
fn time_in(signature: &str) -> Option<&str> {
    signature.split(',').find_map(|part| part.trim().strip_prefix("t="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_or_the_signature_alone() {
        let profile = Profile::standard();
        let text = "POST / HTTP/1.1\nWebhook-Id: evt_1\r\nwebhook-timestamp:17\nwebhook-signature: v1,abc= v1,def=";
        let received = PastedHeaders::read(&profile, text);
        assert_eq!((received.id, received.timestamp), (Some("evt_1"), Some("17")));
        assert_eq!(received.signature, "v1,abc= v1,def=");
        let received = PastedHeaders::read(&profile, " v1,abc= ");
        assert_eq!((received.id, received.signature), (None, "v1,abc="));
        let timed = PastedHeaders::read(&Profile::saas(), "t=1706,v1=00");
        assert_eq!(timed.timestamp, Some("1706"));
    }
}
