//! Renders alerts, silences and history.

use gancho_alerts::{AlertState, HistoryEntry, ListedAlert};
use serde::Serialize;
use utoipa::ToSchema;

use crate::render::{Timestamp, words};

/// A pending or firing alert of the gateway.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Alert)]
pub struct AlertView {
    /// Rule that raised the alert, e.g. `dead_letters_high`.
    #[schema(value_type = words::AlertRule)]
    pub rule: &'static str,
    /// How urgent the alert is. Each rule has a fixed severity.
    #[schema(value_type = words::AlertSeverity)]
    pub severity: &'static str,
    /// What the rule means, in English and without figures.
    pub summary: &'static str,
    /// What the alert is about: a tenant, an endpoint, a node, a lane or a key; null for the whole gateway.
    pub subject: Option<String>,
    /// `pending` (the condition holds, but not for long enough) or `firing`.
    #[schema(value_type = words::AlertState)]
    pub state: &'static str,
    /// Measured value that is compared with `threshold`, in the unit of the rule: a count, a share from 0 to 1, or
    /// seconds. 1 for a rule without a figure.
    pub value: f64,
    /// Value above which the condition of the rule holds, in the same unit as `value`.
    pub threshold: f64,
    /// The current figures in a sentence, e.g. `120 dead letters in the store`.
    pub detail: String,
    /// When the condition began to hold.
    pub since: Timestamp,
    /// Id of the silence (`sil_…`) that keeps the alert from being sent; null if there is none.
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

/// A silence. Alerts that it covers are evaluated and recorded, but not sent.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AlertSilence)]
pub struct SilenceView {
    /// Id of the silence (`sil_…`).
    pub id: String,
    /// The rule that is silenced; null for every rule.
    #[schema(value_type = Option<words::AlertRule>)]
    pub rule: Option<&'static str>,
    /// The subject that is silenced; null for every subject.
    pub subject: Option<String>,
    /// When the silence ends.
    pub until: Timestamp,
    /// Why the alerts are silenced, as given when the silence was created; empty if nothing was given.
    pub comment: String,
    /// Name of the user who created the silence, or `operator` for the operator token.
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

/// An entry of the alert history: an alert fired, kept firing, or was resolved.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertChange {
    /// When the alert changed.
    pub at: Timestamp,
    /// `fired`, `reminder` (it kept firing and was sent again) or `resolved`.
    #[schema(value_type = words::AlertChangeKind)]
    pub change: &'static str,
    /// Rule that raised the alert, e.g. `dead_letters_high`.
    #[schema(value_type = words::AlertRule)]
    pub rule: &'static str,
    /// How urgent the alert is.
    #[schema(value_type = words::AlertSeverity)]
    pub severity: &'static str,
    /// What the rule means, in English and without figures.
    pub summary: &'static str,
    /// What the alert is about: a tenant, an endpoint, a node, a lane or a key; null for the whole gateway.
    pub subject: Option<String>,
    /// Last measured value, in the unit of the rule: a count, a share from 0 to 1, or seconds.
    pub value: f64,
    /// Value above which the condition of the rule holds, in the same unit as `value`.
    pub threshold: f64,
    /// The last figures in a sentence, or why the alert was resolved.
    pub detail: String,
    /// Whether the change was not sent, because of a silence.
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
