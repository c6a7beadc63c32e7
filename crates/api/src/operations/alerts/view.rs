//! Renders alerts, silences and history.

use gancho_alerts::{AlertState, HistoryEntry, ListedAlert};
use serde::Serialize;
use utoipa::ToSchema;

use crate::render::{Timestamp, words};

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Alert)]
pub struct AlertView {
    /// The name of the rule, e.g. `dead_letters_high`.
    #[schema(value_type = words::AlertRule)]
    pub rule: &'static str,
    /// `critical` or `warning`.
    #[schema(value_type = words::AlertSeverity)]
    pub severity: &'static str,
    /// What the rule means, in English.
    pub summary: &'static str,
    /// What it is about: a tenant, an endpoint, a node, a lane or a key; null for the whole gateway.
    pub subject: Option<String>,
    /// `pending` (the condition holds, but not for long enough) or `firing`.
    #[schema(value_type = words::AlertState)]
    pub state: &'static str,
    pub value: f64,
    pub threshold: f64,
    /// A sentence with the figures.
    pub detail: String,
    /// When the condition began to hold.
    pub since: Timestamp,
    /// The silence that keeps it from being sent.
    pub silence_id: Option<String>,
}

impl From<ListedAlert> for AlertView {
    fn from(listed: ListedAlert) -> Self {
        let ListedAlert { alert, silence } = listed;
        Self {
            rule: alert.rule.name(),
            severity: alert.rule.severity().name(),
            summary: alert.rule.summary(),
            state: match alert.state {
                AlertState::Pending => "pending",
                AlertState::Firing => "firing",
            },
            value: alert.value,
            threshold: alert.threshold,
            since: Timestamp(alert.since()),
            detail: alert.detail,
            subject: filled(alert.subject),
            silence_id: silence.map(|id| id.to_string()),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AlertSilence)]
pub struct SilenceView {
    pub id: String,
    /// The rule that is silenced; null for every rule.
    #[schema(value_type = Option<words::AlertRule>)]
    pub rule: Option<&'static str>,
    /// The subject that is silenced; null for every subject.
    pub subject: Option<String>,
    pub until: Timestamp,
    pub comment: String,
    /// The user who made it, or `operator`.
    pub created_by: String,
}

impl From<gancho_alerts::Silence> for SilenceView {
    fn from(silence: gancho_alerts::Silence) -> Self {
        Self {
            id: silence.id.to_string(),
            rule: silence.rule.map(gancho_alerts::Rule::name),
            subject: silence.subject,
            until: Timestamp(silence.until),
            comment: silence.comment,
            created_by: silence.by,
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct AlertChange {
    pub at: Timestamp,
    /// `fired`, `reminder` (it kept firing and was sent again) or `resolved`.
    #[schema(value_type = words::AlertChangeKind)]
    pub change: &'static str,
    #[schema(value_type = words::AlertRule)]
    pub rule: &'static str,
    #[schema(value_type = words::AlertSeverity)]
    pub severity: &'static str,
    pub summary: &'static str,
    pub subject: Option<String>,
    pub value: f64,
    pub threshold: f64,
    pub detail: String,
    /// It was not sent.
    pub is_silenced: bool,
}

impl From<HistoryEntry> for AlertChange {
    fn from(entry: HistoryEntry) -> Self {
        Self {
            at: Timestamp(entry.at),
            change: entry.kind.name(),
            rule: entry.rule.name(),
            severity: entry.rule.severity().name(),
            summary: entry.rule.summary(),
            subject: filled(entry.subject),
            value: entry.value,
            threshold: entry.threshold,
            detail: entry.detail,
            is_silenced: entry.is_silenced,
        }
    }
}

fn filled(text: String) -> Option<String> {
    if text.is_empty() { None } else { Some(text) }
}
