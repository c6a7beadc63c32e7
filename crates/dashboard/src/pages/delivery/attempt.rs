//! An attempt, and its differences from the one before.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{
    display_time::DisplayTime,
    escape::{Block, Text},
    failure,
    sentence::{Html, Sentence},
    status_mark::StatusMark,
    texts::Texts,
};

#[derive(Deserialize)]
pub struct Attempt {
    #[serde(rename = "attempt")]
    pub number: u32,
    pub started_at: DisplayTime,
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

    pub fn mark(&self) -> StatusMark {
        if self.is_delivered() { StatusMark::Delivered } else { StatusMark::Failed }
    }

    pub fn word(&self, t: &Texts) -> Sentence {
        if self.is_delivered() { t.say("status.delivered") } else { t.say("status.failed_attempt") }
    }

    /// Returns why it failed, in a few words.
    pub fn why(&self, t: &Texts) -> Option<Html> {
        self.error.as_ref().map(|error| failure::short(t, self.error_code.as_ref(), error))
    }

    /// Returns why it failed, with all details of the gateway.
    pub fn why_in_full(&self, t: &Texts) -> Option<Html> {
        self.error.as_ref().map(|error| failure::full(t, self.error_code.as_ref(), error))
    }

    /// Returns the status of the response, or the code of the failure.
    pub fn outcome(&self) -> Text {
        let status = self.response_status.map(|status| Text::from(&*status.to_string()));
        status.or_else(|| self.error_code.clone()).unwrap_or_default()
    }

    /// Returns the status with its phrase: `503 Service Unavailable`.
    pub fn status_line(&self) -> Option<String> {
        let status = self.response_status?;
        let known = http::StatusCode::from_u16(status).ok().and_then(|s| s.canonical_reason());
        Some(known.map_or_else(|| status.to_string(), |phrase| format!("{status} {phrase}")))
    }
}

/// A line that differs from the attempt before.
pub enum Change {
    /// A heading: the lines after it are those of the request, the response or a body.
    Request,
    Response,
    ResponseBody,
    Removed(Text),
    Added(Text),
}

/// Returns the differences of the later one.
pub fn changes(earlier: &Attempt, later: &Attempt) -> Vec<Change> {
    let mut changes = Vec::new();
    compare(&mut changes, Change::Request, &earlier.request_headers, &later.request_headers);
    let (before, after) = (response(earlier), response(later));
    compare(&mut changes, Change::Response, &before, &after);
    compare_bodies(&mut changes, body(earlier), body(later));
    changes
}

fn body(attempt: &Attempt) -> &str {
    attempt.response_body.as_ref().map_or("", |body| body.0.as_str())
}

/// Maximum changed lines that are shown.
const MAX_LINES: usize = 100;

/// Compares bodies by line: what is between the first and the last lines that both share.
fn compare_bodies(changes: &mut Vec<Change>, before: &str, after: &str) {
    if before == after {
        return;
    }
    let (before, after): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    let same = |(one, other): &(&&str, &&str)| one == other;
    let head = before.iter().zip(&after).take_while(same).count();
    let rest = (&before[head..], &after[head..]);
    let tail = rest.0.iter().rev().zip(rest.1.iter().rev()).take_while(same).count();
    let (removed, added) = (&rest.0[..rest.0.len() - tail], &rest.1[..rest.1.len() - tail]);
    changes.push(Change::ResponseBody);
    let removed = removed.iter().map(|line| Change::Removed((*line).into()));
    let added = added.iter().map(|line| Change::Added((*line).into()));
    changes.extend(removed.take(MAX_LINES).chain(added.take(MAX_LINES)));
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
