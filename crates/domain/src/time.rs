//! Points in time: microseconds since 1970, UTC. Both stores keep them in this form.

use std::{
    fmt,
    ops::{Add, Sub},
    time::Duration,
};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(i64);

impl Time {
    pub const ZERO: Self = Self(0);
    pub const MAX: Self = Self(i64::MAX);

    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(1_000_000))
    }

    pub const fn micros(self) -> i64 {
        self.0
    }

    pub const fn millis(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    pub const fn secs(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// Returns the time since `earlier`; zero if `earlier` is not before `self`.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0).max(0) as u64)
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)))
    }
}

impl Sub<Duration> for Time {
    type Output = Self;

    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)))
    }
}

/// Writes RFC 3339, UTC, with milliseconds: the only form in which times leave the program.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Formatted by hand, which takes a fifth of the time: every event and every attempt has times.
        let Ok(time) = jiff::Timestamp::from_millisecond(self.millis()) else {
            return write!(f, "{}us", self.0);
        };
        let time = jiff::tz::Offset::UTC.to_datetime(time);
        let Ok(year) = u32::try_from(time.year()) else {
            return write!(f, "{time:.3}Z");
        };
        let mut text = *b"0000-00-00T00:00:00.000Z";
        put_digits(&mut text[0..4], year);
        put_digits(&mut text[5..7], time.month().unsigned_abs().into());
        put_digits(&mut text[8..10], time.day().unsigned_abs().into());
        put_digits(&mut text[11..13], time.hour().unsigned_abs().into());
        put_digits(&mut text[14..16], time.minute().unsigned_abs().into());
        put_digits(&mut text[17..19], time.second().unsigned_abs().into());
        put_digits(&mut text[20..23], time.millisecond().unsigned_abs().into());
        f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

/// Fills `place` with the last digits of a number.
fn put_digits(place: &mut [u8], number: u32) {
    let mut rest = number;
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_milliseconds_always() {
        assert_eq!(Time::from_millis(1_706_012_345_000).to_string(), "2024-01-23T12:19:05.000Z");
        assert_eq!(
            Time::from_micros(1_706_012_345_123_999).to_string(),
            "2024-01-23T12:19:05.123Z"
        );
        assert_eq!(Time::from_millis(-1).to_string(), "1969-12-31T23:59:59.999Z");
    }

    #[test]
    fn every_time_is_shown_as_the_library_shows_it() {
        let (first, last) =
            (jiff::Timestamp::MIN.as_millisecond(), jiff::Timestamp::MAX.as_millisecond());
        // A step that is no multiple of a second, a day or a year.
        for millis in (first..=last).step_by(86_399_999_123) {
            let shown = jiff::Timestamp::from_millisecond(millis).unwrap();
            assert_eq!(Time::from_millis(millis).to_string(), format!("{shown:.3}"));
        }
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Time::MAX + Duration::from_secs(1), Time::MAX);
        assert_eq!(Time::ZERO.since(Time::MAX), Duration::ZERO);
        assert_eq!(Time::from_secs(5).since(Time::from_secs(2)), Duration::from_secs(3));
    }
}
