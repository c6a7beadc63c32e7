//! The filter of dead letters, which is also the selection of a replay.

use serde_json::{Map, Value};

use crate::{
    escape::Text,
    params::{Link, Params},
    problem::FormErrors,
    sentence::Sentence,
    texts::Texts,
    visit::Visit,
};

/// A condition of the filter.
pub struct Chip {
    pub name: &'static str,
    pub label: Sentence,
    pub value: Text,
    /// The error of the value.
    pub error: Option<Sentence>,
}

#[derive(Default)]
pub struct Filter {
    code: Option<String>,
    lane: Option<String>,
    partner: Option<String>,
    since: Option<String>,
    until: Option<String>,
}

impl Filter {
    pub fn read(params: &Params) -> Self {
        let value = |name| params.get(name).map(|value| value.trim().to_owned());
        Self {
            code: value("code"),
            lane: value("lane"),
            partner: value("partner"),
            since: value("since"),
            until: value("until"),
        }
    }

    fn fields(&self) -> [(&'static str, Option<&str>); 5] {
        [
            ("code", self.code.as_deref()),
            ("lane", self.lane.as_deref()),
            ("partner", self.partner.as_deref()),
            ("since", self.since.as_deref()),
            ("until", self.until.as_deref()),
        ]
    }

    pub fn to_api(&self, path: &str) -> Link {
        self.fields()
            .into_iter()
            .fold(Link::new(path), |link, (name, value)| link.maybe(name, value))
    }

    pub fn link(&self, visit: &Visit, path: &str) -> Link {
        let link = visit.link(path);
        self.fields().into_iter().fold(link, |link, (name, value)| link.maybe(name, value))
    }

    /// Returns the filter as a body. The tenant is that of the page.
    pub fn body(&self) -> Map<String, Value> {
        let fields = self.fields().into_iter();
        fields.filter_map(|(name, value)| Some((name.to_owned(), value?.into()))).collect()
    }

    pub fn chips(&self, t: &Texts, errors: &FormErrors) -> Vec<Chip> {
        let chip = |(name, value): (&'static str, Option<&str>)| {
            let label = match name {
                "code" => t.say("dead.code"),
                "lane" => t.say("dead.lane"),
                "partner" => t.say("dead.partner"),
                "since" => t.say("dead.since"),
                _ => t.say("dead.until"),
            };
            let error = errors.has_parameter(name).then(|| match name {
                "since" | "until" => t.say("filter.bad_time"),
                _ => t.say("filter.bad_value"),
            });
            Some(Chip { name, label, value: value?.into(), error })
        };
        self.fields().into_iter().filter_map(chip).collect()
    }
}
