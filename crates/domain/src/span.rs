//! Durations in the API, in settings and in profiles: `500ms`, `5s`, `5m`, `2h`, `1d`, or combined,
//! `1h30m`. This is the only grammar for them.

use std::{ops::RangeInclusive, time::Duration};

use thiserror::Error;

use crate::FieldError;

#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "`{0}` is not a duration: use integers with ms, s, m, h or d, the largest unit first, e.g. 500ms, 5s, 2h or 1h30m"
)]
pub struct DurationParseError(String);

const UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Parses a duration. Each unit may occur once, the largest first.
pub fn parse(text: &str) -> Result<Duration, DurationParseError> {
    let error = || DurationParseError(text.chars().take(40).collect());
    let (mut rest, mut total, mut below) = (text, 0_u64, u64::MAX);
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = rest.split_at(digits);
        let letters = tail.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, tail) = tail.split_at(letters);
        let (_, millis) = UNITS.into_iter().find(|(name, _)| *name == unit).ok_or_else(error)?;
        let number: u64 = number.parse().map_err(|_| error())?;
        let part = number.checked_mul(millis).filter(|_| millis < below).ok_or_else(error)?;
        total = total.checked_add(part).ok_or_else(error)?;
        if tail.is_empty() {
            return Ok(Duration::from_millis(total));
        }
        (rest, below) = (tail, millis);
    }
}

/// Parses the duration in the field at `pointer`, which must be within the range.
pub fn parse_within(
    text: &str,
    pointer: &str,
    within: &RangeInclusive<Duration>,
) -> Result<Duration, FieldError> {
    let span = parse(text).map_err(|error| FieldError::new("malformed", pointer, error))?;
    if within.contains(&span) {
        return Ok(span);
    }
    let [min, max] = [within.start(), within.end()].map(|end| write(*end));
    Err(FieldError::new("out_of_range", pointer, format!("must be between {min} and {max}")))
}

/// Writes a duration in the largest unit that is exact.
pub fn write(span: Duration) -> String {
    let millis = span.as_millis() as u64;
    let fits = |(_, size): &(&str, u64)| millis > 0 && millis.is_multiple_of(*size);
    match UNITS.into_iter().rev().find(fits) {
        Some((name, size)) => format!("{}{name}", millis / size),
        None => "0s".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for text in ["500ms", "5s", "5m", "2h", "1d", "7d", "90s", "1ms"] {
            assert_eq!(write(parse(text).unwrap()), text);
        }
        assert_eq!(write(parse("60s").unwrap()), "1m");
        assert_eq!(write(Duration::ZERO), "0s");
        assert_eq!(parse("0s"), Ok(Duration::ZERO));
        // faults.md E6: together too.
        assert_eq!(parse("1h30m"), Ok(Duration::from_secs(5_400)));
        assert_eq!(parse("1d2h3m4s5ms"), Ok(Duration::from_millis(93_784_005)));
        assert_eq!(write(parse("1h30m").unwrap()), "90m");
    }

    #[test]
    fn what_is_not_one() {
        for invalid in [
            "",
            "5",
            "s",
            "-5s",
            "+5s",
            "1.5s",
            "5 s",
            "5S",
            "30m1h",
            "1h1h",
            "1h 30m",
            "1h30",
            "h30m",
            "٥s",
            "99999999999999999999s",
            "999999999999999999d",
        ] {
            assert!(parse(invalid).is_err(), "{invalid:?}");
        }
    }
}
