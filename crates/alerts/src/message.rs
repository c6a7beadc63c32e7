//! The message about the changes of one evaluation, so that many simultaneous alerts are one message.

use std::fmt::Write;

use async_trait::async_trait;
use gancho_domain::{Id, Time, id::IdKind};
use serde_json::{Value, json};

use crate::{AlertState, Change, ChangeKind};

/// The type of the event that a URL gets, which is a notice like the others.
pub const EVENT_TYPE: &str = "webhook.alert";
/// Maximum lines that are written out; the others are counted.
const MAX_LINES: usize = 20;

pub enum MessageIdKind {}

impl IdKind for MessageIdKind {
    const PREFIX: &'static str = "alr";
}

pub type MessageId = Id<MessageIdKind>;

#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The id of the message, the same at every attempt to send it.
    pub id: MessageId,
    pub at: Time,
    pub changes: Vec<Change>,
}

/// A destination of messages.
#[async_trait]
pub trait Channel: Send + Sync + 'static {
    /// Returns the name for the log: `url`, `slack` or `email`.
    fn name(&self) -> &'static str;

    /// Reads what it needs from the store and caches it, so that sending needs no store.
    async fn refresh(&self) {}

    /// Sends it once. The error is for the log and contains no secret.
    async fn send(&self, message: &Message) -> Result<(), String>;
}

impl Message {
    /// Returns a title of one line with the most important change.
    pub fn title(&self) -> String {
        let firing = self.changes.iter().filter(|change| !is_resolved(change)).count();
        let resolved = self.changes.len() - firing;
        match (&self.changes[..], firing, resolved) {
            ([], ..) => "Gancho: test of the alert channel".to_owned(),
            ([one], ..) => format!("Gancho: {}", line(one)),
            (_, firing, 0) => format!("Gancho: {firing} alerts"),
            (_, 0, resolved) => format!("Gancho: {resolved} alerts resolved"),
            (_, 1, resolved) => format!("Gancho: 1 alert, {resolved} resolved"),
            (_, firing, resolved) => format!("Gancho: {firing} alerts, {resolved} resolved"),
        }
    }

    /// Returns the text, with a line for each alert.
    pub fn text(&self) -> String {
        if self.changes.is_empty() {
            return "This is a test. Alerts of the gateway arrive here.\n".to_owned();
        }
        let mut text = String::new();
        for change in self.changes.iter().take(MAX_LINES) {
            let _ = writeln!(text, "{}", line(change));
        }
        let more = self.changes.len().saturating_sub(MAX_LINES);
        if more > 0 {
            let _ = writeln!(text, "and {more} more: see /ui/alerts");
        }
        text
    }

    /// Returns the data of the event [`EVENT_TYPE`].
    pub fn json(&self) -> Value {
        let alerts: Vec<Value> = self.changes.iter().map(alert_json).collect();
        json!({
            "id": self.id.to_string(),
            "title": self.title(),
            "is_test": self.changes.is_empty(),
            "count": alerts.len(),
            "alerts": alerts,
        })
    }

    /// Returns the body of a Slack incoming webhook, which other chat systems accept as well.
    pub fn slack(&self) -> Value {
        let text = format!("*{}*\n{}", escaped(&self.title()), escaped(&self.text()));
        json!({ "text": text })
    }
}

fn alert_json(change: &Change) -> Value {
    let alert = change.alert();
    json!({
        "change": ChangeKind::of(change).name(),
        "rule": alert.rule.name(),
        "severity": alert.rule.severity().name(),
        "summary": alert.rule.summary(),
        "subject": if alert.subject.is_empty() { None } else { Some(&alert.subject) },
        "state": if alert.state == AlertState::Firing && !is_resolved(change) { "firing" } else { "resolved" },
        "value": alert.value,
        "threshold": alert.threshold,
        "detail": alert.detail,
        "since": alert.since().to_string(),
    })
}

fn is_resolved(change: &Change) -> bool {
    matches!(change, Change::Resolved(_))
}

fn line(change: &Change) -> String {
    let alert = change.alert();
    let word = match change {
        Change::Fired(_) => alert.rule.severity().name(),
        Change::Reminder(_) => "still firing",
        Change::Resolved(_) => "resolved",
    };
    // The details of conditions that hold name their subject.
    let subject = match change {
        Change::Resolved(_) if !alert.subject.is_empty() => format!("{}, ", alert.subject),
        _ => String::new(),
    };
    format!("[{word}] {}: {subject}{}", alert.rule.summary(), alert.detail)
}

/// Escapes Slack's three special characters.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{AlertBook, Condition, Rule};

    fn message(count: usize) -> Message {
        let holding = (0..count).map(|number| Condition {
            rule: Rule::SourceKeyExpiring,
            subject: format!("acme/{number}"),
            value: 1.0,
            threshold: 0.0,
            detail: format!("key {number} of <acme> ends"),
        });
        let now = Time::from_secs(1_000);
        let changes = AlertBook::default().step(holding.collect(), Duration::ZERO, now);
        Message { id: MessageId::from_bits(1), at: now, changes }
    }

    #[test]
    fn many_are_one_message() {
        let text = message(45).text();
        assert_eq!(text.lines().count(), 21);
        assert!(text.ends_with("and 25 more: see /ui/alerts\n"), "{text}");
        assert_eq!(message(45).title(), "Gancho: 45 alerts");
        assert_eq!(message(45).json()["alerts"].as_array().unwrap().len(), 45);
    }

    #[test]
    fn one_is_its_own_title_and_slack_is_escaped() {
        let one = message(1);
        let expected = "Gancho: [warning] A source has no valid key, or soon will have none: key 0 of <acme> ends";
        assert_eq!(one.title(), expected);
        let slack = one.slack()["text"].as_str().unwrap().to_owned();
        assert!(slack.contains("&lt;acme&gt;") && !slack.contains('<'), "{slack}");
        assert_eq!(message(0).json()["is_test"], true);
    }
}
