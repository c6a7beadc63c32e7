//! The stored form of alerts, silences, history and reports of nodes: documents of the store. All of them are
//! small, few and bounded; those with an end are removed by the store's pruning.

use std::{collections::HashMap, time::Duration};

use bytes::Bytes;
use gancho_domain::Time;
use gancho_store::{Collection, Precondition, Result, Store, StoreError};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::time::Instant;

use crate::{
    Alert, Change, NodeReport, Rule, Silence, SilenceId, outbox::StoredMessage,
    silence::SilenceRecord,
};

const STATE: Collection = Collection::operators("alerts");
const STATE_KEY: &str = "state";
const UNSENT_KEY: &str = "unsent";
const SILENCES: Collection = Collection::operators("alert_silences");
const HISTORY: Collection = Collection::operators("alert_history");
const REPORTS: Collection = Collection::operators("node_reports");
/// How long the history is stored.
pub const HISTORY_RETENTION: Duration = Duration::from_hours(90 * 24);
/// A node that has not reported for this long is ignored.
const REPORT_TTL: Duration = Duration::from_mins(2);
/// When the report of a node that did not remove it is removed. Long, because clocks may be wrong.
const REPORT_RETENTION: Duration = Duration::from_hours(24);
/// Maximum silences.
pub const MAX_SILENCES: usize = 200;
const MAX_NODES: usize = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Fired,
    Reminder,
    Resolved,
}

impl ChangeKind {
    pub fn of(change: &Change) -> Self {
        match change {
            Change::Fired(_) => Self::Fired,
            Change::Reminder(_) => Self::Reminder,
            Change::Resolved(_) => Self::Resolved,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Fired => "fired",
            Self::Reminder => "reminder",
            Self::Resolved => "resolved",
        }
    }
}

/// One change of an alert.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryEntry {
    /// The key of the entry. A later entry has a smaller key.
    pub key: String,
    pub at: Time,
    pub kind: ChangeKind,
    pub rule: Rule,
    pub subject: String,
    pub value: f64,
    pub threshold: f64,
    pub detail: String,
    pub is_silenced: bool,
}

#[derive(Serialize, Deserialize)]
struct HistoryRecord {
    at_us: i64,
    kind: ChangeKind,
    rule: Rule,
    subject: String,
    value: f64,
    threshold: f64,
    detail: String,
    is_silenced: bool,
}

#[derive(Serialize, Deserialize)]
struct ReportRecord {
    at_us: i64,
    report: NodeReport,
}

pub(crate) async fn read_alerts(store: &dyn Store) -> Result<Vec<Alert>> {
    read_all(store, STATE_KEY).await
}

pub(crate) async fn write_alerts(store: &dyn Store, alerts: &[Alert]) -> Result<()> {
    let body = write(&alerts)?;
    store.put_document(STATE, STATE_KEY, body, Precondition::Anything).await.map(|_| ())
}

pub(crate) async fn read_unsent(store: &dyn Store) -> Result<Vec<StoredMessage>> {
    read_all(store, UNSENT_KEY).await
}

async fn read_all<T: DeserializeOwned>(store: &dyn Store, key: &str) -> Result<Vec<T>> {
    match store.document(STATE, key).await? {
        Some(document) => parse(&document.body),
        None => Ok(Vec::new()),
    }
}

pub(crate) async fn write_unsent(store: &dyn Store, messages: &[StoredMessage]) -> Result<()> {
    if messages.is_empty() {
        return store.delete_document(STATE, UNSENT_KEY).await.map(|_| ());
    }
    store
        .put_document(STATE, UNSENT_KEY, write(&messages)?, Precondition::Anything)
        .await
        .map(|_| ())
}

pub(crate) async fn read_silences(store: &dyn Store, now: Time) -> Result<Vec<Silence>> {
    let mut silences = Vec::new();
    for document in store.documents(SILENCES, None, MAX_SILENCES).await? {
        let id: SilenceId = document
            .key
            .parse()
            .map_err(|_| StoreError::Corrupt("the key of a silence is not an id".into()))?;
        let silence = parse::<SilenceRecord>(&document.body)?.silence(id);
        if now < silence.until {
            silences.push(silence);
        }
    }
    Ok(silences)
}

/// Writes a silence. Returns whether there was room for it.
pub(crate) async fn write_silence(store: &dyn Store, silence: &Silence, now: Time) -> Result<bool> {
    if read_silences(store, now).await?.len() >= MAX_SILENCES {
        return Ok(false);
    }
    let body = write(&SilenceRecord::of(silence))?;
    let key = silence.id.to_string();
    store.put_document_until(SILENCES, &key, body, Precondition::Anything, silence.until).await?;
    Ok(true)
}

/// Deletes a silence. Returns whether it existed.
pub(crate) async fn delete_silence(store: &dyn Store, id: SilenceId) -> Result<bool> {
    store.delete_document(SILENCES, &id.to_string()).await
}

pub(crate) async fn append_history(
    store: &dyn Store,
    changes: &[(Change, bool)],
    now: Time,
) -> Result<()> {
    for (number, (change, is_silenced)) in changes.iter().enumerate() {
        let alert = change.alert();
        let record = HistoryRecord {
            at_us: now.micros(),
            kind: ChangeKind::of(change),
            rule: alert.rule,
            subject: alert.subject.clone(),
            value: alert.value,
            threshold: alert.threshold,
            detail: alert.detail.clone(),
            is_silenced: *is_silenced,
        };
        let key = format!("{:016x}{:04x}", u64::MAX - now.micros().max(0) as u64, number);
        let until = now + HISTORY_RETENTION;
        store
            .put_document_until(HISTORY, &key, write(&record)?, Precondition::Anything, until)
            .await?;
    }
    Ok(())
}

/// Returns at most `max` entries after a key, newest first.
pub(crate) async fn read_history(
    store: &dyn Store,
    after: Option<&str>,
    max: usize,
) -> Result<Vec<HistoryEntry>> {
    let found = store.documents(HISTORY, after, max).await?;
    let entries = found.into_iter().map(|document| {
        let record: HistoryRecord = parse(&document.body)?;
        Ok(HistoryEntry {
            key: document.key,
            at: Time::from_micros(record.at_us),
            kind: record.kind,
            rule: record.rule,
            subject: record.subject,
            value: record.value,
            threshold: record.threshold,
            detail: record.detail,
            is_silenced: record.is_silenced,
        })
    });
    entries.collect()
}

pub(crate) async fn write_report(store: &dyn Store, report: NodeReport, now: Time) -> Result<()> {
    let key = report.name.clone();
    let body = write(&ReportRecord { at_us: now.micros(), report })?;
    let until = now + REPORT_RETENTION;
    store.put_document_until(REPORTS, &key, body, Precondition::Anything, until).await.map(|_| ())
}

/// Removes the report of a node that stops. If this fails, the report expires.
pub(crate) async fn forget_report(store: &dyn Store, node: &str) {
    let _ = store.delete_document(REPORTS, node).await;
}

/// When a report was last seen to change, by its key: its version, and the reader's own time. Clocks are not
/// compared, so that a node whose clock is wrong is included.
pub(crate) type SeenReports = HashMap<String, (u64, Instant)>;

/// Returns the recent reports of other nodes.
pub(crate) async fn read_reports(
    store: &dyn Store,
    own: &str,
    seen: &mut SeenReports,
) -> Result<Vec<NodeReport>> {
    let mut reports = Vec::new();
    let mut still_there = SeenReports::new();
    for document in store.documents(REPORTS, None, MAX_NODES).await? {
        let record: ReportRecord = parse(&document.body)?;
        let known = seen.get(&document.key).filter(|(version, _)| *version == document.version);
        let (_, changed_at) = *known.unwrap_or(&(document.version, Instant::now()));
        if document.key != own && changed_at.elapsed() < REPORT_TTL {
            reports.push(record.report);
        }
        still_there.insert(document.key, (document.version, changed_at));
    }
    *seen = still_there;
    Ok(reports)
}

fn write<T: Serialize>(value: &T) -> Result<Bytes> {
    let written = serde_json::to_vec(value).map(Bytes::from);
    written.map_err(|error| StoreError::Invalid(error.to_string()))
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    serde_json::from_slice(body).map_err(|error| StoreError::Corrupt(error.to_string()))
}
