//! Spans of time as people write them to the API: `500ms`, `5s`, `5m`, `2h`, `1d`.

use std::time::Duration;

use thiserror::Error;

#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "`{0}` is not a span of time: write a whole number and ms, s, m, h or d, such as 500ms, 5s or 2h"
)]
pub struct NotASpan(String);

const UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

pub fn parse(text: &str) -> Result<Duration, NotASpan> {
    let fault = || NotASpan(text.chars().take(40).collect());
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let (_, millis) = UNITS.into_iter().find(|(name, _)| *name == unit).ok_or_else(fault)?;
    let number: u64 = number.parse().map_err(|_| fault())?;
    number.checked_mul(millis).map(Duration::from_millis).ok_or_else(fault)
}

/// In the largest unit that writes it whole, so that what was given is what is shown.
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
    }

    #[test]
    fn what_is_not_one() {
        for odd in [
            "",
            "5",
            "s",
            "-5s",
            "+5s",
            "1.5s",
            "5 s",
            "5S",
            "1h30m",
            "٥s",
            "99999999999999999999s",
            "999999999999999999d",
        ] {
            assert!(parse(odd).is_err(), "{odd:?}");
        }
    }
}
