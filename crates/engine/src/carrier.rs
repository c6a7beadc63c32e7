//! What a lane brings: the code that tries one delivery once.
//!
//! A carrier answers with a value, never with an error. What the value means (another attempt, a
//! dead letter, an event that follows) is for the engine alone to decide.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{
    Attempt, EndReason, Failure, Next, Rate, RetryPlan, Time, Verdict,
    pace::{Load, SLOW},
};
use gancho_store::{EndedDelivery, Job, NewParcel, Result};

#[async_trait]
pub trait Carrier: Send + Sync + 'static {
    /// Called with newly claimed jobs before their terms are read: the time to load what `terms` needs.
    async fn prepare(&self, jobs: &[Job]) {
        let _ = jobs;
    }

    /// The terms of the delivery. Called when it enters the queue; must answer from memory.
    fn terms(&self, job: &Job) -> Terms;

    /// Makes one attempt. `attempt` counts from 1 over the delivery's whole life. It must end by itself:
    /// the carrier sets the deadline of an attempt.
    async fn carry(&self, job: &Job, attempt: u32) -> AttemptResult;

    /// Returns the parcels to publish in the transaction that records the attempt. `at` is when the
    /// attempt ended or, where none was made, when that was decided. May read from the store: while the
    /// store does not answer, the result waits and this is called again.
    async fn follow(
        &self,
        job: &Job,
        carried: &AttemptResult,
        next: &Next,
        at: Time,
    ) -> Result<Vec<NewParcel>> {
        let _ = (job, carried, next, at);
        Ok(Vec::new())
    }

    /// Told of deliveries that the store gave up while they waited: nothing follows them in a transaction.
    fn gave_up(&self, ended: &[EndedDelivery], reason: &EndReason, at: Time) {
        let _ = (ended, reason, at);
    }
}

#[derive(Debug, Clone)]
pub struct Terms {
    pub plan: Arc<RetryPlan>,
    /// Maximum concurrent deliveries to its target, over all nodes; fewer while the target is slow. `None`:
    /// [`Terms::MAX_IN_FLIGHT`] of each node.
    pub max_in_flight: Option<u32>,
    /// Maximum delivery rate of its target, over all nodes.
    pub rate: Option<Rate>,
}

impl Terms {
    pub const MAX_IN_FLIGHT: u32 = 64;

    pub fn of(plan: Arc<RetryPlan>) -> Self {
        Self { plan, max_in_flight: None, rate: None }
    }
}

/// The result of one attempt: the verdict, the request and the response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptResult {
    pub verdict: Verdict,
    /// Whether the target was contacted. If not, there was no attempt: none is counted or logged, and
    /// the target is not judged by it.
    pub is_attempt: bool,
    /// The plan as it is now, where it may have changed since the delivery was queued.
    pub plan: Option<Arc<RetryPlan>>,
    /// How busy the target seemed: decides how many it is sent at once.
    pub load: Load,
    /// The target itself failed: counts towards the breaker that spares it.
    pub at_fault: bool,
    pub latency: Duration,
    /// As sent, secrets masked: `name: value` lines.
    pub request_headers: Bytes,
    pub response_status: Option<u16>,
    pub response_headers: Bytes,
    /// At most the first 16 KiB, as received.
    pub response_body: Bytes,
}

impl AttemptResult {
    /// Without request and response, and with the load and fault that the verdict suggests: a temporary
    /// failure is the target's, and a target that fails or is slow is sent less.
    pub fn new(verdict: Verdict, latency: Duration) -> Self {
        let may_pass = matches!(verdict, Verdict::Retry { .. });
        Self {
            load: if may_pass || latency > SLOW { Load::Heavy } else { Load::Light },
            at_fault: may_pass,
            is_attempt: true,
            plan: None,
            verdict,
            latency,
            request_headers: Bytes::new(),
            response_status: None,
            response_headers: Bytes::new(),
            response_body: Bytes::new(),
        }
    }

    /// An internal error: nothing was sent, and the target is not to blame.
    pub fn internal_error(failure: Failure) -> Self {
        let verdict = Verdict::Retry { failure, not_before: None };
        Self { load: Load::Light, at_fault: false, ..Self::new(verdict, Duration::ZERO) }
    }

    /// Nothing was sent and nothing ever will be. Not an attempt.
    pub fn never(failure: Failure) -> Self {
        Self { is_attempt: false, ..Self::new(Verdict::Never { failure }, Duration::ZERO) }
    }

    /// Nothing was sent because this node lacks something. Not an attempt; retried soon.
    pub fn deferred(failure: Failure) -> Self {
        let verdict = Verdict::Deferred { failure };
        let load = Load::Light;
        Self { load, at_fault: false, is_attempt: false, ..Self::new(verdict, Duration::ZERO) }
    }

    pub fn was_deferred(&self) -> bool {
        matches!(self.verdict, Verdict::Deferred { .. })
    }

    pub(crate) fn attempt(&self, number: u32, started_at: Time, next: &Next) -> Attempt {
        Attempt {
            number,
            started_at,
            latency: self.latency,
            request_headers: self.request_headers.clone(),
            response_status: self.response_status,
            response_headers: self.response_headers.clone(),
            response_body: self.response_body.clone(),
            failure: self.verdict.failure().cloned(),
            next_at: match next {
                Next::Retry { planned_at, .. } => Some(*planned_at),
                Next::Delivered | Next::Dead(_) => None,
            },
        }
    }
}
