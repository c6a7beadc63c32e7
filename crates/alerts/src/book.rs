//! The alerts: conditions over time. An alert fires once its condition has held for a while, and is resolved
//! once the condition has been over for as long.

use std::{
    collections::{BTreeMap, HashSet},
    time::Duration,
};

use gancho_domain::Time;
use serde::{Deserialize, Serialize};

use crate::{Condition, Rule};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlertState {
    /// The condition holds, but not for long enough.
    Pending,
    Firing,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alert {
    pub rule: Rule,
    pub subject: String,
    pub state: AlertState,
    /// When the condition began to hold, in microseconds.
    since_us: i64,
    /// When the alert was last sent, in microseconds.
    sent_us: i64,
    /// Since when the condition has been over, in microseconds.
    over_us: Option<i64>,
    /// Whether its firing was sent, which it is not while silenced. Alerts stored by earlier versions count
    /// as sent.
    #[serde(default = "sent_by_earlier_versions")]
    is_announced: bool,
    pub value: f64,
    pub threshold: f64,
    pub detail: String,
}

fn sent_by_earlier_versions() -> bool {
    true
}

impl Alert {
    pub fn since(&self) -> Time {
        Time::from_micros(self.since_us)
    }

    pub(crate) fn is_announced(&self) -> bool {
        self.is_announced
    }
}

/// What an evaluation changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    Fired(Alert),
    /// It has been firing for long and is sent again.
    Reminder(Alert),
    Resolved(Alert),
}

impl Change {
    pub fn alert(&self) -> &Alert {
        match self {
            Self::Fired(alert) | Self::Reminder(alert) | Self::Resolved(alert) => alert,
        }
    }
}

/// How long an alert fires before it is sent again.
const REMIND_AFTER: Duration = Duration::from_hours(6);
/// Maximum alerts of one rule. Further ones are not raised, because these name enough.
const MAX_PER_RULE: usize = 50;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct AlertBook(BTreeMap<(Rule, String), Alert>);

impl AlertBook {
    pub fn of(alerts: Vec<Alert>) -> Self {
        let keyed = alerts.into_iter().map(|alert| ((alert.rule, alert.subject.clone()), alert));
        Self(keyed.collect())
    }

    /// Returns the alerts, most urgent first.
    pub fn alerts(&self) -> Vec<Alert> {
        self.0.values().cloned().collect()
    }

    /// Returns the subjects of a rule's alerts, pending or firing.
    pub fn subjects(&self, rule: Rule) -> HashSet<String> {
        let alerts = self.0.values().filter(|alert| alert.rule == rule);
        alerts.map(|alert| alert.subject.clone()).collect()
    }

    pub fn is_firing(&self, rule: Rule, subject: &str) -> bool {
        let key = (rule, subject.to_owned());
        self.0.get(&key).is_some_and(|alert| alert.state == AlertState::Firing)
    }

    /// Adds the conditions of firing alerts of rules for which `is_kept` returns true: a condition that
    /// cannot be read is not over.
    pub(crate) fn keep_firing(&self, is_kept: impl Fn(Rule) -> bool, holding: &mut Vec<Condition>) {
        let is_firing = |alert: &&Alert| alert.state == AlertState::Firing && is_kept(alert.rule);
        for alert in self.0.values().filter(is_firing) {
            let is_known = |one: &Condition| one.rule == alert.rule && one.subject == alert.subject;
            if !holding.iter().any(is_known) {
                holding.push(Condition {
                    rule: alert.rule,
                    subject: alert.subject.clone(),
                    value: alert.value,
                    threshold: alert.threshold,
                    detail: alert.detail.clone(),
                });
            }
        }
    }

    /// Returns firing alerts whose condition holds and that were not sent.
    pub(crate) fn unannounced(&self) -> Vec<Alert> {
        let is_due = |alert: &&Alert| {
            alert.state == AlertState::Firing && !alert.is_announced && alert.over_us.is_none()
        };
        self.0.values().filter(is_due).cloned().collect()
    }

    /// Notes that the firing of this alert was sent, if it is in this book.
    pub(crate) fn announce(&mut self, alert: &Alert, now: Time) {
        if let Some(alert) = self.0.get_mut(&(alert.rule, alert.subject.clone())) {
            alert.is_announced = true;
            alert.sent_us = now.micros();
        }
    }

    /// Resolves all firing alerts for this reason, and returns them.
    pub(crate) fn resolve_all(self, why: &str) -> Vec<Change> {
        let firing = self.0.into_values().filter(|alert| alert.state == AlertState::Firing);
        let resolved = firing.map(|alert| Alert {
            detail: format!("{why}; it began at {}", alert.since()),
            ..alert
        });
        resolved.map(Change::Resolved).collect()
    }

    /// Applies the conditions that hold now. `after` is how long one must hold, or be over.
    pub fn step(&mut self, holding: Vec<Condition>, after: Duration, now: Time) -> Vec<Change> {
        let mut changes = Vec::new();
        for alert in self.0.values_mut() {
            alert.over_us.get_or_insert(now.micros());
        }
        // Known alerts come first, so that none is resolved because there are too many others.
        let (known, new): (Vec<_>, Vec<_>) = holding
            .into_iter()
            .partition(|one| self.0.contains_key(&(one.rule, one.subject.clone())));
        let mut counts: BTreeMap<Rule, usize> = BTreeMap::new();
        for condition in known.into_iter().chain(new) {
            let count = counts.entry(condition.rule).or_default();
            *count += 1;
            if *count > MAX_PER_RULE {
                continue;
            }
            let key = (condition.rule, condition.subject.clone());
            let alert = self.0.entry(key).or_insert_with(|| Alert {
                rule: condition.rule,
                subject: condition.subject,
                state: AlertState::Pending,
                since_us: now.micros(),
                sent_us: 0,
                over_us: None,
                is_announced: false,
                value: condition.value,
                threshold: condition.threshold,
                detail: String::new(),
            });
            alert.value = condition.value;
            alert.detail = condition.detail;
            alert.over_us = None;
            changes.extend(alert.advance(after, now));
        }
        let over: Vec<_> = self.0.iter().filter(|(_, alert)| alert.is_over(after, now)).collect();
        let over: Vec<_> = over.into_iter().map(|(key, _)| key.clone()).collect();
        for key in over {
            if let Some(mut alert) = self.0.remove(&key)
                && alert.state == AlertState::Firing
            {
                // The figures are from when it held, and are no longer true.
                alert.detail = format!("it began at {}", alert.since());
                changes.push(Change::Resolved(alert));
            }
        }
        changes
    }
}

impl Alert {
    fn advance(&mut self, after: Duration, now: Time) -> Option<Change> {
        match self.state {
            AlertState::Pending if self.rule.is_immediate() || now.since(self.since()) >= after => {
                self.state = AlertState::Firing;
                self.is_announced = false;
                self.sent_us = now.micros();
                Some(Change::Fired(self.clone()))
            }
            AlertState::Firing if now.since(Time::from_micros(self.sent_us)) >= REMIND_AFTER => {
                self.sent_us = now.micros();
                Some(Change::Reminder(self.clone()))
            }
            AlertState::Pending | AlertState::Firing => None,
        }
    }

    /// Whether the alert is over. One that never fired is removed at once.
    fn is_over(&self, after: Duration, now: Time) -> bool {
        self.over_us.is_some_and(|over| {
            self.state == AlertState::Pending || now.since(Time::from_micros(over)) >= after
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AFTER: Duration = Duration::from_secs(60);

    fn at(seconds: i64) -> Time {
        Time::from_secs(1_000_000 + seconds)
    }

    fn holds(rule: Rule) -> Vec<Condition> {
        let (subject, detail) = (String::new(), String::new());
        vec![Condition { rule, subject, value: 1.0, threshold: 0.0, detail }]
    }

    #[test]
    fn it_fires_after_a_while_and_is_resolved_after_a_while() {
        let mut book = AlertBook::default();
        let rule = Rule::DeadLettersHigh;
        assert_eq!(book.step(holds(rule), AFTER, at(0)), []);
        assert_eq!(book.step(holds(rule), AFTER, at(59)), []);
        assert!(matches!(book.step(holds(rule), AFTER, at(60))[..], [Change::Fired(_)]));
        assert_eq!(book.step(holds(rule), AFTER, at(75)), []);
        assert_eq!(book.step(vec![], AFTER, at(90)), []);
        assert!(book.is_firing(rule, ""));
        assert_eq!(book.step(holds(rule), AFTER, at(105)), [], "it was not over for long");
        assert_eq!(book.step(vec![], AFTER, at(120)), []);
        assert!(matches!(book.step(vec![], AFTER, at(180))[..], [Change::Resolved(_)]));
        assert!(book.alerts().is_empty());
    }

    #[test]
    fn what_cannot_be_read_is_not_over() {
        let mut book = AlertBook::default();
        for rule in [Rule::ApiKeyExpiring, Rule::WritesRefused] {
            let mut holding = Vec::new();
            book.keep_firing(|_| true, &mut holding);
            holding.extend(holds(rule));
            assert!(matches!(book.step(holding, AFTER, at(0))[..], [Change::Fired(_)]));
        }
        for seconds in [10, 100] {
            let mut holding = Vec::new();
            book.keep_firing(Rule::is_in_cells, &mut holding);
            book.step(holding, AFTER, at(seconds));
        }
        assert!(book.is_firing(Rule::ApiKeyExpiring, ""));
        assert!(!book.is_firing(Rule::WritesRefused, ""), "it does not depend on cells");
    }

    #[test]
    fn one_that_did_not_last_is_forgotten() {
        let mut book = AlertBook::default();
        book.step(holds(Rule::QueueDelayed), AFTER, at(0));
        assert_eq!(book.step(vec![], AFTER, at(15)), []);
        assert_eq!(book.step(holds(Rule::QueueDelayed), AFTER, at(70)), []);
    }

    #[test]
    fn what_has_happened_fires_at_once_and_long_ones_are_repeated() {
        let mut book = AlertBook::default();
        let rule = Rule::WritesRefused;
        assert!(matches!(book.step(holds(rule), AFTER, at(0))[..], [Change::Fired(_)]));
        let read = serde_json::to_string(&book.alerts()).unwrap();
        let mut book = AlertBook::of(serde_json::from_str(&read).unwrap());
        assert_eq!(book.step(holds(rule), AFTER, at(6 * 3_600 - 1)), []);
        let changes = book.step(holds(rule), AFTER, at(6 * 3_600));
        assert!(matches!(changes[..], [Change::Reminder(_)]));
    }

    #[test]
    fn alerts_of_a_rule_are_bounded() {
        let mut book = AlertBook::default();
        let all = (0..500).map(|number| Condition {
            subject: format!("wh_{number}"),
            ..holds(Rule::ApiKeyExpiring).remove(0)
        });
        let mut all: Vec<Condition> = all.collect();
        assert_eq!(book.step(all.clone(), AFTER, at(0)).len(), 50);
        all.reverse();
        assert_eq!(book.step(all.clone(), AFTER, at(1)), [], "those that fire stay");
        assert_eq!(book.step(all, AFTER, at(100)), []);
    }
}
