//! The filter of deliveries. It is the URL of the page, so that it can be shared; text that someone types
//! into the field becomes such a URL.

use crate::{
    escape::Text, params::Link, problem::FormErrors, search, sentence::Sentence, visit::Visit,
};

use super::{
    super::{list::List, scan::scan},
    EndpointName, PATH,
};

#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub status: Option<String>,
    pub(super) event_type: Option<String>,
    pub(super) endpoint: Option<String>,
    pub(super) event: Option<String>,
    pub(super) external: Option<String>,
    pub(super) subject: Option<String>,
    pub(super) error: Option<String>,
    pub(super) response: Option<String>,
    pub(super) text: Option<String>,
    pub(super) since: Option<String>,
    pub(super) until: Option<String>,
    /// The typed tenant.
    tenant: Option<String>,
    /// The window of the histogram.
    pub(super) range: Option<String>,
    /// Words that were not understood.
    pub unknown: Vec<Text>,
    /// Whether a part of it was typed, so that the URL is not canonical yet.
    is_typed: bool,
    /// In the portal, no tenant can be named.
    is_of_portal: bool,
    /// The typed id of a delivery.
    delivery: Option<String>,
    /// Typed words without a qualifier.
    pub(super) words: Vec<String>,
}

/// A condition in force, and the URL without it.
pub struct Chip {
    pub label: Sentence,
    pub value: Text,
    pub without: Link,
    /// The error of the value.
    pub error: Option<Sentence>,
}

/// The qualifiers that can be typed before a colon. The portal does not have the first.
const QUALIFIERS: [&str; 12] = [
    "tenant", "type", "endpoint", "event", "external", "subject", "error", "response", "text",
    "status", "since", "until",
];

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
            subject: value("subject"),
            error: value("error").map(|code| code.to_ascii_uppercase()),
            response: value("response"),
            text: value("text"),
            range: value("range"),
            since: value("since"),
            until: value("until"),
            is_of_portal: visit.is_portal(),
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
            "subject" => self.subject = value,
            "error" => self.error = value.map(|code| code.to_ascii_uppercase()),
            "response" => self.response = value,
            "text" => self.text = value,
            "status" => self.status = value,
            "since" => self.since = value,
            "until" => self.until = value,
            "tenant" if !self.is_of_portal => self.tenant = value,
            _ => self.unknown.push(name.into()),
        }
    }

    /// Returns the canonical URL to redirect to, if something was typed and all of it was understood.
    pub fn canonical(&self, visit: &Visit) -> Option<Link> {
        if let Some(id) = &self.delivery {
            return Some(visit.link(format!("{PATH}/{}", crate::params::segment(id))));
        }
        (self.is_typed && self.unknown.is_empty()).then(|| self.link(visit))
    }

    pub fn link(&self, visit: &Visit) -> Link {
        self.link_to(visit, PATH)
    }

    /// Returns the URL of another page with this filter.
    pub fn link_to(&self, visit: &Visit, path: &str) -> Link {
        let link = visit.link(path).maybe("range", self.range.as_deref());
        let link = match &self.tenant {
            Some(tenant) => link.with("tenant", tenant),
            None => link,
        };
        self.fields().into_iter().fold(link, |link, (name, value)| link.maybe(name, value))
    }

    /// Returns the parameters of the list, for a page that links back to it.
    pub fn query(&self, visit: &Visit) -> String {
        let link = self.link(visit).to_string();
        link.split_once('?').map(|(_, query)| query.to_owned()).unwrap_or_default()
    }

    fn fields(&self) -> [(&'static str, Option<&str>); 11] {
        self.parameters().map(|(name, _, value)| (name, value))
    }

    /// Returns the names here and in the API, and the values.
    fn parameters(&self) -> [(&'static str, &'static str, Option<&str>); 11] {
        [
            ("status", "status", self.status.as_deref()),
            ("type", "event_type", self.event_type.as_deref()),
            ("endpoint", "webhook_id", self.endpoint.as_deref()),
            ("event", "event_id", self.event.as_deref()),
            ("external", "external_id", self.external.as_deref()),
            ("subject", "subject", self.subject.as_deref()),
            ("error", "error_code", self.error.as_deref()),
            ("response", "response_status", self.response.as_deref()),
            ("text", "text", self.text.as_deref()),
            ("since", "since", self.since.as_deref()),
            ("until", "until", self.until.as_deref()),
        ]
    }

    pub fn to_api(&self, path: &'static str) -> Link {
        let link = Link::new(path);
        self.parameters().into_iter().fold(link, |link, (_, name, value)| link.maybe(name, value))
    }

    /// Returns the chips. A valid status has its tab; every other condition is a chip. One with an invalid
    /// value says so.
    pub fn chips(&self, visit: &Visit, errors: &FormErrors) -> Vec<Chip> {
        let t = visit.t;
        let fields = self.parameters().into_iter().filter_map(|(name, api_name, value)| {
            // The API takes `invoice.*`; with a `*` elsewhere, a type matches nothing.
            let is_invalid = |value: &str| {
                value.contains('*') && value.parse::<gancho_domain::Pattern>().is_err()
            };
            let is_invalid_type = name == "type" && value.is_some_and(is_invalid);
            let is_wrong = errors.has_parameter(api_name) || is_invalid_type;
            let label = match name {
                "status" if is_wrong => t.say("row.status"),
                "type" => t.say("filter.type"),
                "endpoint" => t.say("filter.endpoint"),
                "event" => t.say("filter.event"),
                "external" => t.say("filter.external"),
                "subject" => t.say("filter.subject"),
                "error" => t.say("filter.error"),
                "response" => t.say("filter.response"),
                "text" => t.say("filter.text"),
                "since" => t.say("filter.since"),
                "until" => t.say("filter.until"),
                _ => return None,
            };
            let without = self.link(visit).with(name, "");
            let error = is_wrong.then(|| match name {
                "since" | "until" => t.say("filter.bad_time"),
                "status" => t.say("filter.bad_status"),
                "response" => t.say("filter.bad_response"),
                "type" => t.say("filter.bad_type"),
                "endpoint" => t.say("filter.bad_endpoint"),
                _ => t.say("filter.bad_value"),
            });
            Some(Chip { label, value: value?.into(), without, error })
        });
        fields.collect()
    }

    /// Whether rows can appear and change while the page is open: not if the filter ends before now, nor if
    /// bodies would have to be searched again and again.
    pub fn is_live(&self) -> bool {
        self.until.is_none() && self.text.is_none() && self.subject.is_none()
    }

    /// Whether statistics cover the selection, apart from the time.
    pub fn is_in_statistics(&self, visit: &Visit) -> bool {
        let is_narrower = self.event_type.is_some()
            || self.event.is_some()
            || self.external.is_some()
            || self.subject.is_some()
            || self.error.is_some()
            || self.response.is_some()
            || self.text.is_some()
            || matches!(self.status.as_deref(), Some("pending" | "retrying"));
        !is_narrower && (self.endpoint.is_none() || visit.tenant.is_some())
    }

    /// Decides what typed words without a qualifier mean: an external id, a type or a text in the payload,
    /// whichever exists.
    pub async fn resolve(&mut self, visit: &Visit) {
        if let Some(name) = self.endpoint.clone().filter(|name| !name.starts_with("wh_")) {
            self.resolve_endpoint(visit, &name).await;
        }
        let words = std::mem::take(&mut self.words);
        let [word] = words.as_slice() else {
            if !words.is_empty() {
                self.text = Some(words.join(" "));
            }
            return;
        };
        let word = word.trim_matches('"');
        if is_external_id(visit, word).await {
            self.external = Some(word.to_owned());
        } else if has_any(visit, "event_type", word).await {
            self.event_type = Some(word.to_owned());
        } else {
            self.text = Some(word.to_owned());
        }
    }

    /// Finds an endpoint by its name. If several have it, or none, the filter stays as it was typed, and is
    /// marked.
    async fn resolve_endpoint(&mut self, visit: &Visit, name: &str) {
        let acting = match &self.tenant {
            Some(tenant) => visit.acting_for(tenant).await.ok(),
            None => Some(visit.clone()),
        };
        let Some(acting) = acting else { return };
        let Ok((all, _)) = scan::<EndpointName>(&acting, "/v1/webhooks").await else { return };
        let name = name.trim_matches('"').to_lowercase();
        let is_named = |one: &&EndpointName| one.name.as_str().to_lowercase() == name;
        let is_like = |one: &&EndpointName| one.name.as_str().to_lowercase().contains(&name);
        let named: Vec<_> = all.iter().filter(is_named).collect();
        let found = if named.is_empty() { all.iter().filter(is_like).collect() } else { named };
        if let [one] = found.as_slice() {
            self.endpoint = Some(one.id.clone());
            self.is_typed = true;
            if let Some(tenant) = &one.tenant {
                self.tenant = Some(tenant.to_string());
            }
        }
    }

    /// Returns the qualifiers that can be typed here.
    pub fn qualifiers(&self) -> &'static [&'static str] {
        if self.is_of_portal { &QUALIFIERS[1..] } else { &QUALIFIERS }
    }

    /// Whether the filter leaves anything out.
    pub fn is_narrow(&self) -> bool {
        self.fields().iter().any(|(_, value)| value.is_some())
    }
}

/// Whether a word before a colon is a qualifier. Anything else is a part of the search, such as `order:12`.
fn is_name(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// Whether an event has this external id: of the tenant, or of any.
async fn is_external_id(visit: &Visit, word: &str) -> bool {
    if visit.tenant.is_some() {
        return has_any(visit, "external_id", word).await;
    }
    let found = search::find(visit, word).await;
    found.is_ok_and(|found| !found.owners_of_events().is_empty())
}

/// Whether a delivery matches one condition, as far as a page of the list scans.
async fn has_any(visit: &Visit, name: &str, value: &str) -> bool {
    let link = Link::new("/v1/deliveries").with(name, value).with("limit", 1);
    let found = visit.get::<List<serde::de::IgnoredAny>>(link).await;
    found.is_ok_and(|list| !list.data.is_empty())
}
