//! Metrics of deliveries, as this node made them.

use std::{collections::BTreeMap, fmt::Error};

use gancho_domain::Lane;
use gancho_engine::{Buckets, FailureCount, LaneCounters, OutcomeCounts, Timing};

use super::{
    Watch,
    metric::Writer,
    observe::{MAX_NAMED, OTHER},
};

pub struct DeliveryMetrics {
    lanes: Vec<(Lane, LaneCounters, Timing)>,
    archived: [(Lane, u64); Lane::ALL.len()],
    failures: Vec<(Lane, BTreeMap<String, FailureCount>)>,
}

impl Watch {
    pub(super) fn delivery_metrics(&self) -> DeliveryMetrics {
        let engine = &self.engine;
        let lanes = Lane::ALL
            .into_iter()
            .filter_map(|lane| Some((lane, engine.stats(lane)?, engine.timing(lane)?)));
        let outcomes =
            Lane::ALL.into_iter().filter_map(|lane| Some((lane, engine.failures(lane)?)));
        DeliveryMetrics {
            lanes: lanes.collect(),
            archived: Lane::ALL.map(|lane| (lane, engine.archived(lane))),
            failures: outcomes.map(|(lane, counts)| (lane, named(counts))).collect(),
        }
    }
}

/// Returns counts by code. Codes are named in the order of their names, so that a counter does not change its
/// name; the engine bounds their number.
fn named(counts: OutcomeCounts) -> BTreeMap<String, FailureCount> {
    let mut named: BTreeMap<String, FailureCount> = BTreeMap::new();
    let codes = counts.by_code.into_iter().map(|(code, count)| (code.as_str().to_owned(), count));
    for (code, count) in codes.chain([(OTHER.to_owned(), counts.other_codes)]) {
        let sum = named.entry(code).or_default();
        sum.attempts += count.attempts;
        sum.dead_letters += count.dead_letters;
    }
    debug_assert!(named.len() <= 2 * MAX_NAMED + 1);
    named
}

impl DeliveryMetrics {
    pub fn encode(&self, to: &mut Writer<'_>) -> Result<(), Error> {
        let lanes = &self.lanes;
        let outcomes = lanes.iter().flat_map(|(lane, stats, _)| {
            [("delivered", stats.delivered), ("retried", stats.retried), ("dead", stats.dead)]
                .map(|(outcome, count)| (vec![("lane", lane.name()), ("outcome", outcome)], count))
        });
        to.counter(
            "gancho_deliveries",
            "Attempts by outcome: delivered, retried or dead (failed permanently).",
            outcomes,
        )?;
        let one = |pick: fn(&LaneCounters) -> u64| {
            lanes.iter().map(move |(lane, stats, _)| (vec![("lane", lane.name())], pick(stats)))
        };
        to.counter("gancho_attempts", "Delivery attempts.", one(|stats| stats.carried))?;
        to.counter(
            "gancho_deferred",
            "Deliveries deferred because this node lacked a resource, e.g. file handles.",
            one(|stats| stats.deferred),
        )?;
        to.counter("dlq_entries", "Deliveries that became dead letters.", one(|stats| stats.dead))?;
        let archived =
            self.archived.iter().map(|(lane, count)| (vec![("lane", lane.name())], *count));
        to.counter("gancho_archived", "Dead letters moved to the archive.", archived)?;
        to.counter(
            "gancho_lease_lost",
            "Results discarded because another node holds the lease.",
            one(|stats| stats.lease_lost),
        )?;
        to.counter(
            "gancho_unstorable_results",
            "Results that the store rejected and that were stored without details.",
            one(|stats| stats.unstorable),
        )?;
        to.counter("gancho_panics", "Panics in carriers.", one(|stats| stats.panics))?;
        let now = |pick: fn(&LaneCounters) -> u64| {
            lanes
                .iter()
                .map(move |(lane, stats, _)| (vec![("lane", lane.name())], pick(stats) as f64))
        };
        to.gauge("gancho_in_flight", "Deliveries in flight.", now(|stats| stats.in_flight))?;
        to.gauge("gancho_queued", "Deliveries queued in memory.", now(|stats| stats.queued))?;
        self.retries(to)?;
        self.retry_success(to)?;
        self.failures(to)?;
        to.counter(
            "gancho_breaker_opened",
            "Times that the circuit breaker of a target opened.",
            one(|stats| stats.breaker_openings),
        )?;
        let time = |pick: fn(&Timing) -> &Buckets| {
            lanes
                .iter()
                .map(move |(lane, _, timing)| (vec![("lane", lane.name())], pick(timing).clone()))
        };
        to.histogram(
            "retry_backoff_delay_seconds",
            "Scheduled delay before the next attempt.",
            time(|timing| &timing.backoff),
        )?;
        to.histogram(
            "gancho_time_to_first_attempt_seconds",
            "Time from acceptance to the first attempt, including a requested delay.",
            time(|timing| &timing.to_first_attempt),
        )?;
        to.histogram(
            "gancho_endpoint_response_seconds",
            "Duration of an attempt, whatever its outcome.",
            time(|timing| &timing.attempt),
        )
    }

    /// Writes retries by attempt number; the last one includes all further attempts.
    fn retries(&self, to: &mut Writer<'_>) -> Result<(), Error> {
        let numbers = numbers();
        let rows = self.lanes.iter().flat_map(|(lane, _, timing)| {
            let numbered = numbers.iter().zip(&timing.retries);
            numbered.map(|(number, count)| {
                (vec![("lane", lane.name()), ("attempt", number.as_str())], *count)
            })
        });
        to.counter("retry_attempts", "Attempts after the first, by attempt number.", rows)
    }

    /// Writes the share of retries that succeeded, by attempt number.
    fn retry_success(&self, to: &mut Writer<'_>) -> Result<(), Error> {
        let numbers = numbers();
        let rows = self.lanes.iter().flat_map(|(lane, _, timing)| {
            let counts = timing.retries.iter().zip(&timing.retry_successes);
            numbers.iter().zip(counts).filter(|(_, (tried, _))| **tried > 0).map(
                |(number, (tried, succeeded))| {
                    let labels = vec![("lane", lane.name()), ("attempt", number.as_str())];
                    (labels, *succeeded as f64 / *tried as f64)
                },
            )
        });
        to.gauge(
            "retry_success_rate",
            "Share of the attempts after the first that succeeded, by attempt number.",
            rows,
        )
    }

    fn failures(&self, to: &mut Writer<'_>) -> Result<(), Error> {
        let rows = |pick: fn(&FailureCount) -> u64| {
            self.failures.iter().flat_map(move |(lane, codes)| {
                let some = codes.iter().filter(move |(_, count)| pick(count) > 0);
                some.map(move |(code, count)| {
                    (vec![("lane", lane.name()), ("code", code.as_str())], pick(count))
                })
            })
        };
        to.counter(
            "gancho_attempt_failures",
            "Failed attempts by failure code.",
            rows(|count| count.attempts),
        )?;
        to.counter(
            "dlq_by_error_code",
            "Deliveries that became dead letters, by failure code.",
            rows(|count| count.dead_letters),
        )
    }
}

/// Returns the attempt numbers of retries; the last one includes all further attempts.
fn numbers() -> Vec<String> {
    (2..)
        .take(gancho_engine::timings::LAST_ATTEMPT - 1)
        .map(|number: u32| number.to_string())
        .chain(["more".to_owned()])
        .collect()
}
