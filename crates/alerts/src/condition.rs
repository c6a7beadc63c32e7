//! Decides which conditions hold: a pure function of the facts. A firing alert is resolved only when its
//! figure is clearly below the threshold, so that a figure around the threshold does not make it flap.

use std::collections::BTreeSet;

use crate::{Facts, FailingEndpoint, Rule, Thresholds};

/// A rule whose condition holds now.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    pub rule: Rule,
    /// What the alert is about: a tenant, an endpoint, a node, a lane or a key; empty for the whole gateway.
    pub subject: String,
    pub value: f64,
    pub threshold: f64,
    /// A sentence with the figures.
    pub detail: String,
}

/// The fraction of a threshold below which a firing alert is resolved.
const CLEAR: f64 = 0.8;
/// The same for shares of the storage: 80 % are resolved at 76 %.
const CLEAR_STORAGE: f64 = 0.95;
/// Minimum deliveries in an hour. A share of fewer says nothing.
const MIN_ENDED: u64 = 50;

pub fn conditions(
    facts: &Facts,
    thresholds: &Thresholds,
    is_firing: impl Fn(Rule, &str) -> bool,
) -> Vec<Condition> {
    let mut check = Check { facts, thresholds, is_firing, holding: Vec::new() };
    check.cells();
    check.dead_letters();
    check.storage();
    check.queues();
    check.endpoints();
    check.keys();
    check.nodes();
    check.ledger();
    check.refused_writes();
    check.lost_nodes();
    check.holding
}

/// Checks the rules, grouped by what they are about.
struct Check<'a, F> {
    facts: &'a Facts,
    thresholds: &'a Thresholds,
    is_firing: F,
    holding: Vec<Condition>,
}

impl<F: Fn(Rule, &str) -> bool> Check<'_, F> {
    fn above(&mut self, rule: Rule, subject: &str, value: f64, threshold: f64, detail: String) {
        let clear = if matches!(rule, Rule::StorageHigh | Rule::StorageCritical) {
            CLEAR_STORAGE
        } else {
            CLEAR
        };
        let bound = if (self.is_firing)(rule, subject) { threshold * clear } else { threshold };
        if value > bound {
            let subject = subject.to_owned();
            self.holding.push(Condition { rule, subject, value, threshold, detail });
        }
    }

    /// Adds a condition without a figure.
    fn holds(&mut self, rule: Rule, subject: &str, detail: String) {
        self.above(rule, subject, 1.0, 0.0, detail);
    }

    fn cells(&mut self) {
        for cell in &self.facts.unavailable_cells {
            self.holds(Rule::StoreUnavailable, cell, format!("cell {cell} does not respond"));
        }
    }

    fn dead_letters(&mut self) {
        let Facts { dead_letters: dead, died, ended, .. } = *self.facts;
        let detail = format!("{dead} dead letters in the store");
        let threshold = self.thresholds.dead_letters as f64;
        self.above(Rule::DeadLettersHigh, "", dead as f64, threshold, detail);
        for (tenant, dead) in &self.facts.dead_letters_by_tenant {
            let detail = format!("{dead} dead letters of {tenant}");
            let threshold = self.thresholds.tenant_dead_letters as f64;
            self.above(Rule::TenantDeadLettersHigh, tenant, *dead as f64, threshold, detail);
        }
        if ended >= MIN_ENDED {
            let share = died as f64 / ended as f64;
            let detail = format!("{died} of {ended} deliveries became dead letters within an hour");
            let threshold = self.thresholds.dead_letter_rate;
            self.above(Rule::DeadLetterRateHigh, "", share, threshold, detail);
        }
    }

    fn storage(&mut self) {
        let of_store = |share: f64| format!("{:.0} % of the store is used", share * 100.0);
        let of_disk = |share: f64| format!("{:.0} % of the disk is used", share * 100.0);
        let store = self.facts.store_share.map(|share| ("store", share, of_store(share)));
        let disk = self.facts.disk_share.map(|share| ("disk", share, of_disk(share)));
        let Thresholds { storage_high, storage_critical, .. } = *self.thresholds;
        for (subject, share, detail) in store.into_iter().chain(disk) {
            self.above(Rule::StorageHigh, subject, share, storage_high, detail.clone());
            self.above(Rule::StorageCritical, subject, share, storage_critical, detail);
        }
    }

    fn queues(&mut self) {
        let threshold = self.thresholds.queue_age.as_secs_f64();
        for (lane, age) in &self.facts.queue_ages {
            let detail = format!("the oldest {lane} delivery has been due for {} s", age.as_secs());
            self.above(Rule::QueueDelayed, lane.name(), age.as_secs_f64(), threshold, detail);
        }
    }

    fn endpoints(&mut self) {
        for failing in &self.facts.failing_endpoints {
            let count = failing.failed_attempts;
            let FailingEndpoint { tenant, endpoint, host, .. } = failing;
            let detail = format!("all {count} attempts to {endpoint} ({host}) of {tenant} failed");
            self.above(Rule::EndpointFailing, endpoint, count as f64, 0.0, detail);
        }
        let more = self.facts.more_failing_endpoints;
        let detail = format!("{more} more endpoints fail every attempt");
        self.above(Rule::EndpointFailing, "", more as f64, 0.0, detail);
    }

    fn keys(&mut self) {
        for source in &self.facts.keyless_sources {
            let partner = &source.partner;
            let detail = match &source.last_key {
                Some((key, at)) if source.is_refusing => {
                    format!("{partner} has had no valid key since {key} ended at {at}")
                }
                Some((key, at)) => format!("key {key} of {partner} ends at {at}"),
                None => format!("{partner} has no valid key"),
            };
            self.holds(Rule::SourceKeyExpiring, partner, detail);
        }
        for key in &self.facts.expiring_api_keys {
            let subject = format!("{}/{}", key.tenant, key.id);
            let detail = format!("API key {} of {} expires at {}", key.id, key.tenant, key.ends_at);
            self.holds(Rule::ApiKeyExpiring, &subject, detail);
        }
    }

    fn nodes(&mut self) {
        for node in &self.facts.nodes {
            if node.is_clock_off {
                let detail = format!("the clock of {} is not trusted", node.name);
                self.holds(Rule::ClockOff, &node.name, detail);
            }
            if let Some(error) = &node.archive_error {
                self.holds(Rule::ArchiveFailing, &node.name, error.clone());
            }
        }
    }

    /// Checks the ledger. All nodes have the same one, and a node that has just started does not know its
    /// state yet.
    fn ledger(&mut self) {
        let nodes = &self.facts.nodes;
        let unchecked = || {
            let is_open = (self.is_firing)(Rule::LedgerCheckFailed, "")
                && nodes.iter().any(|node| node.is_ledger_unchecked);
            is_open.then(|| "it has not been verified since a node started".to_owned())
        };
        let error = nodes.iter().find_map(|node| node.ledger_error.clone()).or_else(unchecked);
        if let Some(error) = error {
            self.holds(Rule::LedgerCheckFailed, "", error);
        }
    }

    fn refused_writes(&mut self) {
        let refused: u64 = self.facts.nodes.iter().map(|node| node.refused_writes).sum();
        let detail = format!("{refused} events, webhooks or e-mails were refused");
        self.above(Rule::WritesRefused, "", refused as f64, 0.0, detail);
    }

    fn lost_nodes(&mut self) {
        let nodes = &self.facts.nodes;
        let names: BTreeSet<&str> =
            nodes.iter().flat_map(|node| &node.lost_names).map(String::as_str).collect();
        if names.is_empty() {
            let lost: u64 = nodes.iter().map(|node| node.lost_nodes).sum();
            self.above(Rule::NodeLost, "", lost as f64, 0.0, format!("{lost} nodes were lost"));
        }
        // Each by itself, so that a second one is reported too.
        for name in names {
            self.holds(Rule::NodeLost, name, format!("declared dead: {name}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use gancho_domain::{Lane, Time};

    use super::*;
    use crate::{ExpiringApiKey, KeylessSource, NodeReport};

    fn rules(facts: &Facts, is_firing: bool) -> Vec<Rule> {
        let found = conditions(facts, &Thresholds::default(), |_, _| is_firing);
        found.into_iter().map(|condition| condition.rule).collect()
    }

    #[test]
    fn each_rule_has_a_condition_of_its_own() {
        let node = NodeReport { name: "n1".to_owned(), ..NodeReport::default() };
        let only = Facts::default;
        let cases: [(Rule, Facts); 15] = [
            (Rule::StoreUnavailable, Facts { unavailable_cells: vec!["b".to_owned()], ..only() }),
            (Rule::DeadLettersHigh, Facts { dead_letters: 101, ..only() }),
            (Rule::DeadLetterRateHigh, Facts { ended: 100, died: 3, ..only() }),
            (
                Rule::TenantDeadLettersHigh,
                Facts { dead_letters_by_tenant: vec![("acme".to_owned(), 51)], ..only() },
            ),
            (Rule::StorageHigh, Facts { store_share: Some(0.81), ..only() }),
            (
                Rule::QueueDelayed,
                Facts { queue_ages: vec![(Lane::Webhook, Duration::from_secs(301))], ..only() },
            ),
            (
                Rule::EndpointFailing,
                Facts {
                    failing_endpoints: vec![FailingEndpoint {
                        tenant: "acme".to_owned(),
                        endpoint: "wh_1".to_owned(),
                        host: "example.com".to_owned(),
                        failed_attempts: 5,
                    }],
                    ..only()
                },
            ),
            (
                Rule::SourceKeyExpiring,
                Facts {
                    keyless_sources: vec![KeylessSource {
                        partner: "acme".to_owned(),
                        last_key: Some(("k1".to_owned(), Time::from_secs(1))),
                        is_refusing: false,
                    }],
                    ..only()
                },
            ),
            (
                Rule::ApiKeyExpiring,
                Facts {
                    expiring_api_keys: vec![ExpiringApiKey {
                        tenant: "acme".to_owned(),
                        id: "key_1".to_owned(),
                        ends_at: Time::from_secs(1),
                    }],
                    ..only()
                },
            ),
            (
                Rule::WritesRefused,
                Facts { nodes: vec![NodeReport { refused_writes: 1, ..node.clone() }], ..only() },
            ),
            (
                Rule::NodeLost,
                Facts { nodes: vec![NodeReport { lost_nodes: 1, ..node.clone() }], ..only() },
            ),
            (
                Rule::ClockOff,
                Facts { nodes: vec![NodeReport { is_clock_off: true, ..node.clone() }], ..only() },
            ),
            (
                Rule::LedgerCheckFailed,
                Facts {
                    nodes: vec![NodeReport { ledger_error: Some("no".to_owned()), ..node.clone() }],
                    ..only()
                },
            ),
            (
                Rule::ArchiveFailing,
                Facts {
                    nodes: vec![NodeReport { archive_error: Some("no".to_owned()), ..node }],
                    ..only()
                },
            ),
            (Rule::StorageCritical, Facts { disk_share: Some(0.91), ..only() }),
        ];
        for (rule, facts) in &cases {
            assert_eq!(rules(facts, false).last(), Some(rule), "{facts:?}");
        }
        assert_eq!(rules(&Facts::default(), true), []);
        assert_eq!(rules(&Facts { ended: 49, died: 49, ..only() }, false), []);
    }

    #[test]
    fn a_figure_that_hovers_does_not_flap() {
        let near = Facts { dead_letters: 90, ..Facts::default() };
        assert_eq!(rules(&near, false), []);
        assert_eq!(rules(&near, true), [Rule::DeadLettersHigh]);
        assert_eq!(rules(&Facts { dead_letters: 80, ..near }, true), []);
    }
}
