//! Which conditions hold: a pure function of the facts. An alert that fires is resolved only when its figure is
//! clearly below the threshold, so that one that hovers around it does not flap.

use std::collections::BTreeSet;

use crate::{Facts, FailingEndpoint, Rule, Thresholds};

/// A rule that holds now.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    pub rule: Rule,
    /// What it is about: a tenant, an endpoint, a node, a lane or a key; empty where it is the whole gateway.
    pub subject: String,
    pub value: f64,
    pub threshold: f64,
    /// A sentence with the figures.
    pub detail: String,
}

/// The part of a threshold below which a firing alert is resolved.
const CLEAR: f64 = 0.8;
/// The same for shares of the storage: 80 % are resolved at 76 %.
const CLEAR_STORAGE: f64 = 0.95;
/// With fewer deliveries in an hour, a share of them says nothing.
const MIN_ENDED: u64 = 50;

pub fn conditions(
    facts: &Facts,
    thresholds: &Thresholds,
    is_firing: impl Fn(Rule, &str) -> bool,
) -> Vec<Condition> {
    let mut holding = Vec::new();
    let mut check = |rule: Rule, subject: &str, value: f64, threshold: f64, detail: String| {
        let clear = if matches!(rule, Rule::StorageHigh | Rule::StorageCritical) {
            CLEAR_STORAGE
        } else {
            CLEAR
        };
        let bound = if is_firing(rule, subject) { threshold * clear } else { threshold };
        if value > bound {
            let subject = subject.to_owned();
            holding.push(Condition { rule, subject, value, threshold, detail });
        }
    };
    for cell in &facts.unavailable_cells {
        let detail = format!("cell {cell} does not respond");
        check(Rule::StoreUnavailable, cell, 1.0, 0.0, detail);
    }
    let dead = facts.dead_letters;
    let detail = format!("{dead} dead letters in the store");
    check(Rule::DeadLettersHigh, "", dead as f64, thresholds.dead_letters as f64, detail);
    for (tenant, dead) in &facts.dead_letters_by_tenant {
        let detail = format!("{dead} dead letters of {tenant}");
        let threshold = thresholds.tenant_dead_letters as f64;
        check(Rule::TenantDeadLettersHigh, tenant, *dead as f64, threshold, detail);
    }
    if facts.ended >= MIN_ENDED {
        let share = facts.died as f64 / facts.ended as f64;
        let Facts { died, ended, .. } = facts;
        let detail = format!("{died} of {ended} deliveries became dead letters within an hour");
        check(Rule::DeadLetterRateHigh, "", share, thresholds.dead_letter_rate, detail);
    }
    let of_store = |share: f64| format!("{:.0} % of the store is used", share * 100.0);
    let of_disk = |share: f64| format!("{:.0} % of the disk is used", share * 100.0);
    let store = facts.store_share.map(|share| ("store", share, of_store(share)));
    let disk = facts.disk_share.map(|share| ("disk", share, of_disk(share)));
    for (subject, share, detail) in store.into_iter().chain(disk) {
        check(Rule::StorageHigh, subject, share, thresholds.storage_high, detail.clone());
        check(Rule::StorageCritical, subject, share, thresholds.storage_critical, detail);
    }
    for (lane, age) in &facts.queue_ages {
        let detail = format!("the oldest {lane} delivery has been due for {} s", age.as_secs());
        let threshold = thresholds.queue_age.as_secs_f64();
        check(Rule::QueueDelayed, lane.name(), age.as_secs_f64(), threshold, detail);
    }
    for failing in &facts.failing_endpoints {
        let count = failing.failed_attempts;
        let FailingEndpoint { tenant, endpoint, host, .. } = failing;
        let detail = format!("all {count} attempts to {endpoint} ({host}) of {tenant} failed");
        check(Rule::EndpointFailing, endpoint, count as f64, 0.0, detail);
    }
    let more = facts.more_failing_endpoints;
    let detail = format!("{more} more endpoints fail every attempt");
    check(Rule::EndpointFailing, "", more as f64, 0.0, detail);
    for source in &facts.keyless_sources {
        let partner = &source.partner;
        let detail = match &source.last_key {
            Some((key, at)) if source.is_refusing => {
                format!("{partner} has had no valid key since {key} ended at {at}")
            }
            Some((key, at)) => format!("key {key} of {partner} ends at {at}"),
            None => format!("{partner} has no valid key"),
        };
        check(Rule::SourceKeyExpiring, partner, 1.0, 0.0, detail);
    }
    for key in &facts.expiring_api_keys {
        let subject = format!("{}/{}", key.tenant, key.id);
        let detail = format!("API key {} of {} expires at {}", key.id, key.tenant, key.ends_at);
        check(Rule::ApiKeyExpiring, &subject, 1.0, 0.0, detail);
    }
    let (mut refused, mut lost, mut lost_names) = (0, 0, BTreeSet::new());
    for node in &facts.nodes {
        refused += node.refused_writes;
        lost += node.lost_nodes;
        lost_names.extend(node.lost_names.iter().map(String::as_str));
        if node.is_clock_off {
            let detail = format!("the clock of {} is not trusted", node.name);
            check(Rule::ClockOff, &node.name, 1.0, 0.0, detail);
        }
        if let Some(error) = &node.archive_error {
            check(Rule::ArchiveFailing, &node.name, 1.0, 0.0, error.clone());
        }
    }
    // All nodes have the same ledger. One that has just started says nothing about it yet.
    let unchecked = || {
        let is_open = is_firing(Rule::LedgerCheckFailed, "")
            && facts.nodes.iter().any(|node| node.is_ledger_unchecked);
        is_open.then(|| "it has not been verified since a node started".to_owned())
    };
    let error = facts.nodes.iter().find_map(|node| node.ledger_error.clone()).or_else(unchecked);
    if let Some(error) = error {
        check(Rule::LedgerCheckFailed, "", 1.0, 0.0, error);
    }
    let detail = format!("{refused} events, webhooks or e-mails were refused");
    check(Rule::WritesRefused, "", refused as f64, 0.0, detail);
    if lost_names.is_empty() {
        check(Rule::NodeLost, "", lost as f64, 0.0, format!("{lost} nodes were lost"));
    }
    // Each by itself, so that a second one is reported, too.
    for name in lost_names {
        check(Rule::NodeLost, name, 1.0, 0.0, format!("declared dead: {name}"));
    }
    holding
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
