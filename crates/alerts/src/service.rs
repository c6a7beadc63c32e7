//! Evaluates the rules regularly, on one node of the fleet, and sends what changes. Evaluation waits for no channel,
//! and channels do not wait for each other.

mod sending;
#[cfg(test)]
mod tests;

use std::{collections::VecDeque, sync::Arc, time::Duration};

use futures_util::future::{join, join_all};
use gancho_domain::{Clock, IdMaker, Time};
use gancho_store::{Result, Store, StoreError};
use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use self::sending::note_unstored;
use crate::{
    Alert, AlertBook, Change, Channel, Condition, FactSource, HistoryEntry, Message, NewSilence,
    Rule, Silence, SilenceId, Thresholds,
    condition::conditions,
    lease::Lease,
    outbox::Outbox,
    records::{self, SeenReports},
    silencing::mark_silenced,
};

pub struct AlertSetup {
    pub store: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<IdMaker>,
    pub facts: Arc<dyn FactSource>,
    pub channels: Vec<Arc<dyn Channel>>,
    pub thresholds: Thresholds,
    /// How often the rules are evaluated.
    pub interval: Duration,
    /// How long a condition must hold, or be over.
    pub after: Duration,
    /// The name of this node.
    pub node: String,
}

pub struct AlertService {
    setup: AlertSetup,
    lease: tokio::sync::Mutex<Lease>,
    memory: Mutex<EvaluationState>,
    outbox: Mutex<Outbox>,
    /// Rung when a message was sent or given up, so that the stored ones are outdated.
    outbox_changed: Notify,
    /// Held while unsent messages are stored, so that no older state overwrites a newer one.
    storing: tokio::sync::Mutex<()>,
    seen_reports: tokio::sync::Mutex<SeenReports>,
}

#[derive(Default)]
struct EvaluationState {
    /// The alerts of the fleet.
    book: AlertBook,
    /// The alert that this node raises for itself: that the store does not respond. No other node resolves it.
    own: AlertBook,
    /// Whether this node evaluates, and so has read what is stored.
    is_holder: bool,
    /// Since when the store has not responded.
    unavailable_since: Option<Time>,
    /// Changes of each evaluation that are not in the history yet, and whether they were silenced.
    unwritten: VecDeque<(Time, Vec<(Change, bool)>)>,
}

impl EvaluationState {
    fn add_to_history(&mut self, marked: Vec<(Change, bool)>, now: Time) {
        if !marked.is_empty() {
            self.unwritten.push_back((now, marked));
        }
        if self.unwritten.len() > MAX_UNWRITTEN {
            self.unwritten.pop_front();
        }
    }
}

/// An alert, and whether it is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedAlert {
    pub alert: Alert,
    pub silence: Option<SilenceId>,
}

/// Maximum evaluations whose changes wait to be written to the history.
const MAX_UNWRITTEN: usize = 100;
/// How often the outbox is checked for messages that are due.
const TICK: Duration = Duration::from_secs(1);

impl AlertService {
    pub fn new(setup: AlertSetup) -> Self {
        Self {
            setup,
            lease: tokio::sync::Mutex::default(),
            memory: Mutex::default(),
            outbox: Mutex::default(),
            outbox_changed: Notify::new(),
            storing: tokio::sync::Mutex::default(),
            seen_reports: tokio::sync::Mutex::default(),
        }
    }

    /// Evaluates and sends until stopped.
    pub async fn run(&self, stop: CancellationToken) {
        self.refresh_channels().await;
        let sending = self.setup.channels.iter().map(|channel| self.send_until(&**channel, &stop));
        let sending = join(join_all(sending), self.store_until(&stop));
        join(self.evaluate_until(&stop), sending).await;
        self.end_own().await;
        let AlertSetup { store, node, .. } = &self.setup;
        records::forget_report(&**store, node).await;
        self.lease.lock().await.release(&**store).await;
    }

    async fn evaluate_until(&self, stop: &CancellationToken) {
        // The first evaluation comes a little after the start.
        let mut wait = self.tick();
        while timeout(wait, stop.cancelled()).await.is_err() {
            let next = Instant::now() + self.setup.interval;
            self.evaluate_once().await;
            wait = next.saturating_duration_since(Instant::now());
        }
    }

    fn tick(&self) -> Duration {
        TICK.min(self.setup.interval)
    }

    /// Evaluates the rules if it is this node's turn, and returns what changed.
    pub async fn evaluate_once(&self) -> Vec<Change> {
        let now = self.setup.clock.now();
        let report = self.setup.facts.report();
        let changes = match self.holding(report, now).await {
            Ok(holding) => {
                self.refresh_channels().await;
                let mut memory = self.memory.lock();
                memory.unavailable_since = None;
                if memory.is_holder && holding.is_none() {
                    self.outbox.lock().retain(|change| self.is_own(change.alert()));
                }
                memory.is_holder = holding.is_some();
                let mut changes = memory.own.step(Vec::new(), self.setup.after, now);
                if let Some(holding) = holding {
                    changes.extend(memory.book.step(holding, self.setup.after, now));
                }
                changes
            }
            Err(error) => {
                tracing::warn!(%error, "could not evaluate the alert rules");
                let unavailable = self.unavailable(&error, now);
                self.memory.lock().own.step(vec![unavailable], self.setup.after, now)
            }
        };
        self.notify(&changes, now).await;
        changes
    }

    /// Resolves what only this node has raised, because no other node would once it has stopped.
    async fn end_own(&self) {
        let now = self.setup.clock.now();
        let own = std::mem::take(&mut self.memory.lock().own);
        let changes = own.resolve_all(&format!("{} has stopped", self.setup.node));
        if changes.is_empty() {
            return;
        }
        self.notify(&changes, now).await;
        self.send_due().await;
    }

    /// Returns the conditions that hold; `None` if another node evaluates.
    async fn holding(
        &self,
        report: crate::NodeReport,
        now: Time,
    ) -> Result<Option<Vec<Condition>>> {
        let AlertSetup { store, facts, node, interval, .. } = &self.setup;
        match records::write_report(&**store, report.clone(), now).await {
            Ok(()) | Err(StoreError::Full(_)) => {}
            Err(error) => return Err(error),
        }
        let ttl = (3 * *interval).max(Duration::from_secs(5));
        if !self.lease.lock().await.hold(&**store, node, ttl).await? {
            return Ok(None);
        }
        if !self.memory.lock().is_holder {
            let stored = records::read_alerts(&**store).await?;
            let unsent = records::read_unsent(&**store).await?;
            self.memory.lock().book = AlertBook::of(stored);
            self.outbox.lock().adopt(&self.setup.channels, unsent);
        }
        let reported = self.memory.lock().book.subjects(Rule::EndpointFailing);
        let mut facts = facts.read(reported).await?;
        facts.nodes =
            records::read_reports(&**store, node, &mut *self.seen_reports.lock().await).await?;
        facts.nodes.push(report);
        let memory = self.memory.lock();
        let is_firing = |rule, subject: &str| memory.book.is_firing(rule, subject);
        let mut holding = conditions(&facts, &self.setup.thresholds, is_firing);
        if !facts.unavailable_cells.is_empty() {
            memory.book.keep_firing(Rule::is_in_cells, &mut holding);
        }
        Ok(Some(holding))
    }

    fn is_own(&self, alert: &Alert) -> bool {
        alert.rule == Rule::StoreUnavailable && alert.subject == self.setup.node
    }

    /// Returns the condition that the store is unavailable. Every node raises it for itself, because no other
    /// node can be asked. Alerts that fired before keep firing meanwhile.
    fn unavailable(&self, error: &StoreError, now: Time) -> Condition {
        let since = *self.memory.lock().unavailable_since.get_or_insert(now);
        Condition {
            rule: Rule::StoreUnavailable,
            subject: self.setup.node.clone(),
            value: now.since(since).as_secs_f64(),
            threshold: 0.0,
            detail: format!("{} cannot reach the database: {error}", self.setup.node),
        }
    }

    async fn notify(&self, changes: &[Change], now: Time) {
        let store = &*self.setup.store;
        let silences = records::read_silences(store, now).await.ok();
        let marked = {
            let EvaluationState { book, own, is_holder, .. } = &mut *self.memory.lock();
            // Another node sends what it evaluates.
            let mut none = AlertBook::default();
            let book = if *is_holder { book } else { &mut none };
            mark_silenced(changes, [own, book], silences.as_deref(), now)
        };
        for (change, is_silenced) in &marked {
            log(change, *is_silenced);
        }
        let loud: Vec<Change> =
            marked.iter().filter(|(_, silent)| !silent).map(|(change, _)| change.clone()).collect();
        if !loud.is_empty() {
            let message = Message { id: self.setup.ids.make(), at: now, changes: loud };
            self.outbox.lock().push(&self.setup.channels, message);
        }
        let alerts = {
            let mut memory = self.memory.lock();
            // Before anything that can fail: what the store does not accept now is written once it does.
            memory.add_to_history(marked, now);
            memory.is_holder.then(|| memory.book.alerts())
        };
        let stored = async {
            // Before the alerts: an alert that is stored as fired was sent, or its message is stored.
            self.store_unsent().await?;
            self.write_history().await?;
            match alerts {
                Some(alerts) => records::write_alerts(store, &alerts).await,
                None => Ok(()),
            }
        };
        note_unstored(stored.await);
    }

    async fn write_history(&self) -> Result<()> {
        let mut unwritten = std::mem::take(&mut self.memory.lock().unwritten);
        while let Some((at, marked)) = unwritten.front() {
            match records::append_history(&*self.setup.store, marked, *at).await {
                Err(
                    error @ (StoreError::Full(_)
                    | StoreError::Unavailable(_)
                    | StoreError::TimedOut(_)),
                ) => {
                    self.memory.lock().unwritten = unwritten;
                    return Err(error);
                }
                Err(error) => tracing::warn!(%error, "could not write the history of alerts"),
                Ok(()) => {}
            }
            unwritten.pop_front();
        }
        Ok(())
    }

    /// Lets the channels read what they need to send, while the store responds.
    async fn refresh_channels(&self) {
        for channel in &self.setup.channels {
            channel.refresh().await;
        }
    }

    /// Returns the pending and firing alerts, most urgent first.
    pub async fn alerts(&self) -> Result<Vec<ListedAlert>> {
        let now = self.setup.clock.now();
        let own = {
            let memory = self.memory.lock();
            memory.is_holder.then(|| memory.book.alerts())
        };
        let fleets = match own {
            Some(alerts) => alerts,
            None => records::read_alerts(&*self.setup.store).await?,
        };
        let alerts = self.memory.lock().own.alerts().into_iter().chain(fleets);
        let alerts: Vec<Alert> = alerts.collect();
        let silences = self.silences().await?;
        let listed = alerts.into_iter().map(|alert| {
            let covering = silences.iter().find(|silence| silence.covers(&alert, now));
            ListedAlert { silence: covering.map(|silence| silence.id), alert }
        });
        Ok(listed.collect())
    }

    pub async fn silences(&self) -> Result<Vec<Silence>> {
        records::read_silences(&*self.setup.store, self.setup.clock.now()).await
    }

    /// Creates a silence; `None` if there are too many.
    pub async fn silence(&self, new: NewSilence) -> Result<Option<Silence>> {
        let NewSilence { rule, subject, until, comment, by } = new;
        let silence = Silence { id: self.setup.ids.make(), rule, subject, until, comment, by };
        let now = self.setup.clock.now();
        let is_stored = records::write_silence(&*self.setup.store, &silence, now).await?;
        Ok(is_stored.then_some(silence))
    }

    /// Removes a silence. Returns whether it existed.
    pub async fn remove_silence(&self, id: SilenceId) -> Result<bool> {
        records::delete_silence(&*self.setup.store, id).await
    }

    pub async fn history(&self, after: Option<&str>, max: usize) -> Result<Vec<HistoryEntry>> {
        records::read_history(&*self.setup.store, after, max).await
    }

    /// Sends a test to every channel now, and returns the results.
    pub async fn test(&self) -> Vec<(&'static str, Result<(), String>)> {
        let message =
            Message { id: self.setup.ids.make(), at: self.setup.clock.now(), changes: Vec::new() };
        self.refresh_channels().await;
        let mut outcomes = Vec::new();
        for channel in &self.setup.channels {
            outcomes.push((channel.name(), channel.send(&message).await));
        }
        outcomes
    }
}

fn log(change: &Change, is_silenced: bool) {
    let alert = change.alert();
    let (rule, severity) = (alert.rule.name(), alert.rule.severity().name());
    let (subject, detail) = (&*alert.subject, &*alert.detail);
    match change {
        Change::Fired(_) => {
            tracing::warn!(rule, severity, subject, detail, is_silenced, "alert fired");
        }
        Change::Reminder(_) => {
            tracing::warn!(rule, severity, subject, detail, is_silenced, "alert still firing");
        }
        Change::Resolved(_) => {
            tracing::info!(rule, severity, subject, detail, is_silenced, "alert resolved");
        }
    }
}
