//! The carrier of the webhook lane: render → sign → POST → verdict, and the endpoint's health.

use std::sync::Arc;

use async_trait::async_trait;
use gancho_domain::{
    Clock, Code, EndReason, Failure, NextStep, RetryPlan, Time, Verdict, event_type::is_reserved,
    health::AttemptSignal,
};
use gancho_egress::{Client, carried, hops};
use gancho_engine::{AttemptResult, Carrier, Preemption, Terms, retry_read};
use gancho_store::{EndedDelivery, Job, NewParcel, Result};
use gancho_wire::{AttemptMetadata, Content};

use crate::{
    health::HealthService,
    notify::{ExhaustedDelivery, Notice, Notifier},
    registry::{Registry, Target, Targets},
    request::{self, PreparedRequest},
};

pub struct WebhookCarrier {
    pub registry: Arc<Registry>,
    pub client: Client,
    pub clock: Arc<dyn Clock>,
    pub health: Arc<HealthService>,
    pub notifier: Arc<Notifier>,
}

#[async_trait]
impl Carrier for WebhookCarrier {
    async fn prepare(&self, jobs: &[Job]) {
        self.registry.prepare(jobs).await;
    }

    fn terms(&self, job: &Job) -> Terms {
        match self.registry.known(job.tenant, job.target) {
            Some(target) => Terms {
                plan: plan_of(job, &target),
                max_in_flight: match target.endpoint.max_in_flight {
                    _ if self.health.is_suspect(&target.endpoint) => Some(1),
                    max => max,
                },
                rate: target.endpoint.rate,
            },
            // Deleted, or not cached yet: the attempt will show.
            None => Terms::of(Arc::new(RetryPlan::DISPATCH)),
        }
    }

    async fn carry(&self, job: &Job, attempt: u32, _: &Preemption) -> AttemptResult {
        let targets = match retry_read(|| self.targets_of(job)).await {
            Ok(targets) => targets,
            Err(error) => {
                let reason = format!("could not read the endpoint: {error}");
                return AttemptResult::deferred(Failure::new(Code::UNSPECIFIED, reason));
            }
        };
        match targets.get(job.target) {
            Some(target) if target.endpoint.is_active => {
                let carried = self.post(job, attempt, target).await;
                // The current endpoint, not the one when the delivery was queued.
                AttemptResult { plan: Some(plan_of(job, target)), ..carried }
            }
            Some(_) => target_gone("the endpoint is disabled"),
            None => match targets.trouble(job.target) {
                Some(why) => {
                    internal_failure(format!("the endpoint is unusable on this node: {why}"))
                }
                None => target_gone(EndReason::ENDPOINT_DELETED.untried),
            },
        }
    }

    /// A dead letter is reported, unless its endpoint was deleted or disabled: that was intended, or has its
    /// own notice.
    async fn follow(
        &self,
        job: &Job,
        carried: &AttemptResult,
        next: &NextStep,
        at: Time,
    ) -> Result<Vec<NewParcel>> {
        let NextStep::Dead(failure) = next else {
            return Ok(Vec::new());
        };
        if job.parcel.is_test || is_notice(job) || *failure.code() == Code::TARGET_GONE {
            return Ok(Vec::new());
        }
        let target = self.registry.known(job.tenant, job.target);
        let exhausted = ExhaustedDelivery {
            job,
            url: target.as_ref().map(|target| target.endpoint.url.as_str()),
            attempts: job.attempts + u32::from(carried.is_attempt),
            failure,
            at,
        };
        if !self.health.is_reported_alone(&exhausted) {
            return Ok(Vec::new());
        }
        self.notifier.parcels(job.tenant, &Notice::exhausted(&exhausted)).await
    }

    /// Reports deliveries that expired together, such as those of a paused endpoint, in one digest.
    fn gave_up(&self, ended: &[EndedDelivery], reason: &EndReason, at: Time) {
        for one in ended.iter().filter(|one| !one.is_test && !one.is_notice) {
            let target = self.registry.known(one.tenant, one.target);
            let url = target.as_ref().map(|target| target.endpoint.url.as_str());
            self.health.count_ended(one, url, &reason.code, at);
        }
    }
}

impl WebhookCarrier {
    /// The endpoints of the job's tenant. They are read again if the job's is missing or disabled among the cached ones:
    /// another node may have created or enabled it since.
    async fn targets_of(&self, job: &Job) -> Result<Arc<Targets>> {
        let targets = self.registry.of(job.tenant).await?;
        let is_active = targets.get(job.target).is_some_and(|target| target.endpoint.is_active);
        if is_active || targets.trouble(job.target).is_some() {
            return Ok(targets);
        }
        self.registry.forget(job.tenant);
        self.registry.of(job.tenant).await
    }

    async fn post(&self, job: &Job, attempt: u32, target: &Target) -> AttemptResult {
        let event_id = job.parcel.id.to_string();
        let body = target.profile.envelope.render(&Content {
            event_id: &event_id,
            event_type: &job.parcel.event_type,
            created_at: job.parcel.created_at,
            number: job.number,
            data: &job.parcel.body,
        });
        let sending = AttemptMetadata {
            event_id: &event_id,
            endpoint_id: &target.id,
            event_type: &job.parcel.event_type,
            at: self.clock.now(),
            retry: attempt - 1,
        };
        let trace = job.parcel.attempt_span(job.delivery, attempt).to_string();
        let hops = self.registry.hops().mark(hops::OF_EVENT);
        let prepared = request::prepare(target, &sending, &trace, hops, &body);
        let PreparedRequest { headers, record } = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return internal_failure(format!("could not build the request: {error}")),
        };
        let outcome =
            self.client.post_for(job.tenant, &target.url, headers, body, target.timeout).await;
        let carried = carried(outcome, record, self.clock.now());
        self.note(job, target, &carried).await;
        carried
    }

    /// Notes what the attempt says about the endpoint's health. Test events say nothing.
    async fn note(&self, job: &Job, target: &Target, carried: &AttemptResult) {
        if job.parcel.is_test || carried.was_deferred() {
            return;
        }
        let seen = match &carried.verdict {
            Verdict::Delivered => AttemptSignal::Worked,
            Verdict::Never { .. } if carried.response_status == Some(410) => AttemptSignal::Gone,
            _ => AttemptSignal::Failed,
        };
        let failure = carried.verdict.failure();
        self.health.note(&target.endpoint, seen, failure, !is_notice(job)).await;
    }
}

/// Returns the retry plan. A test event is attempted once, because its caller waits for the response.
fn plan_of(job: &Job, target: &Target) -> Arc<RetryPlan> {
    if job.parcel.is_test {
        return Arc::new(RetryPlan::Schedule(Vec::new()));
    }
    target.plan.clone()
}

/// Whether the delivery is a notice of the gateway itself, which causes no further notices.
fn is_notice(job: &Job) -> bool {
    is_reserved(&job.parcel.event_type)
}

/// The result of an internal error: nothing was sent, and the target is not at fault.
fn internal_failure(reason: String) -> AttemptResult {
    AttemptResult::internal_error(Failure::new(Code::UNSPECIFIED, reason))
}

fn target_gone(reason: &str) -> AttemptResult {
    AttemptResult::never(Failure::new(Code::TARGET_GONE, reason))
}
