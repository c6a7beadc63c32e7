//! An attempt, and what changed since the one before.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{
    escape::{Block, Text},
    mark::Mark,
    moment::Moment,
};

#[derive(Deserialize)]
pub struct Attempt {
    #[serde(rename = "attempt")]
    pub number: u32,
    pub started_at: Moment,
    pub latency_ms: f64,
    pub request_headers: BTreeMap<Text, Text>,
    pub response_status: Option<u16>,
    pub response_headers: BTreeMap<Text, Text>,
    pub response_body: Option<Block>,
    pub error: Option<Text>,
    pub error_code: Option<Text>,
}

impl Attempt {
    pub fn is_delivered(&self) -> bool {
        self.error.is_none()
    }

    pub fn mark(&self) -> Mark {
        if self.is_delivered() { Mark::Delivered } else { Mark::Failed }
    }

    /// The status of the response, or the code of what went wrong.
    pub fn outcome(&self) -> Text {
        let status = self.response_status.map(|status| Text::from(&*status.to_string()));
        status.or_else(|| self.error_code.clone()).unwrap_or_default()
    }

    /// The status with its phrase: `503 Service Unavailable`.
    pub fn status_line(&self) -> Option<String> {
        let status = self.response_status?;
        let known = http::StatusCode::from_u16(status).ok().and_then(|s| s.canonical_reason());
        Some(known.map_or_else(|| status.to_string(), |phrase| format!("{status} {phrase}")))
    }
}

/// A line that differs from the attempt before.
pub enum Change {
    /// What the lines after it are of.
    Request,
    Response,
    Removed(Text),
    Added(Text),
}

/// What is different from the attempt before. The first of the list is the later one.
pub fn changes(attempts: &[Attempt]) -> Vec<Change> {
    let [later, earlier, ..] = attempts else { return Vec::new() };
    let mut changes = Vec::new();
    compare(&mut changes, Change::Request, &earlier.request_headers, &later.request_headers);
    let (before, after) = (response(earlier), response(later));
    compare(&mut changes, Change::Response, &before, &after);
    changes
}

fn response(attempt: &Attempt) -> BTreeMap<Text, Text> {
    let mut lines = attempt.response_headers.clone();
    lines.insert(":status".into(), attempt.outcome());
    lines
}

fn compare(
    changes: &mut Vec<Change>,
    part: Change,
    before: &BTreeMap<Text, Text>,
    after: &BTreeMap<Text, Text>,
) {
    let line = |name: &Text, value: &Text| Text::from(&*format!("{name}: {value}"));
    let mut lines = Vec::new();
    for (name, value) in before {
        if after.get(name) != Some(value) {
            lines.push(Change::Removed(line(name, value)));
            if let Some(value) = after.get(name) {
                lines.push(Change::Added(line(name, value)));
            }
        }
    }
    let is_new = |(name, _): &(&Text, &Text)| !before.contains_key(*name);
    lines.extend(after.iter().filter(is_new).map(|(name, value)| Change::Added(line(name, value))));
    if !lines.is_empty() {
        changes.push(part);
        changes.extend(lines);
    }
}
