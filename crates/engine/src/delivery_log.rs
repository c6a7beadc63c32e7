//! Logs deliveries: one line for each failed attempt, dead letter and recovery, after the store has confirmed
//! it. Samples a flood, and counts the lines that it suppresses.

use std::{fmt, sync::Arc, time::Duration};

use gancho_domain::{
    EndReason, EndpointId, EventId, Failure, Lane, NextStep, Parcel, ParcelKind, ReceiptLabel,
    RetryPlan, TenantId,
    id::{EmailIdKind, ReceiptIdKind},
    mask,
};
use gancho_store::{AcceptOutcome, EndedDelivery, Job, NewParcel, Placement, Settlement};
use tracing::field::{DisplayValue, display};

use crate::{Engine, scheduler::BreakerChange};

/// How often the number of suppressed lines is reported.
const REPORT_EVERY: Duration = Duration::from_secs(10);

pub(crate) async fn run(engine: Arc<Engine>) {
    loop {
        tokio::time::sleep(REPORT_EVERY).await;
        engine.report_suppressed();
    }
}

impl Engine {
    pub(crate) fn report_suppressed(&self) {
        for (suppressed, count) in self.log_sampler.take_suppressed() {
            tracing::warn!(suppressed, count, "log lines suppressed");
        }
    }

    /// Logs a result, unless it is a success at the first attempt or a deferral.
    pub(crate) fn log_result(&self, job: &Job, plan: &RetryPlan, settlement: &Settlement) {
        let attempt = settlement.attempt.as_ref();
        let event = match &settlement.next {
            NextStep::Retry { .. } if attempt.is_none() => return,
            NextStep::Delivered if attempt.is_none_or(|attempt| attempt.number == 1) => return,
            NextStep::Retry { .. } => RETRY,
            NextStep::Dead(_) => DEAD,
            NextStep::Delivered => RECOVERED,
        };
        if !self.log_sampler.allows(event, Some((job.tenant, job.target)), self.clock.now()) {
            return;
        }
        let number = attempt.map_or(job.attempts, |attempt| attempt.number);
        let latency_ms = attempt.map(|attempt| attempt.latency.as_millis() as u64);
        let status = attempt.and_then(|attempt| attempt.response_status);
        let (delivery, lane) = (job.delivery, job.lane);
        let (parcel, endpoint) = (ParcelName(&job.parcel), endpoint_of(job).map(display));
        let (tenant, partner) = sender(&job.parcel, lane);
        let trace_id = TraceName(&job.parcel);
        let max_attempts = job.attempts_before.saturating_add(plan.max_attempts());
        match &settlement.next {
            NextStep::Retry { due_at, .. } => {
                let failure = attempt.and_then(|attempt| attempt.failure.as_ref());
                let (error_code, error) = masked_failure(failure);
                tracing::warn!(tenant, partner, event = %parcel, %trace_id, %delivery, endpoint, %lane, attempt = number, max_attempts, error_code, error, status, latency_ms, next_retry_at = %due_at, next_retry_ms = due_at.since(settlement.at).as_millis() as u64, is_retryable = true, "attempt failed; retry scheduled");
            }
            NextStep::Dead(failure) => {
                let (error_code, error) = masked_failure(Some(failure));
                tracing::warn!(tenant, partner, event = %parcel, %trace_id, %delivery, endpoint, %lane, attempt = number, max_attempts, error_code, error, status, latency_ms, is_retryable = false, "delivery failed permanently; moved to the dead letters");
            }
            NextStep::Delivered => {
                tracing::info!(tenant, partner, event = %parcel, %trace_id, %delivery, endpoint, %lane, attempt = number, status, latency_ms, "delivered after a retry");
            }
        }
    }

    /// Counts and logs the deliveries of a parcel that are dead letters from the start, because invalid
    /// deliveries are not attempted.
    pub(crate) fn count_withheld(&self, new: &NewParcel, outcome: &AcceptOutcome) {
        let AcceptOutcome::New { placed, .. } = outcome else { return };
        let dead = new.deliveries.iter().zip(placed).filter(|(_, at)| **at == Placement::Dead);
        let failure = new.ledger.as_ref().and_then(|receipt| receipt.withheld.as_ref());
        for (delivery, _) in dead {
            let now = self.clock.now();
            if let (Some(lane), Some(failure)) = (self.lane(delivery.lane), failure) {
                lane.count_dead(now, new.parcel.tenant, failure.code());
            }
            if !self.log_sampler.allows(DEAD, Some((new.parcel.tenant, delivery.target)), now) {
                continue;
            }
            let (lane, id) = (delivery.lane, delivery.id);
            let (tenant, partner) = sender(&new.parcel, lane);
            let (parcel, (error_code, error)) = (ParcelName(&new.parcel), masked_failure(failure));
            let trace_id = TraceName(&new.parcel);
            tracing::warn!(tenant, partner, event = %parcel, %trace_id, delivery = %id, %lane, attempt = 0, error_code, error, is_retryable = false, "delivery failed permanently; moved to the dead letters");
        }
    }

    /// Counts and logs deliveries that the store has given up without an attempt, as if they had been
    /// settled.
    pub fn count_ended(&self, lane: Lane, reason: &EndReason, ended: &[EndedDelivery]) {
        let now = self.clock.now();
        for one in ended.iter().filter(|one| !one.is_test) {
            let EndedDelivery { tenant, delivery, target, attempts, .. } = *one;
            if let Some(lane) = self.lane(lane) {
                lane.count_dead(now, tenant, &reason.code);
            }
            // A delivery that ends because its endpoint was deleted has not failed.
            if reason.code != EndReason::ENDPOINT_DELETED.code {
                self.statistics.count_dead(now, tenant, target, lane);
            }
            if !self.log_sampler.allows(DEAD, Some((tenant, target)), now) {
                continue;
            }
            let endpoint = (lane == Lane::Webhook).then(|| display(target));
            let tenant = (lane != Lane::Dispatch).then(|| display(tenant));
            let event = parcel_name(one.parcel, lane);
            let (error_code, error) =
                (reason.code.as_str(), (attempts == 0).then_some(reason.untried));
            tracing::warn!(tenant, %event, %delivery, endpoint, %lane, attempt = attempts, error_code, error, is_retryable = false, "delivery failed permanently; moved to the dead letters");
        }
    }

    /// Logs that the breaker of a target opened or closed. `job` is the delivery that caused it.
    pub(crate) fn log_breaker(&self, job: &Job, change: BreakerChange) {
        self.open_breakers.note((job.lane, job.tenant, job.target), change, self.clock.now());
        if !self.log_sampler.allows(BREAKER, Some((job.tenant, job.target)), self.clock.now()) {
            return;
        }
        let (lane, endpoint) = (job.lane, endpoint_of(job).map(display));
        let (tenant, partner) = sender(&job.parcel, lane);
        match change {
            BreakerChange::Opened { until } => {
                tracing::warn!(tenant, partner, endpoint, %lane, %until, "circuit breaker opened");
            }
            BreakerChange::Closed => {
                tracing::info!(tenant, partner, endpoint, %lane, "circuit breaker closed");
            }
        }
    }
}

const RETRY: &str = "attempt failed; retry scheduled";
const DEAD: &str = "delivery failed permanently; moved to the dead letters";
const RECOVERED: &str = "delivered after a retry";
const BREAKER: &str = "circuit breaker opened or closed";

/// Returns the tenant, or the partner of a receipt: users do not know sources as tenants.
fn sender(parcel: &Parcel, lane: Lane) -> (Option<DisplayValue<TenantId>>, Option<&str>) {
    match lane {
        Lane::Dispatch => (None, Some(ReceiptLabel::read(&parcel.event_type).partner)),
        Lane::Webhook | Lane::Email => (Some(display(parcel.tenant)), None),
    }
}

fn endpoint_of(job: &Job) -> Option<EndpointId> {
    (job.lane == Lane::Webhook).then_some(job.target)
}

/// Returns the code and the masked reason. Texts from outside may contain addresses.
fn masked_failure(failure: Option<&Failure>) -> (Option<&str>, Option<String>) {
    let code = failure.map(|failure| failure.code().as_str());
    (code, failure.map(|failure| mask::text(failure.reason())))
}

/// The id of a parcel as users know it.
struct ParcelName<'a>(&'a Parcel);

impl fmt::Display for ParcelName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.0.id;
        match self.0.kind {
            ParcelKind::Event => id.fmt(f),
            ParcelKind::Receipt => id.cast::<ReceiptIdKind>().fmt(f),
            ParcelKind::Email => id.cast::<EmailIdKind>().fmt(f),
        }
    }
}

/// The same name, if only the parcel's id and lane are known.
fn parcel_name(id: EventId, lane: Lane) -> String {
    match lane {
        Lane::Webhook => id.to_string(),
        Lane::Dispatch => id.cast::<ReceiptIdKind>().to_string(),
        Lane::Email => id.cast::<EmailIdKind>().to_string(),
    }
}

/// The id of the parcel's trace, as tracing systems write it.
struct TraceName<'a>(&'a Parcel);

impl fmt::Display for TraceName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0.accept_span().trace_id)
    }
}
