//! Reads timestamps of requests strictly. A signature covers the text as it was sent, so exactly one spelling
//! of a number is accepted, and the time that is compared with the clock is the signed one.

use gancho_domain::Time;
use serde::Deserialize;

use crate::{TimestampError, VerifyError};

/// The form in which a sender writes the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimestampFormat {
    /// `1706012345`
    #[default]
    Seconds,
    /// `1706012345123`
    Millis,
    /// `2024-01-23T12:19:05Z`, also with a fraction or an offset
    Rfc3339,
    /// Either seconds or RFC 3339.
    SecondsOrRfc3339,
}

impl TimestampFormat {
    pub(crate) fn read(self, text: &[u8]) -> Result<Time, VerifyError> {
        let (time, error) = match self {
            Self::Seconds => (seconds(text), TimestampError::SecondsExpected),
            Self::Millis => (millis(text), TimestampError::MillisecondsExpected),
            Self::Rfc3339 => (rfc3339(text), TimestampError::Rfc3339Expected),
            Self::SecondsOrRfc3339 => {
                (seconds(text).or_else(|| rfc3339(text)), TimestampError::SecondsOrRfc3339Expected)
            }
        };
        time.ok_or(VerifyError::MalformedTimestamp(error))
    }
}

/// `^[1-9][0-9]{0,11}$`: milliseconds, with their 13 digits, are not taken for seconds.
fn seconds(text: &[u8]) -> Option<Time> {
    number(text, 12).map(Time::from_secs)
}

/// `^[1-9][0-9]{11,14}$`: seconds, with their 10 digits, are not taken for milliseconds.
fn millis(text: &[u8]) -> Option<Time> {
    if text.len() < 12 { None } else { number(text, 15).map(Time::from_millis) }
}

fn number(text: &[u8], most_digits: usize) -> Option<i64> {
    if text.is_empty() || text.len() > most_digits || text[0] == b'0' {
        return None;
    }
    text.iter().try_fold(0_i64, |number, &byte| match byte {
        b'0'..=b'9' => number.checked_mul(10)?.checked_add(i64::from(byte - b'0')),
        _ => None,
    })
}

/// RFC 3339 only: jiff alone would accept many more spellings of ISO 8601.
fn rfc3339(text: &[u8]) -> Option<Time> {
    if !has_rfc3339_shape(text) {
        return None;
    }
    let time: jiff::Timestamp = std::str::from_utf8(text).ok()?.parse().ok()?;
    Some(Time::from_micros(time.as_microsecond()))
}

fn has_rfc3339_shape(text: &[u8]) -> bool {
    let Some((date_time, rest)) = text.split_at_checked(19) else {
        return false;
    };
    if !like(date_time, b"0000-00-00T00:00:00") {
        return false;
    }
    let zone = match rest {
        [b'.', fraction @ ..] => {
            let digits = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
            if !(1..=9).contains(&digits) {
                return false;
            }
            &fraction[digits..]
        }
        _ => rest,
    };
    zone == b"Z" || like(zone, b"+00:00") || like(zone, b"-00:00")
}

/// Whether the text equals the pattern, in which a `0` stands for any digit.
fn like(text: &[u8], pattern: &[u8]) -> bool {
    text.len() == pattern.len()
        && text.iter().zip(pattern).all(|(byte, wanted)| match wanted {
            b'0' => byte.is_ascii_digit(),
            _ => byte == wanted,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_to_the_microsecond() {
        for (text, micros) in [
            ("2024-01-23T12:19:05Z", 1_706_012_345_000_000),
            ("2024-01-23T09:19:05.123456789-03:00", 1_706_012_345_123_456),
            ("1969-12-31T23:59:59Z", -1_000_000),
        ] {
            assert_eq!(
                TimestampFormat::Rfc3339.read(text.as_bytes()),
                Ok(Time::from_micros(micros))
            );
        }
        assert_eq!(
            TimestampFormat::Millis.read(b"1706012345123"),
            Ok(Time::from_millis(1_706_012_345_123))
        );
    }

    #[test]
    fn only_one_spelling_of_a_time() {
        for text in [
            "2024-01-23T12:19:05",
            "2024-01-23t12:19:05z",
            "2024-01-23 12:19:05Z",
            "2024-01-23T12:19Z",
            "2024-01-23T12:19:05.Z",
            "2024-01-23T12:19:05,5Z",
            "2024-01-23T12:19:05.0123456789Z",
            "2024-01-23T12:19:05+00",
            "2024-01-23T12:19:05+0000",
            "2024-01-23T12:19:05Z[UTC]",
            "2024-02-30T12:19:05Z",
            "2024-01-23T25:19:05Z",
            "2024-W04-2T12:19:05Z",
            "+002024-01-23T12:19:05Z",
            " 2024-01-23T12:19:05Z",
            "Tue, 23 Jan 2024 12:19:05 +0000",
        ] {
            let error = VerifyError::MalformedTimestamp(TimestampError::Rfc3339Expected);
            assert_eq!(TimestampFormat::Rfc3339.read(text.as_bytes()), Err(error), "{text}");
        }
    }

    #[test]
    fn seconds_and_milliseconds_are_not_mixed_up() {
        let seconds = VerifyError::MalformedTimestamp(TimestampError::SecondsExpected);
        assert_eq!(TimestampFormat::Seconds.read(b"1706012345123"), Err(seconds));
        assert!(seconds.to_string().contains("expected seconds"));
        let millis = VerifyError::MalformedTimestamp(TimestampError::MillisecondsExpected);
        assert_eq!(TimestampFormat::Millis.read(b"1706012345"), Err(millis));
        assert_eq!(TimestampFormat::Millis.read(b"1706012345123456"), Err(millis));
    }
}
