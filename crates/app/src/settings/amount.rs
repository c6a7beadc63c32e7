//! Amounts with a unit: lengths of time, sizes, rates.

use std::{fmt::Write, num::NonZeroU32, time::Duration};

use gancho_domain::{Rate, span};

use super::error::ValueError;

/// Bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

const SPANS: [(&str, u64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];
const SIZES: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// `30s`, `5m`, `1h30m`, `30d`.
pub fn span(text: &str) -> Result<Duration, ValueError> {
    span::parse(text.trim()).map_err(|_| wrong(text, "a duration", "30s, 5m, 2h, 1h30m or 30d"))
}

/// In the largest units that say it exactly.
pub fn show_span(span: Duration) -> String {
    show(span.as_millis() as u64, &SPANS, "0s")
}

/// `1MiB`, `64KiB`, or bytes.
pub fn size(text: &str) -> Result<Size, ValueError> {
    let bytes = text.parse().ok().or_else(|| parts(text, &SIZES));
    bytes.map(Size).ok_or_else(|| wrong(text, "a size", "1MiB, 64KiB or a number of bytes"))
}

pub fn show_size(size: Size) -> String {
    show(size.0, &SIZES, "0")
}

/// `100/s`, `600/1m`.
pub fn rate(text: &str) -> Result<Rate, ValueError> {
    let read = || {
        let (count, per) = text.split_once('/')?;
        let count = NonZeroU32::new(count.trim().parse().ok()?)?;
        let per = per.trim();
        let per = if per.starts_with(|c: char| c.is_ascii_digit()) {
            span(per).ok()?
        } else {
            span(&format!("1{per}")).ok()?
        };
        Some(Rate { count: count.get(), per }).filter(|rate| !rate.per.is_zero())
    };
    read().ok_or_else(|| wrong(text, "a rate", "100/s or 600/1m"))
}

pub fn show_rate(rate: Rate) -> String {
    format!("{}/{}", rate.count, show_span(rate.per))
}

fn wrong(text: &str, what: &str, like: &str) -> ValueError {
    ValueError::new(format!("`{text}` is not {what}"), format!("for example, {like}"))
}

/// Numbers, each with its unit, added up.
fn parts(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let mut rest = text.trim();
    let mut total = 0_u64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let count: u64 = rest[..digits].parse().ok()?;
        rest = rest[digits..].trim_start();
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (_, factor) = units.iter().find(|(unit, _)| *unit == &rest[..letters])?;
        total = total.checked_add(count.checked_mul(*factor)?)?;
        rest = rest[letters..].trim_start();
    }
    (!text.trim().is_empty()).then_some(total)
}

fn show(amount: u64, units: &[(&str, u64)], none: &str) -> String {
    let mut rest = amount;
    let mut text = String::new();
    for (unit, factor) in units {
        if rest / factor > 0 {
            let _ = write!(text, "{}{unit}", rest / factor);
            rest %= factor;
        }
    }
    if text.is_empty() { none.to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_read_and_shown_again() {
        for (text, seconds) in [("30s", 30), ("5m", 300), ("1h30m", 5_400), ("30d", 2_592_000)] {
            let read = span(text).unwrap();
            assert_eq!(read, Duration::from_secs(seconds));
            assert_eq!(show_span(read), text);
        }
        assert_eq!(span("250ms").unwrap(), Duration::from_millis(250));
        for (text, bytes) in [("1MiB", 1 << 20), ("64KiB", 65_536), ("1000", 1_000)] {
            assert_eq!(size(text).unwrap(), Size(bytes));
        }
        assert_eq!(show_size(Size(1 << 20)), "1MiB");
        assert_eq!(rate("100/s").unwrap(), Rate { count: 100, per: Duration::from_secs(1) });
        assert_eq!(show_rate(rate("600/1m").unwrap()), "600/1m");
    }

    #[test]
    fn the_rest_is_refused_with_an_example() {
        for text in ["", "30", "s", "-5s", "5 weeks", "99999999999999999999d", "1.5h"] {
            assert!(span(text).unwrap_err().hint.contains("30s, 5m, 2h"), "{text}");
        }
        for text in ["", "1MB", "-1", "MiB"] {
            assert!(size(text).is_err(), "{text}");
        }
        for text in ["", "100", "0/s", "5/0s", "5/", "x/s"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }
}
