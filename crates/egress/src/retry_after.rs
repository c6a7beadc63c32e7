//! `Retry-After`: seconds, or a date in one of the three HTTP formats. Other values are ignored. No value
//! can cause a panic, and none is honored beyond 24 hours.

use std::time::{Duration, UNIX_EPOCH};

use gancho_domain::{Time, decide::MAX_PAUSE};
use http::{HeaderMap, header::RETRY_AFTER};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryAfter {
    In(Duration),
    At(Time),
}

impl RetryAfter {
    /// Parses the first valid header.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        headers.get_all(RETRY_AFTER).iter().find_map(|value| Self::parse(value.as_bytes()))
    }

    pub fn parse(value: &[u8]) -> Option<Self> {
        let value = value.trim_ascii();
        if !value.is_empty() && value.iter().all(u8::is_ascii_digit) {
            let secs = value.iter().fold(0_u64, |secs, digit| {
                secs.saturating_mul(10).saturating_add(u64::from(digit - b'0'))
            });
            return Some(Self::In(Duration::from_secs(secs).min(MAX_PAUSE)));
        }
        http_date(value).map(Self::At)
    }

    /// Returns a time between now and 24 hours from now.
    pub fn not_before(self, now: Time) -> Time {
        match self {
            Self::In(pause) => now + pause.min(MAX_PAUSE),
            Self::At(time) => time.clamp(now, now + MAX_PAUSE),
        }
    }
}

fn http_date(value: &[u8]) -> Option<Time> {
    let date = httpdate::parse_http_date(std::str::from_utf8(value).ok()?).ok()?;
    let since = date.duration_since(UNIX_EPOCH).ok()?;
    Some(Time::from_secs(i64::try_from(since.as_secs()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 24 * 60 * 60;
    /// Sun, 06 Nov 1994 08:49:37 GMT
    const THEN: i64 = 784_111_777;

    fn pause(value: &str, now: i64) -> Option<i64> {
        let now = Time::from_secs(now);
        let not_before = RetryAfter::parse(value.as_bytes())?.not_before(now);
        Some(not_before.secs() - now.secs())
    }

    #[test]
    fn seconds() {
        let huge = "9".repeat(400);
        for (value, expected) in [
            ("0", 0),
            ("00", 0),
            ("7", 7),
            (" 7 ", 7),
            ("86400", DAY),
            ("86401", DAY),
            (&huge, DAY),
        ] {
            assert_eq!(pause(value, 0), Some(expected), "{value}");
        }
        for invalid in ["", " ", "-1", "+1", "1.5", "1e3", "inf", "NaN", "0x10", "1 2", "٣", "1\0"]
        {
            assert_eq!(pause(invalid, 0), None, "{invalid:?}");
        }
    }

    #[test]
    fn dates_in_the_three_forms() {
        for date in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(
                RetryAfter::parse(date.as_bytes()),
                Some(RetryAfter::At(Time::from_secs(THEN)))
            );
            assert_eq!(pause(date, THEN - 60), Some(60), "{date}");
            assert_eq!(pause(date, THEN + 60), Some(0), "the past is now: {date}");
            assert_eq!(pause(date, 0), Some(DAY), "no more than a day: {date}");
        }
        for (date, secs) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
            ("Tuesday, 01-Jan-69 00:00:00 GMT", 3_124_224_000),
            ("Thursday, 01-Jan-70 00:00:00 GMT", 0),
        ] {
            let expected = RetryAfter::At(Time::from_secs(secs));
            assert_eq!(RetryAfter::parse(date.as_bytes()), Some(expected), "{date}");
        }
    }

    #[test]
    #[rustfmt::skip]
    fn dates_that_are_not() {
        for invalid in [
            "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "06 Nov 1994 08:49:37 GMT",
            "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT",
            "Sun, 29 Feb 2100 00:00:00 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
            "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 08:49:37:00 GMT",
            "Xxx, 06 Nov 1994 08:49:37 GMT", "Xxxday, 06-Nov-94 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT",
            "Sun Nov  6 08:49:37 94", "Sun Nov 06 08-49-37 1994", "Sun Nov 0x 08:49:37 1994", ",", ", GMT",
            "Sun, 06 Nov -994 08:49:37 GMT", "Mon, 06 Nov 1994 08:49:37 GMT", "Mon, 01 Jan 0001 00:00:00 GMT",
            "Sun, +6 Nov 1994 08:49:37 GMT", "2024-01-01T00:00:00Z",
        ] {
            assert_eq!(RetryAfter::parse(invalid.as_bytes()), None, "{invalid}");
        }
        assert_eq!(RetryAfter::parse(b"Sun, 06 Nov 1994 08:49:37 GM\xff"), None);
    }

    proptest::proptest! {
        #[test]
        fn nothing_makes_it_panic_or_leave_its_bounds(
            value in "[0-9A-Za-z,: \\-+.\\PC]{0,40}|(Sun|Sunday), [0-9]{2}[ -](Feb|Nov)[ -][0-9]{2,4} [0-9:]{8} GMT",
            now in -1_000_000_000_000_i64..1_000_000_000_000,
        ) {
            if let Some(pause) = pause(&value, now) {
                proptest::prop_assert!((0..=DAY).contains(&pause));
            }
        }
    }
}
