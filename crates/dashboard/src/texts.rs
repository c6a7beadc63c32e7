//! Texts, times and numbers in the language of a page.

use std::{borrow::Borrow, fmt, time::Duration};

use gancho_domain::Time;

use crate::{
    catalog,
    display_time::DisplayTime,
    language::Language,
    sentence::{Html, Sentence},
    statistics::Estimate,
};

/// The language of a page, the time at which it is rendered, and its reader.
#[derive(Debug, Clone, Copy)]
pub struct Texts {
    pub language: Language,
    pub now: Time,
    /// Whether a tenant's users read it, who know nothing of lanes and other tenants.
    pub is_portal: bool,
}

/// A number per unit of time, such as `214` `/s`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rate {
    pub number: String,
    pub unit: &'static str,
}

impl Texts {
    /// Returns the text of a key.
    pub fn say(&self, key: &'static str) -> Sentence {
        Sentence::new(catalog::text(self.language, key))
    }

    /// Returns the text of a key for a number, which fills `{n}`.
    pub fn count(&self, key: &'static str, count: impl Borrow<u64>) -> Sentence {
        let count = *count.borrow();
        let pattern = catalog::plural(self.language, key, count);
        Sentence::new(pattern).with("n", self.number(count))
    }

    /// Returns text such as `12,345`.
    pub fn number(&self, number: impl Borrow<u64>) -> String {
        let digits = number.borrow().to_string();
        let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                grouped.push(self.language.thousands());
            }
            grouped.push(digit);
        }
        grouped
    }

    /// Returns text such as `12.3`.
    pub fn decimal(&self, number: f64) -> String {
        let text = format!("{number:.1}");
        text.replace('.', &self.language.decimal().to_string())
    }

    /// Returns a share from 0 to 1: `98.6 %`. Rounded down, so that only the whole is `100 %`.
    pub fn percent(&self, share: f64) -> String {
        let tenths = (share * 1_000.0 + 1e-6).floor();
        if tenths % 10.0 == 0.0 {
            return format!("{:.0} %", tenths / 10.0);
        }
        format!("{} %", self.decimal(tenths / 10.0))
    }

    /// Returns how often something happened, per second, minute, hour or day: the shortest with a rate of at
    /// least one.
    pub fn rate(&self, count: u64, span: Duration) -> Rate {
        let per_second = count as f64 / span.as_secs_f64().max(1.0);
        let units = [(1.0, "/s"), (60.0, "/min"), (3_600.0, "/h"), (86_400.0, "/d")];
        let fits = |(length, _): &&(f64, &str)| per_second * length >= 1.0 || *length > 3_600.0;
        let (length, unit) = units.iter().find(fits).copied().unwrap_or((1.0, "/s"));
        let number = per_second * length;
        let is_whole = number >= 100.0 || number == 0.0;
        let number =
            if is_whole { self.number(number.round() as u64) } else { self.decimal(number) };
        Rate { number, unit }
    }

    /// Returns text such as `312 B`, `4.2 KiB`.
    pub fn bytes(&self, bytes: impl Borrow<u64>) -> String {
        let bytes = *bytes.borrow();
        match bytes {
            0..1_024 => format!("{bytes} B"),
            1_024..1_048_576 => format!("{} KiB", self.decimal(bytes as f64 / 1_024.0)),
            _ => format!("{} MiB", self.decimal(bytes as f64 / 1_048_576.0)),
        }
    }

    /// Returns how long something took: `184 ms`, `1.2 s`.
    pub fn latency(&self, millis: impl Borrow<f64>) -> String {
        let millis = *millis.borrow();
        match millis {
            ..1.0 => format!("{} ms", self.decimal(millis)),
            ..1_000.0 => format!("{millis:.0} ms"),
            _ => format!("{} s", self.decimal(millis / 1_000.0)),
        }
    }

    /// Returns text such as `184 ms`, `< 1 ms`, `> 600 s`.
    pub fn estimate(&self, estimate: impl Borrow<Estimate>) -> String {
        let estimate = *estimate.borrow();
        let millis = self.latency(estimate.millis());
        match estimate {
            Estimate::About(_) => millis,
            Estimate::Under(_) => format!("< {millis}"),
            Estimate::Over(_) => format!("> {millis}"),
        }
    }

    /// Returns a duration with at most two units: `20 min 52 s`, `3 d 4 h`.
    pub fn span(&self, span: Duration) -> String {
        let seconds = span.as_secs();
        let units = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
        let Some(first) = units.iter().position(|(unit, _)| seconds >= *unit) else {
            return "< 1 s".to_owned();
        };
        let (unit, name) = units[first];
        let whole = format!("{} {name}", self.number(seconds / unit));
        match units.get(first + 1) {
            Some((next, name)) if seconds % unit / next > 0 => {
                format!("{whole} {} {name}", seconds % unit / next)
            }
            _ => whole,
        }
    }

    /// Returns the time of day, with the date if it is another day: `14:32:48`, `15 Nov 12:18`.
    pub fn time(&self, moment: &DisplayTime) -> Html {
        moment.element(self, &moment.short(self), "")
    }

    /// Returns day and time in full.
    pub fn full_time(&self, moment: &DisplayTime) -> Html {
        moment.element(self, &moment.full(self), "")
    }

    /// Returns text such as `2 h 14 min ago`.
    pub fn ago(&self, moment: &DisplayTime) -> Html {
        let span = self.now.since(moment.time());
        let text = if span < Duration::from_secs(1) {
            self.say("time.now").to_string()
        } else {
            self.say("time.ago").with("span", self.span(span)).to_string()
        };
        moment.element(self, &text, "")
    }

    /// Returns the time until a moment in the future, which the script counts down: `20 min 52 s`.
    pub fn until(&self, moment: &DisplayTime) -> Html {
        let span = moment.time().since(self.now);
        moment.element(self, &self.span(span), " data-countdown")
    }

    /// Returns how long ago a moment was, as plain text.
    pub fn age(&self, moment: &DisplayTime) -> String {
        self.span(self.now.since(moment.time()))
    }

    /// Returns a list of names, as `a, b, c`.
    pub fn list<T: fmt::Display>(&self, items: &[T]) -> String {
        items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(language: Language) -> Texts {
        Texts { language, now: Time::from_secs(1_000_000), is_portal: false }
    }

    #[test]
    fn numbers_follow_the_language() {
        let (english, spanish) = (texts(Language::English), texts(Language::Spanish));
        assert_eq!(english.number(1_954_061_u64), "1,954,061");
        assert_eq!(spanish.number(1_204_u64), "1.204");
        assert_eq!(english.number(999_u64), "999");
        assert_eq!(spanish.latency(1_240.0), "1,2 s");
        assert_eq!(english.bytes(1_536_u64), "1.5 KiB");
    }

    #[test]
    fn shares_are_rounded_down() {
        let texts = texts(Language::English);
        for (share, text) in
            [(1.0, "100 %"), (0.9999, "99.9 %"), (0.986, "98.6 %"), (0.5, "50 %"), (0.0, "0 %")]
        {
            assert_eq!(texts.percent(share), text);
        }
    }

    #[test]
    fn rates_have_a_unit_that_makes_at_least_one() {
        let texts = texts(Language::English);
        for (count, seconds, number, unit) in [
            (12_840, 60, "214", "/s"),
            (90, 60, "1.5", "/s"),
            (12, 60, "12.0", "/min"),
            (1, 3_600, "1.0", "/h"),
            (1, 864_000, "0.1", "/d"),
            (0, 60, "0", "/d"),
        ] {
            let rate = texts.rate(count, Duration::from_secs(seconds));
            assert_eq!((rate.number.as_str(), rate.unit), (number, unit));
        }
    }

    #[test]
    fn durations_have_two_units_at_the_maximum() {
        let texts = texts(Language::English);
        for (seconds, text) in [
            (0, "< 1 s"),
            (59, "59 s"),
            (60, "1 min"),
            (1_252, "20 min 52 s"),
            (8_040, "2 h 14 min"),
            (7_201, "2 h"),
            (273_600, "3 d 4 h"),
        ] {
            assert_eq!(texts.span(Duration::from_secs(seconds)), text);
        }
    }
}
