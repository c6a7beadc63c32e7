//! Event types, and the patterns of subscriptions.

use std::{fmt, str::FromStr};

use thiserror::Error;

/// A dotted name such as `invoice.paid`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventType(Box<str>);

/// A subscription: one type, all types with a prefix (`invoice.*`), or all (`*`). Notices of the gateway are
/// matched only by their name or by `webhook.*`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pattern {
    All,
    /// The prefix with its dot: `invoice.`
    Prefix(Box<str>),
    One(EventType),
}

#[derive(Debug, Error, PartialEq, Eq)]
pub enum EventTypeParseError {
    #[error("the event type is empty: use a name such as `invoice.paid`")]
    Empty,
    #[error("the event type has {0} characters: the maximum is 128")]
    TooLong(usize),
    #[error(
        "`{0}` is not a valid event type: use letters, digits, `_` and `-`, in parts separated by single dots"
    )]
    Malformed(String),
    #[error("`{0}` is not a valid pattern: did you mean `{1}`?")]
    Prefix(String, String),
}

const MAX_LENGTH: usize = 128;

impl FromStr for EventType {
    type Err = EventTypeParseError;

    fn from_str(text: &str) -> Result<Self, EventTypeParseError> {
        if text.is_empty() {
            return Err(EventTypeParseError::Empty);
        }
        if text.len() > MAX_LENGTH {
            return Err(EventTypeParseError::TooLong(text.len()));
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if text.split('.').any(|part| part.is_empty() || !part.bytes().all(plain)) {
            return Err(EventTypeParseError::Malformed(text.to_owned()));
        }
        Ok(Self(text.into()))
    }
}

impl EventType {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The prefix of the gateway's notices (`webhook.endpoint.disabled`). No tenant may publish them.
const RESERVED: &str = "webhook.";

pub fn is_reserved(event_type: &str) -> bool {
    event_type.starts_with(RESERVED)
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Pattern {
    pub fn matches(&self, event_type: &str) -> bool {
        match self {
            // `*` does not include notices.
            Self::All => !is_reserved(event_type),
            Self::Prefix(prefix) => event_type.starts_with(&**prefix),
            Self::One(one) => one.as_str() == event_type,
        }
    }

    /// Suggests `invoice.*` for `invoice*`: a prefix ends with a whole part.
    fn what_was_meant(text: &str, error: EventTypeParseError) -> EventTypeParseError {
        let meant = text.strip_suffix('*').map(|prefix| format!("{prefix}.*"));
        match meant.filter(|meant| meant.parse::<Self>().is_ok()) {
            Some(meant) => EventTypeParseError::Prefix(text.to_owned(), meant),
            None => error,
        }
    }
}

impl FromStr for Pattern {
    type Err = EventTypeParseError;

    fn from_str(text: &str) -> Result<Self, EventTypeParseError> {
        if text == "*" {
            return Ok(Self::All);
        }
        match text.strip_suffix(".*") {
            Some(prefix) => {
                let prefix: EventType = prefix.parse()?;
                Ok(Self::Prefix(format!("{prefix}.").into()))
            }
            None => text.parse().map(Self::One).map_err(|error| Self::what_was_meant(text, error)),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("*"),
            Self::Prefix(prefix) => write!(f, "{prefix}*"),
            Self::One(one) => one.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_parts() {
        let pattern: Pattern = "invoice.*".parse().unwrap();
        assert!(pattern.matches("invoice.paid"));
        assert!(pattern.matches("invoice.line.added"));
        assert!(!pattern.matches("invoice"));
        assert!(!pattern.matches("invoices.paid"));
        assert!("*".parse::<Pattern>().unwrap().matches("anything"));
    }

    #[test]
    fn the_gateways_own_are_got_only_by_asking() {
        let wants = |text: &str| text.parse::<Pattern>().unwrap();
        assert!(!wants("*").matches("webhook.endpoint.disabled"));
        assert!(wants("webhook.*").matches("webhook.endpoint.disabled"));
        assert!(wants("webhook.endpoint.*").matches("webhook.endpoint.disabled"));
        assert!(wants("webhook.endpoint.disabled").matches("webhook.endpoint.disabled"));
        assert!(wants("*").matches("webhooks.changed") && wants("*").matches("webhook"));
    }

    #[test]
    fn patterns_show_as_they_were_written() {
        for text in ["*", "invoice.*", "invoice.paid"] {
            assert_eq!(text.parse::<Pattern>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_prefix_without_its_dot_is_named_with_it() {
        let error = "invoice*".parse::<Pattern>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`invoice*` is not a valid pattern: did you mean `invoice.*`?"
        );
        assert!(matches!("in voice*".parse::<Pattern>(), Err(EventTypeParseError::Malformed(_))));
    }

    #[test]
    fn odd_types_are_refused() {
        for text in ["", ".", "a.", ".a", "a..b", "a b", "a.*.b", "ação", "a\n", "*.a"] {
            assert!(text.parse::<EventType>().is_err(), "{text:?}");
        }
        assert_eq!("x".repeat(129).parse::<EventType>(), Err(EventTypeParseError::TooLong(129)));
    }
}
