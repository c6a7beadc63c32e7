//! The filter of deliveries. It is the address of the page, so that it can be shared; what someone types
//! into the field becomes such an address.

use crate::{escape::Text, params::Link, sentence::Sentence, visit::Visit};

use super::PATH;

#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub status: Option<String>,
    pub(super) event_type: Option<String>,
    pub(super) endpoint: Option<String>,
    pub(super) event: Option<String>,
    pub(super) external: Option<String>,
    pub(super) since: Option<String>,
    pub(super) until: Option<String>,
    /// Words that could not be understood.
    pub unknown: Vec<Text>,
    /// Whether a part of it was typed, and the address is not yet the canonical one.
    is_typed: bool,
    /// An id of a delivery that was typed.
    delivery: Option<String>,
}

/// A condition that is in force, and the address without it.
pub struct Chip {
    pub label: Sentence,
    pub value: Text,
    pub without: Link,
}

/// What can be typed before a colon.
pub const QUALIFIERS: [&str; 7] =
    ["type", "endpoint", "event", "external", "status", "since", "until"];

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
                Some((name, value)) => filter.set(name, value),
                None if word.starts_with("dlv_") => filter.delivery = Some(word.to_owned()),
                None if word.starts_with("evt_") => filter.event = Some(word.to_owned()),
                None if word.starts_with("wh_") => filter.endpoint = Some(word.to_owned()),
                None => filter.external = Some(word.to_owned()),
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
        let link = visit.link(path);
        self.fields().into_iter().fold(link, |link, (name, value)| link.maybe(name, value))
    }

    fn fields(&self) -> [(&'static str, Option<&str>); 7] {
        [
            ("status", self.status.as_deref()),
            ("type", self.event_type.as_deref()),
            ("endpoint", self.endpoint.as_deref()),
            ("event", self.event.as_deref()),
            ("external", self.external.as_deref()),
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
                "since" => t.say("filter.since"),
                "until" => t.say("filter.until"),
                _ => return None,
            };
            let without = self.link(visit).with(name, "");
            Some(Chip { label, value: value?.into(), without })
        });
        fields.collect()
    }

    /// Whether it ends before now, so that nothing new can come.
    pub fn has_end(&self) -> bool {
        self.until.is_some()
    }

    /// Whether anything is left out.
    pub fn is_narrow(&self) -> bool {
        self.fields().iter().any(|(_, value)| value.is_some())
    }
}
