//! Reports spans for traces: one for each accepted parcel, and one for each attempt.
//!
//! A span is reported once the store has confirmed what it is about, from data that is at hand anyway:
//! without a sink, spans cost nothing.

use gancho_domain::{Attempt, NextStep, Parcel, Time};
use gancho_store::{AcceptOutcome, Job, NewParcel};

use crate::Engine;

/// Receives spans. Must return at once, even if spans are lost.
pub trait SpanSink: Send + Sync + 'static {
    /// Reports that the parcel and its deliveries were stored, at `stored_at`.
    fn accepted(&self, parcel: &Parcel, stored_at: Time);

    /// Reports that an attempt was made, from which `next` follows.
    fn attempted(&self, job: &Job, attempt: &Attempt, next: &NextStep);

    fn counts(&self) -> SpanCounts;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpanCounts {
    pub exported: u64,
    /// Spans dropped because the queue was full.
    pub dropped: u64,
    /// Spans dropped because the collector did not accept them.
    pub failed: u64,
}

impl Engine {
    /// Returns the counts of exported and dropped spans; `None` without a sink.
    pub fn span_counts(&self) -> Option<SpanCounts> {
        self.spans.as_ref().map(|spans| spans.counts())
    }

    pub(crate) fn trace_accepted<'a>(
        &self,
        accepted: impl IntoIterator<Item = (&'a NewParcel, &'a AcceptOutcome)>,
    ) {
        let Some(spans) = &self.spans else { return };
        let now = self.clock.now();
        for (new, outcome) in accepted {
            if matches!(outcome, AcceptOutcome::New { .. }) {
                spans.accepted(&new.parcel, now);
            }
        }
    }

    pub(crate) fn trace_attempt(&self, job: &Job, attempt: Option<&Attempt>, next: &NextStep) {
        if let (Some(spans), Some(attempt)) = (&self.spans, attempt) {
            spans.attempted(job, attempt, next);
        }
    }
}
