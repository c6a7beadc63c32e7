//! Metrics of received and rejected webhooks.

use std::{collections::BTreeMap, fmt::Error};

use gancho_inbound::{Inbound, counters::Counts};

use super::{
    metric::Writer,
    observe::{MAX_NAMED, OTHER},
};

pub struct InboundMetrics {
    /// The busiest partners, and the others as `other`.
    partners: Vec<(Box<str>, Counts)>,
    denied: BTreeMap<&'static str, u64>,
    reasons: Vec<(&'static str, u64)>,
    greetings: u64,
    policy: String,
}

impl InboundMetrics {
    pub fn read(inbound: &Inbound) -> Self {
        let counters = &inbound.counters;
        let mut denied = BTreeMap::new();
        let mut reasons = Vec::new();
        for (reason, count) in counters.by_reason() {
            *denied.entry(reason.deny_label()).or_default() += count;
            if count > 0 {
                reasons.push((reason.name(), count));
            }
        }
        Self {
            partners: busiest(counters.by_partner()),
            denied,
            reasons,
            greetings: counters.greetings(),
            policy: inbound.policy.pack().hash().to_owned(),
        }
    }

    pub fn encode(&self, to: &mut Writer<'_>) -> Result<(), Error> {
        let rows = |pick: fn(&Counts) -> u64| {
            self.partners
                .iter()
                .map(move |(partner, counts)| (vec![("partner", &**partner)], pick(counts)))
        };
        to.counter(
            "webhook_received",
            "Accepted webhooks of partners.",
            rows(|counts| counts.received),
        )?;
        to.counter(
            "gancho_webhook_repeats",
            "Duplicate webhooks, which were not stored again.",
            rows(|counts| counts.repeats),
        )?;
        to.counter(
            "gancho_webhook_clashes",
            "Webhooks that reused an event id with a different body; stored as dead letters with code ID_CLASH.",
            rows(|counts| counts.clashes),
        )?;
        let denied = self.denied.iter().map(|(label, count)| (vec![("reason", *label)], *count));
        to.counter("policy_deny", "Rejected webhooks, by policy label.", denied)?;
        let reasons = self.reasons.iter().map(|(name, count)| (vec![("reason", *name)], *count));
        to.counter("gancho_webhook_denied", "Rejected webhooks, by exact reason.", reasons)?;
        let greetings = [(vec![], self.greetings)];
        to.counter("gancho_webhook_greetings", "Answered handshakes of senders.", greetings)?;
        let hash = [(vec![("hash", self.policy.as_str())], 1.0)];
        to.gauge("gancho_policy_info", "Hash of the policy pack in force.", hash)
    }
}

fn busiest(mut partners: Vec<(Box<str>, Counts)>) -> Vec<(Box<str>, Counts)> {
    partners.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.received));
    let rest = partners.split_off(partners.len().min(MAX_NAMED));
    if !rest.is_empty() {
        let mut sum = Counts::default();
        for (_, counts) in rest {
            sum.received += counts.received;
            sum.repeats += counts.repeats;
            sum.clashes += counts.clashes;
        }
        partners.push((OTHER.into(), sum));
    }
    partners
}
