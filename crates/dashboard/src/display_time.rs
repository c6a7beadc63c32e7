//! Points in time, in the form of the API and of pages.

use gancho_domain::Time;
use jiff::{Timestamp, civil::DateTime, tz::Offset};
use serde::{Deserialize, Deserializer, de::Error};

use crate::{catalog, sentence::Html, texts::Texts};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DisplayTime(Timestamp);

impl DisplayTime {
    pub fn of(time: Time) -> Self {
        Self(Timestamp::from_microsecond(time.micros()).unwrap_or(Timestamp::UNIX_EPOCH))
    }

    pub fn time(&self) -> Time {
        Time::from_micros(self.0.as_microsecond())
    }

    /// Returns the element with the exact time, around the text for people.
    pub(crate) fn element(&self, texts: &Texts, shown: &str, attribute: &str) -> Html {
        let exact = format!("{:.3}", self.0);
        Html::trusted(format!(
            "<time datetime=\"{exact}\" title=\"{}\"{attribute}>{shown}</time>",
            self.full(texts),
        ))
    }

    pub(crate) fn short(&self, texts: &Texts) -> String {
        let (moment, today) = (civil(self.0), civil(Self::of(texts.now).0));
        let clock = self.clock();
        if moment.date() == today.date() {
            return format!("{clock}:{:02}", moment.second());
        }
        let day = self.day(texts);
        if moment.year() == today.year() {
            return format!("{day} {clock}");
        }
        format!("{day} {} {clock}", moment.year())
    }

    /// Returns text such as `14:30`.
    pub(crate) fn clock(&self) -> String {
        let moment = civil(self.0);
        format!("{:02}:{:02}", moment.hour(), moment.minute())
    }

    /// Returns text such as `15 Nov`.
    pub(crate) fn day(&self, texts: &Texts) -> String {
        let moment = civil(self.0);
        format!("{} {}", moment.day(), word(texts, "time.months", moment.month()))
    }

    /// Returns text such as `15 Nov 14:30`.
    pub(crate) fn day_and_clock(&self, texts: &Texts) -> String {
        format!("{} {}", self.day(texts), self.clock())
    }

    /// Returns text such as `Mon`.
    pub(crate) fn weekday(&self, texts: &Texts) -> &'static str {
        word(texts, "time.weekdays", civil(self.0).weekday().to_monday_one_offset())
    }

    pub(crate) fn full(&self, texts: &Texts) -> String {
        let moment = civil(self.0);
        let weekday = self.weekday(texts);
        let month = word(texts, "time.months", moment.month());
        format!(
            "{weekday} {} {month} {} {:02}:{:02}:{:02} UTC",
            moment.day(),
            moment.year(),
            moment.hour(),
            moment.minute(),
            moment.second(),
        )
    }
}

fn civil(at: Timestamp) -> DateTime {
    Offset::UTC.to_datetime(at)
}

/// Returns the word at a position, from 1, in a text that lists them.
fn word(texts: &Texts, key: &'static str, place: i8) -> &'static str {
    let index = usize::try_from(place - 1).unwrap_or_default();
    catalog::text(texts.language, key).split(' ').nth(index).unwrap_or_default()
}

impl<'de> Deserialize<'de> for DisplayTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(D::Error::custom)
    }
}
