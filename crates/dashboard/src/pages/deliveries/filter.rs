//! The filter of deliveries. It is the address of the page, so that it can be shared; what someone types
//! into the field becomes such an address.

use crate::{escape::Text, params::Link, sentence::Sentence, visit::Visit};

use super::{super::list::List, PATH};

#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub status: Option<String>,
    pub(super) event_type: Option<String>,
    pub(super) endpoint: Option<String>,
    pub(super) event: Option<String>,
    pub(super) external: Option<String>,
    pub(super) text: Option<String>,
    pub(super) since: Option<String>,
    pub(super) until: Option<String>,
    /// The window of the histogram.
    pub(super) range: Option<String>,
    /// Words that could not be understood.
    pub unknown: Vec<Text>,
    /// Whether a part of it was typed, and the address is not yet the canonical one.
    is_typed: bool,
    /// An id of a delivery that was typed.
    delivery: Option<String>,
    /// What was typed without saying what it is.
    pub(super) words: Vec<String>,
}

/// A condition that is in force, and the address without it.
pub struct Chip {
    pub label: Sentence,
    pub value: Text,
    pub without: Link,
}

/// What can be typed before a colon.
pub const QUALIFIERS: [&str; 8] =
    ["type", "endpoint", "event", "external", "text", "status", "since", "until"];

impl Filter {
    pub fn read(visit: &Visit) -> Self {
        let params = &visit.params;
        let value = |name| params.get(name).map(|value| value.trim().to_owned());
        let mut filter = Self {
            status: value("status"),
            event_type: value("type"),
            endpoint: value("endpoint"),
            event: value("event"),
            external: value("external"),
            text: value("text"),
            range: value("range"),
            since: value("since"),
            until: value("until"),
            ..Self::default()
        };
        if let (Some(field), Some(value)) = (params.get("field"), params.get("value")) {
            filter.is_typed = true;
            filter.set(field, value.trim());
        }
        for word in params.text("q").split_whitespace() {
            filter.is_typed = true;
            match word.split_once(':') {
                Some((name, value)) if is_name(name) => filter.set(name, value),
                _ if word.starts_with("dlv_") => filter.delivery = Some(word.to_owned()),
                _ if word.starts_with("evt_") => filter.event = Some(word.to_owned()),
                _ if word.starts_with("wh_") => filter.endpoint = Some(word.to_owned()),
                _ => filter.words.push(word.to_owned()),
            }
        }
        filter
    }

    fn set(&mut self, name: &str, value: &str) {
        let value = Some(value.to_owned());
        match name {
            "type" => self.event_type = value,
            "endpoint" => self.endpoint = value,
            "event" => self.event = value,
            "external" => self.external = value,
            "text" => self.text = value,
            "status" => self.status = value,
            "since" => self.since = value,
            "until" => self.until = value,
            _ => self.unknown.push(name.into()),
        }
    }

    /// The address to go to instead, if something was typed and all of it was understood.
    pub fn canonical(&self, visit: &Visit) -> Option<Link> {
        if let Some(id) = &self.delivery {
            return Some(visit.link(format!("{PATH}/{}", crate::params::segment(id))));
        }
        (self.is_typed && self.unknown.is_empty()).then(|| self.link(visit))
    }

    pub fn link(&self, visit: &Visit) -> Link {
        self.link_to(visit, PATH)
    }

    /// The address of another page with this filter.
    pub fn link_to(&self, visit: &Visit, path: &str) -> Link {
        let link = visit.link(path).maybe("range", self.range.as_deref());
        self.fields().into_iter().fold(link, |link, (name, value)| link.maybe(name, value))
    }

    fn fields(&self) -> [(&'static str, Option<&str>); 8] {
        [
            ("status", self.status.as_deref()),
            ("type", self.event_type.as_deref()),
            ("endpoint", self.endpoint.as_deref()),
            ("event", self.event.as_deref()),
            ("external", self.external.as_deref()),
            ("text", self.text.as_deref()),
            ("since", self.since.as_deref()),
            ("until", self.until.as_deref()),
        ]
    }

    pub fn to_api(&self) -> Link {
        Link::new("/v1/deliveries")
            .maybe("status", self.status.as_deref())
            .maybe("event_type", self.event_type.as_deref())
            .maybe("webhook_id", self.endpoint.as_deref())
            .maybe("event_id", self.event.as_deref())
            .maybe("external_id", self.external.as_deref())
            .maybe("text", self.text.as_deref())
            .maybe("since", self.since.as_deref())
            .maybe("until", self.until.as_deref())
    }

    /// The status has its tabs; everything else is a chip.
    pub fn chips(&self, visit: &Visit) -> Vec<Chip> {
        let t = visit.t;
        let fields = self.fields().into_iter().filter_map(|(name, value)| {
            let label = match name {
                "type" => t.say("filter.type"),
                "endpoint" => t.say("filter.endpoint"),
                "event" => t.say("filter.event"),
                "external" => t.say("filter.external"),
                "text" => t.say("filter.text"),
                "since" => t.say("filter.since"),
                "until" => t.say("filter.until"),
                _ => return None,
            };
            let without = self.link(visit).with(name, "");
            Some(Chip { label, value: value?.into(), without })
        });
        fields.collect()
    }

    /// Whether rows can come and change while the page is open: not if it ends before now, nor if bodies would have
    /// to be searched again and again.
    pub fn is_live(&self) -> bool {
        self.until.is_none() && self.text.is_none()
    }

    /// Whether statistics are counted for what it selects, apart from the status and the time.
    pub fn is_in_statistics(&self, visit: &Visit) -> bool {
        let is_narrower = self.event_type.is_some()
            || self.event.is_some()
            || self.external.is_some()
            || self.text.is_some();
        !is_narrower && (self.endpoint.is_none() || visit.tenant.is_some())
    }

    /// What was typed without saying what it is: an external id, a type or a text in the payload, whichever there is.
    pub async fn resolve(&mut self, visit: &Visit) {
        let words = std::mem::take(&mut self.words);
        let [word] = words.as_slice() else {
            if !words.is_empty() {
                self.text = Some(words.join(" "));
            }
            return;
        };
        let word = word.trim_matches('"');
        if visit.tenant.is_some() && has_any(visit, "external_id", word).await {
            self.external = Some(word.to_owned());
        } else if has_any(visit, "event_type", word).await {
            self.event_type = Some(word.to_owned());
        } else {
            self.text = Some(word.to_owned());
        }
    }

    /// Whether anything is left out.
    pub fn is_narrow(&self) -> bool {
        self.fields().iter().any(|(_, value)| value.is_some())
    }
}

/// A word before a colon is a name. Anything else is a part of what is searched, such as `order:12`.
fn is_name(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// Whether a delivery fits one condition, as far as a page of the list looks.
async fn has_any(visit: &Visit, name: &str, value: &str) -> bool {
    let link = Link::new("/v1/deliveries").with(name, value).with("limit", 1);
    let found = visit.get::<List<serde::de::IgnoredAny>>(link).await;
    found.is_ok_and(|list| !list.data.is_empty())
}
