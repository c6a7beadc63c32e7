//! The code of a lane that makes one attempt of a delivery.
//!
//! A carrier returns a value, never an error. Only the engine decides what follows from it: another attempt,
//! a dead letter or an event.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{
    Attempt, EndReason, Failure, NextStep, Rate, RetryPlan, Time, Verdict,
    pace::{Load, SLOW},
};
use gancho_store::{EndedDelivery, Job, NewParcel, Result};

use crate::preemption::Preemption;

#[async_trait]
pub trait Carrier: Send + Sync + 'static {
    /// Called with newly claimed jobs before [`Self::terms`], so that the carrier can load what `terms`
    /// needs.
    async fn prepare(&self, jobs: &[Job]) {
        let _ = jobs;
    }

    /// Returns the terms of the delivery. Called when it enters the queue; must answer from memory.
    fn terms(&self, job: &Job) -> Terms;

    /// Makes one attempt. `attempt` counts from 1 over the delivery's whole life. Must end by itself: the
    /// carrier enforces the deadline of an attempt. In a lane with hard slots it ends the attempt earlier if
    /// `preemption` requests it, and seals `preemption` before it sends what must not be sent twice.
    async fn carry(&self, job: &Job, attempt: u32, preemption: &Preemption) -> AttemptResult;

    /// Returns the parcels to publish in the transaction that records the attempt. `at` is when the attempt
    /// ended or, if none was made, when that was decided. May read from the store; if the store does not
    /// answer, the result waits and this is called again.
    async fn follow(
        &self,
        job: &Job,
        carried: &AttemptResult,
        next: &NextStep,
        at: Time,
    ) -> Result<Vec<NewParcel>> {
        let _ = (job, carried, next, at);
        Ok(Vec::new())
    }

    /// Called with deliveries that the store gave up while they waited. Nothing is published with them in a
    /// transaction.
    fn gave_up(&self, ended: &[EndedDelivery], reason: &EndReason, at: Time) {
        let _ = (ended, reason, at);
    }
}

#[derive(Debug, Clone)]
pub struct Terms {
    pub plan: Arc<RetryPlan>,
    /// Maximum concurrent deliveries to the target, over all nodes; fewer while the target is slow. `None`:
    /// [`Terms::MAX_IN_FLIGHT`] on each node.
    pub max_in_flight: Option<u32>,
    /// Maximum delivery rate of the target, over all nodes.
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
    /// Whether the target was contacted. If not, there was no attempt: nothing is counted or logged, and the
    /// target's health is not affected.
    pub is_attempt: bool,
    /// The current retry plan, if it may have changed since the delivery was queued.
    pub plan: Option<Arc<RetryPlan>>,
    /// How busy the target seemed. Decides how many concurrent deliveries it gets.
    pub load: Load,
    /// Whether the target itself failed. Only such failures count towards its circuit breaker.
    pub at_fault: bool,
    pub latency: Duration,
    /// The request headers as sent, with secrets masked: `name: value` lines.
    pub request_headers: Bytes,
    pub response_status: Option<u16>,
    pub response_headers: Bytes,
    /// The response body as received, at most its first 16 KiB.
    pub response_body: Bytes,
}

impl AttemptResult {
    /// Creates a result without request and response, whose load and fault follow from the verdict: a
    /// temporary failure is the target's, and a target that fails or is slow gets fewer deliveries.
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

    /// Nothing was sent, and no later attempt can succeed. Not an attempt.
    pub fn never(failure: Failure) -> Self {
        Self { is_attempt: false, ..Self::new(Verdict::Never { failure }, Duration::ZERO) }
    }

    /// Nothing was sent, because this node lacks a resource. Not an attempt; tried again soon.
    pub fn deferred(failure: Failure) -> Self {
        let verdict = Verdict::Deferred { failure };
        let load = Load::Light;
        Self { load, at_fault: false, is_attempt: false, ..Self::new(verdict, Duration::ZERO) }
    }

    pub fn was_deferred(&self) -> bool {
        matches!(self.verdict, Verdict::Deferred { .. })
    }

    pub(crate) fn attempt(&self, number: u32, started_at: Time, next: &NextStep) -> Attempt {
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
                NextStep::Retry { planned_at, .. } => Some(*planned_at),
                NextStep::Delivered | NextStep::Dead(_) => None,
            },
        }
    }
}
