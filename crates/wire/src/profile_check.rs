//! Validates a profile. Reports all errors at once, so that an operator corrects a file once.

use std::{collections::HashSet, time::Duration};

use crate::{HeaderValue, Profile, Scheme};

/// Maximum timeout. A longer attempt would occupy its slot for too long.
const MAX_TIMEOUT: Duration = Duration::from_mins(2);
const MAX_DELAY: Duration = Duration::from_hours(7 * 24);
const MAX_DELAYS: usize = 50;
const MAX_NAME_LENGTH: usize = 64;

/// Headers that belong to the connection or that the program sets itself on every request.
const RESERVED: &[&str] = &[
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    #[error("`{0}` is not a valid profile name")]
    Name(String),
    #[error("`{0}` is not a valid header name")]
    HeaderName(String),
    #[error("the header `{0}` is reserved")]
    ReservedHeader(String),
    #[error("duplicate header `{0}`")]
    RepeatedHeader(String),
    #[error("the scheme `standard` signs the {0} and needs a header for it")]
    MissingHeader(&'static str, &'static str),
    #[error("the user agent must be printable ASCII and not empty")]
    UserAgent,
    #[error("the timeout must be more than 0 and at most 2 minutes")]
    Timeout,
    #[error("the schedule may have at most 50 delays, none longer than 7 days")]
    Schedule,
}

impl ProfileError {
    /// Returns what to do about it; empty if the error says it.
    pub fn hint(&self) -> String {
        match self {
            Self::MissingHeader(_, value) => format!("add one with the value `{value}`"),
            Self::Name(..) => "use 1 to 64 characters of a-z, 0-9, `-` and `_`".to_owned(),
            Self::HeaderName(..) => "use letters, digits and `-`".to_owned(),
            Self::ReservedHeader(..) => "choose another name".to_owned(),
            Self::RepeatedHeader(..) => "remove one of them".to_owned(),
            Self::UserAgent | Self::Timeout | Self::Schedule => String::new(),
        }
    }
}

impl Profile {
    /// Returns all errors of the profile; none if it can be used.
    pub fn errors(&self) -> Vec<ProfileError> {
        let mut errors = Vec::new();
        if !is_profile_name(&self.name) {
            errors.push(ProfileError::Name(self.name.clone()));
        }
        self.check_header_names(&mut errors);
        if self.signature.scheme == Scheme::Standard {
            self.check_signed_headers(&mut errors);
        }
        if self.user_agent.is_empty() || !self.user_agent.bytes().all(is_printable) {
            errors.push(ProfileError::UserAgent);
        }
        if self.timeout.is_zero() || self.timeout > MAX_TIMEOUT {
            errors.push(ProfileError::Timeout);
        }
        if self.schedule.len() > MAX_DELAYS || self.schedule.iter().any(|d| *d > MAX_DELAY) {
            errors.push(ProfileError::Schedule);
        }
        errors
    }

    fn check_header_names(&self, errors: &mut Vec<ProfileError>) {
        let mut seen = HashSet::new();
        let names = self.headers.iter().map(|line| &line.name).chain([&self.signature.header]);
        for name in names {
            let lower = name.to_ascii_lowercase();
            if !is_header_name(name) {
                errors.push(ProfileError::HeaderName(name.clone()));
            } else if RESERVED.contains(&lower.as_str()) {
                errors.push(ProfileError::ReservedHeader(name.clone()));
            } else if !seen.insert(lower) {
                errors.push(ProfileError::RepeatedHeader(name.clone()));
            }
        }
    }

    fn check_signed_headers(&self, errors: &mut Vec<ProfileError>) {
        if self.header_of(HeaderValue::EventId).is_none() {
            errors.push(ProfileError::MissingHeader("event's id", "event_id"));
        }
        if self.header_of(HeaderValue::TimeSeconds).is_none() {
            errors.push(ProfileError::MissingHeader("time in seconds", "time_seconds"));
        }
    }
}

fn is_profile_name(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    !name.is_empty() && name.len() <= MAX_NAME_LENGTH && name.bytes().all(fits)
}

pub(crate) fn is_header_name(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    !name.is_empty() && name.len() <= MAX_NAME_LENGTH && name.bytes().all(fits)
}

pub(crate) fn is_printable(byte: u8) -> bool {
    byte == b' ' || byte.is_ascii_graphic()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HeaderLine;

    #[test]
    fn every_fault_is_named_at_once() {
        let mut profile = Profile::standard();
        profile.name = "Bad Name".to_owned();
        profile.headers = [("X Y", HeaderValue::EventType), ("Host", HeaderValue::EndpointId)]
            .map(|(name, value)| HeaderLine { name: name.to_owned(), value })
            .to_vec();
        profile.user_agent = "a\r\nb".to_owned();
        profile.timeout = Duration::ZERO;
        profile.schedule = vec![Duration::MAX];
        assert_eq!(
            profile.errors(),
            [
                ProfileError::Name("Bad Name".to_owned()),
                ProfileError::HeaderName("X Y".to_owned()),
                ProfileError::ReservedHeader("Host".to_owned()),
                ProfileError::MissingHeader("event's id", "event_id"),
                ProfileError::MissingHeader("time in seconds", "time_seconds"),
                ProfileError::UserAgent,
                ProfileError::Timeout,
                ProfileError::Schedule,
            ]
        );
    }

    #[test]
    fn names_that_differ_by_case_only_are_the_same_header() {
        let mut profile = Profile::saas();
        profile.signature.header = "x-webhook-ID".to_owned();
        assert_eq!(profile.errors(), [ProfileError::RepeatedHeader("x-webhook-ID".to_owned())]);
    }
}
