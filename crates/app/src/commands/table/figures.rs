//! Figures as a person reads them: times, ages, sizes, counts and rates.

use gancho_domain::{Clock, SystemClock};
use serde_json::Value;

use super::text;

/// Returns a time without fractions and zone: `2026-11-15 10:00:00`.
pub fn when(value: &Value) -> String {
    let text = text(value);
    match text.split_once('T') {
        Some((day, time)) if time.len() >= 8 && time.is_char_boundary(8) => {
            format!("{day} {}", &time[..8])
        }
        _ => text,
    }
}

/// Formats a number with commas between thousands.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns text such as `1 key`, `2 keys`, `2 addresses`, `2 deliveries`.
pub fn many(number: usize, noun: &str) -> String {
    let (stem, ending) = match noun.strip_suffix("ry") {
        _ if number == 1 => (noun, ""),
        Some(stem) => (stem, "ries"),
        None if noun.ends_with('s') => (noun, "es"),
        None => (noun, "s"),
    };
    format!("{} {stem}{ending}", count(number as u64))
}

/// Returns a rate limit of the API in the form of the command line: `100/s`.
pub fn rate(value: &Value) -> String {
    if value.is_null() {
        return String::new();
    }
    let per = text(&value["per"]);
    format!(
        "{}/{}",
        text(&value["count"]),
        per.strip_prefix('1')
            .filter(|unit| !unit.starts_with(|one: char| one.is_ascii_digit()))
            .unwrap_or(&per)
    )
}

/// Returns text such as `3 ms`, `1.5 s`, `2 min`; empty for null.
pub fn millis(value: &Value) -> String {
    match value.as_f64() {
        None => text(value),
        Some(millis) if millis < 1_000.0 => format!("{millis:.0} ms"),
        Some(millis) if millis < 60_000.0 => format!("{:.1} s", millis / 1e3),
        Some(millis) => format!("{:.0} min", millis / 60e3),
    }
}

/// Returns how long ago a time is: `12s`, `5m`, `3h`, `2d`.
pub fn age(value: &Value) -> String {
    let Ok(at) = text(value).parse::<jiff::Timestamp>() else { return String::new() };
    let seconds = SystemClock.now().secs() - at.as_second();
    // Clocks differ a little.
    let (sign, seconds) = if seconds < -2 { ("in ", -seconds) } else { ("", seconds.max(0)) };
    format!("{sign}{}", span(seconds))
}

/// Returns how far ahead a time is: `in 12s`, `in 5m`, or `now`.
pub fn ahead(value: &Value) -> String {
    let Ok(at) = text(value).parse::<jiff::Timestamp>() else { return String::new() };
    match at.as_second() - SystemClock.now().secs() {
        ..=0 => "now".to_owned(),
        seconds => format!("in {}", span(seconds)),
    }
}

fn span(seconds: i64) -> String {
    let (number, unit) = match seconds {
        0..120 => (seconds, "s"),
        120..7_200 => (seconds / 60, "m"),
        7_200..172_800 => (seconds / 3_600, "h"),
        _ => (seconds / 86_400, "d"),
    };
    format!("{number}{unit}")
}

/// Returns a number of bytes: `512 B`, `1.5 KiB`, `3.2 GiB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1_024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1_024.0;
    let mut unit = 0;
    while value >= 1_024.0 && unit + 1 < UNITS.len() {
        value /= 1_024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sizes_are_readable() {
        let sizes = [0, 1_023, 1_024, 1_536, 5 << 30].map(size);
        assert_eq!(sizes, ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "5.0 GiB"]);
    }

    #[test]
    fn figures_and_times() {
        let figures = [0, 999, 1_000, 1_234_567].map(count);
        assert_eq!(figures, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(when(&json!("2026-11-15T10:00:00.123Z")), "2026-11-15 10:00:00");
        assert_eq!(when(&Value::Null), "");
        assert_eq!((many(1, "key"), many(2, "key")), ("1 key".into(), "2 keys".into()));
        assert_eq!(
            (many(1, "delivery"), many(0, "delivery")),
            ("1 delivery".into(), "0 deliveries".into())
        );
    }

    #[test]
    fn rates_are_written_as_they_are_given() {
        let shown =
            [json!({"count": 100, "per": "1s"}), json!({"count": 5, "per": "15m"}), Value::Null];
        assert_eq!(shown.map(|one| rate(&one)), ["100/s", "5/15m", ""]);
    }
}
