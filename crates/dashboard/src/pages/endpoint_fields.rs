//! The fields of the form of an endpoint, typed or current, and the body for the API.

use serde_json::{Map, Value, json};

use super::endpoint_facts::{EndpointFacts, Retry};
use crate::{changes::changed, params::Params, typed_json::TypedObject};

/// Typed for a schedule without delays, so that the first attempt is the last one.
const NO_RETRY: &str = "none";

#[derive(Default)]
pub struct Fields {
    pub url: String,
    pub events: String,
    pub name: String,
    pub external_id: String,
    pub secret: String,
    pub profile: String,
    pub timeout: String,
    /// Delays between attempts, separated by commas.
    pub schedule: String,
    /// The other form of a retry schedule: a first delay that doubles.
    pub retry_base: String,
    pub retry_max: String,
    pub retry_attempts: String,
    pub rate_count: String,
    pub rate_per: String,
    pub max_in_flight: String,
    pub ordering: String,
    pub headers: String,
    pub metadata: String,
    /// The body of the endpoint when the form was opened.
    pub before: String,
}

impl Fields {
    pub fn read(form: &Params) -> Self {
        let text = |name| form.text(name).to_owned();
        Self {
            url: text("url"),
            events: text("events"),
            name: text("name"),
            external_id: text("external_id"),
            secret: text("secret"),
            profile: text("profile"),
            timeout: text("timeout"),
            schedule: text("schedule"),
            retry_base: text("retry_base"),
            retry_max: text("retry_max"),
            retry_attempts: text("retry_attempts"),
            rate_count: text("rate_count"),
            rate_per: text("rate_per"),
            max_in_flight: text("max_in_flight"),
            ordering: text("ordering"),
            headers: text("headers"),
            metadata: text("metadata"),
            before: text("before"),
        }
    }

    pub fn of(endpoint: EndpointFacts) -> Self {
        let (count, per) = endpoint
            .rate_limit
            .map_or_else(Default::default, |rate| (rate.count.to_string(), rate.per.to_string()));
        let Retry { schedule, base, max, attempts } = endpoint.retry.unwrap_or_default();
        let metadata = endpoint.metadata.get().trim();
        let mut fields = Self {
            url: endpoint.url,
            events: endpoint.events.join(", "),
            name: endpoint.name,
            external_id: endpoint.external_id.unwrap_or_default(),
            secret: String::new(),
            profile: endpoint.profile.to_string(),
            timeout: endpoint.timeout.map(|timeout| timeout.to_string()).unwrap_or_default(),
            schedule: match schedule {
                Some(delays) if delays.is_empty() => NO_RETRY.to_owned(),
                Some(delays) => delays.join(", "),
                None => String::new(),
            },
            retry_base: base.unwrap_or_default(),
            retry_max: max.unwrap_or_default(),
            retry_attempts: attempts.map(|attempts| attempts.to_string()).unwrap_or_default(),
            rate_count: count,
            rate_per: per,
            max_in_flight: endpoint.max_in_flight.map(|max| max.to_string()).unwrap_or_default(),
            ordering: endpoint.ordering,
            headers: String::new(),
            metadata: if matches!(metadata, "{}" | "null") { "" } else { metadata }.to_owned(),
            before: String::new(),
        };
        fields.before = fields.body(false);
        fields
    }

    pub fn changes(&self) -> String {
        changed(self.body(false), &self.before)
    }

    /// Returns the body for the API. Empty fields are left out for a new endpoint, and cleared for a changed
    /// one.
    pub fn body(&self, is_new: bool) -> String {
        let mut body = TypedObject::default();
        body.set("url", &self.url);
        body.set("events", parts(&self.events));
        body.set("name", &self.name);
        for (name, value) in
            [("profile", &self.profile), ("ordering", &self.ordering), ("secret", &self.secret)]
        {
            if !value.is_empty() {
                body.set(name, value);
            }
        }
        let text = |text: &str| (!text.is_empty()).then(|| json!(text));
        let max = (!self.max_in_flight.is_empty()).then(|| number(&self.max_in_flight));
        let clearable = [
            ("external_id", text(&self.external_id)),
            ("timeout", text(&self.timeout)),
            ("retry", self.retry()),
            ("rate_limit", self.rate_limit()),
            ("max_in_flight", max),
        ];
        for (name, value) in clearable {
            if value.is_some() || !is_new {
                body.set(name, value);
            }
        }
        match self.metadata.as_str() {
            "" if is_new => {}
            "" => body.set("metadata", json!({})),
            metadata => body.set_typed("metadata", metadata),
        }
        if !self.headers.is_empty() {
            body.set("headers", headers(&self.headers));
        }
        body.into_text()
    }

    fn rate_limit(&self) -> Option<Value> {
        (!self.rate_count.is_empty() || !self.rate_per.is_empty()).then(|| {
            let per = if self.rate_per.is_empty() { "1s" } else { &self.rate_per };
            json!({"count": number(&self.rate_count), "per": per})
        })
    }

    /// Returns one of the two forms; the API refuses a mixture of them.
    fn retry(&self) -> Option<Value> {
        let mut retry = Map::new();
        if self.schedule == NO_RETRY {
            retry.insert("schedule".to_owned(), json!([]));
        } else if !self.schedule.is_empty() {
            retry.insert("schedule".to_owned(), json!(parts(&self.schedule)));
        }
        for (name, value) in [("base", &self.retry_base), ("max", &self.retry_max)] {
            if !value.is_empty() {
                retry.insert(name.to_owned(), json!(value));
            }
        }
        if !self.retry_attempts.is_empty() {
            retry.insert("attempts".to_owned(), number(&self.retry_attempts));
        }
        (!retry.is_empty()).then_some(Value::Object(retry))
    }
}

/// Splits names or delays, separated by commas or white space.
fn parts(text: &str) -> Vec<&str> {
    text.split([',', ' ', '\n', '\r', '\t']).filter(|part| !part.is_empty()).collect()
}

/// Parses a number. The API refuses anything else, and says why.
fn number(text: &str) -> Value {
    text.parse::<u64>().map_or_else(|_| json!(text), |number| json!(number))
}

/// Parses lines of `name: value`.
fn headers(lines: &str) -> Value {
    let lines = lines.lines().filter(|line| !line.trim().is_empty());
    let pair = |line: &str| {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        (name.trim().to_owned(), json!(value.trim()))
    };
    Value::Object(lines.map(pair).collect())
}
