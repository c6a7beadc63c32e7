//! The filter of a list, which is in the URL of its page: what can be typed, and a chip for each condition in
//! force.

use crate::{
    escape::Text, params::Link, problem::FormErrors, sentence::Sentence, texts::Texts, visit::Visit,
};

/// A condition of a list of the API.
pub struct Condition {
    /// The name in the URL of the page.
    pub name: &'static str,
    /// The parameter of the API.
    parameter: &'static str,
    pub label: Sentence,
    pub placeholder: &'static str,
    /// Empty if it is not in force.
    pub value: String,
    /// The error of the value.
    pub error: Option<Sentence>,
    /// The page without this condition.
    pub without: Link,
}

impl Condition {
    pub fn is_set(&self) -> bool {
        !self.value.is_empty()
    }

    pub fn value_text(&self) -> Text {
        self.value.as_str().into()
    }
}

/// A condition before its value is read: its name on the page and in the API, and an example.
pub type Template = (&'static str, &'static str, &'static str);

pub const SINCE: Template = ("since", "since", "2026-11-15T10:00:00Z");
pub const UNTIL: Template = ("until", "until", "2026-11-16T10:00:00Z");

pub struct ListFilter {
    pub conditions: Vec<Condition>,
    /// The URL of the page with all conditions.
    pub here: Link,
}

impl ListFilter {
    /// Reads the conditions in the URL. `base` is the page with everything else, such as its tab.
    pub fn read(visit: &Visit, base: Link, templates: &[Template]) -> Self {
        let value = |name: &str| visit.params.text(name).to_owned();
        let here = templates.iter().fold(base, |link, (name, ..)| link.with(name, value(name)));
        let condition = |(name, parameter, placeholder): &Template| Condition {
            name,
            parameter,
            label: label(&visit.t, name),
            placeholder,
            value: value(name),
            error: None,
            without: here.clone().with(name, ""),
        };
        let conditions = templates.iter().map(condition).collect();
        Self { conditions, here }
    }

    pub fn to_api(&self, link: Link) -> Link {
        let set = self.conditions.iter();
        set.fold(link, |link, one| link.with(one.parameter, &one.value))
    }

    /// Returns the conditions as a body of the API.
    pub fn to_body(&self) -> serde_json::Map<String, serde_json::Value> {
        let set = self.conditions.iter().filter(|one| one.is_set());
        set.map(|one| (one.parameter.to_owned(), one.value.as_str().into())).collect()
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.conditions.iter().find(|one| one.name == name && one.is_set());
        found.map(|one| one.value.as_str())
    }

    pub fn is_narrow(&self) -> bool {
        self.conditions.iter().any(Condition::is_set)
    }

    /// Marks the conditions that the API refused.
    pub fn mark(&mut self, t: &Texts, errors: &FormErrors) {
        for one in &mut self.conditions {
            one.error = errors.has_parameter(one.parameter).then(|| match one.name {
                "since" | "until" => t.say("filter.bad_time"),
                "recipient" => t.say("filter.bad_address"),
                _ => t.say("filter.bad_value"),
            });
        }
    }

    /// Whether a condition on the page is marked as invalid.
    pub fn is_marked(&self) -> bool {
        self.conditions.iter().any(|one| one.error.is_some())
    }
}

fn label(t: &Texts, name: &str) -> Sentence {
    match name {
        "type" => t.say("filter.type"),
        "external" => t.say("filter.external"),
        "recipient" => t.say("filter.recipient"),
        "event" => t.say("filter.event_id"),
        "since" => t.say("filter.since"),
        "until" => t.say("filter.until"),
        _ => t.say("filter.status"),
    }
}
