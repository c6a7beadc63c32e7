//! The carrier of the dispatch lane: sends a receipt to one of its source's targets, or to another part of
//! the gateway.
//!
//! The core can verify and deduplicate what it gets: the body byte for byte, a Standard Webhooks signature
//! with the source's dispatch secret, whose `webhook-id` is the receipt's id, and the `X-Gancho-*` headers. A
//! body that does not match the schema of the source becomes a dead letter before anything is sent.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use gancho_domain::{Clock, Code, Failure, FieldError, ReceiptId, ReceiptLabel, Time, Verdict};
use gancho_egress::{Client, add_signed, carried, header_record, header_value, hops};
use gancho_engine::{AttemptResult, Carrier, Preemption, Terms, retry_read};
use gancho_store::Job;
use gancho_wire::{AttemptMetadata, Profile, sign};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use tokio::time::Instant;
use url::Url;

use crate::{
    Sources,
    internal_target::{InternalSink, InternalSinkError, InternalTarget},
    registry::{PreparedSource, TargetAddress},
};

/// The body does not match the schema. Not retried.
pub const SCHEMA_INVALID: &str = "SCHEMA_INVALID";

pub struct DispatchCarrier {
    sources: Arc<Sources>,
    client: Client,
    clock: Arc<dyn Clock>,
    profile: Profile,
    timeout: Duration,
    internal_target: Option<Arc<dyn InternalSink>>,
}

/// The timeout of an attempt.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(15);

impl DispatchCarrier {
    /// Creates the carrier. The client uses the operator's address policy: only operators create sources, and
    /// the core is often on the same machine.
    pub fn new(sources: Arc<Sources>, client: Client, clock: Arc<dyn Clock>) -> Self {
        let profile = Profile::standard();
        Self { sources, client, clock, profile, timeout: DEFAULT_TIMEOUT, internal_target: None }
    }

    /// Receives what goes to an internal target.
    pub fn with_internal_sink(self, internal_target: Arc<dyn InternalSink>) -> Self {
        Self { internal_target: Some(internal_target), ..self }
    }
}

#[async_trait]
impl Carrier for DispatchCarrier {
    async fn prepare(&self, _: &[Job]) {
        // If the store fails, the carrier reads again for the attempt.
        let _ = self.sources.all().await;
    }

    fn terms(&self, job: &Job) -> Terms {
        match self.sources.known(job.tenant) {
            Some(source) => Terms::of(source.plan.clone()),
            // Deleted, or not cached yet: the attempt will show.
            None => Terms::of(self.sources.defaults().plan.clone()),
        }
    }

    async fn carry(&self, job: &Job, attempt: u32, _: &Preemption) -> AttemptResult {
        let read = || self.sources.of_tenant(job.tenant);
        let source = match retry_read(read).await {
            Ok(Some(source)) => source,
            // The target is unknown here; a node with the right key ring can send it.
            Ok(None) if self.sources.has_unusable() => {
                return internal_failure("the source is unusable on this node".to_owned());
            }
            Ok(None) => return target_gone("the source was deleted"),
            Err(error) => return internal_failure(format!("could not read the source: {error}")),
        };
        let carried = match source.destination(job.target, was_given_up(job)) {
            None => {
                target_gone("the source no longer has this target: a replay uses the first target")
            }
            // Checked at each attempt, so that a dead letter can be replayed after the schema is corrected.
            Some(target) => match source.schema_errors(&job.parcel.body).await {
                Err(error) => internal_failure(error.to_string()),
                Ok(errors) => match (errors.first(), &target.to) {
                    (Some(first), _) => AttemptResult::never(misfit(first)),
                    (None, TargetAddress::Url(url)) => self.post(job, attempt, &source, url).await,
                    (None, TargetAddress::InternalSink(target)) => {
                        self.hand_over(job, *target).await
                    }
                },
            },
        };
        AttemptResult { plan: Some(source.plan.clone()), ..carried }
    }
}

impl DispatchCarrier {
    async fn post(
        &self,
        job: &Job,
        attempt: u32,
        source: &PreparedSource,
        url: &Url,
    ) -> AttemptResult {
        let headers = match self.headers(job, attempt, source, self.clock.now()) {
            Ok(headers) => headers,
            Err(error) => return internal_failure(format!("could not build the request: {error}")),
        };
        let record = header_record(&headers);
        let body = job.parcel.body.clone();
        let outcome = self.client.post_for(job.tenant, url, headers, body, self.timeout).await;
        carried(outcome, record, self.clock.now())
    }

    /// Passes a receipt to an internal target. The result is recorded in place of a response.
    async fn hand_over(&self, job: &Job, target: InternalTarget) -> AttemptResult {
        let Some(internal_target) = &self.internal_target else {
            // E-mail may be on at another node, or at this one after a change of its settings.
            return internal_failure("e-mail is off on this node".into());
        };
        let began = Instant::now();
        match internal_target.take(target, &job.parcel.body).await {
            Ok(said) => {
                let delivered = AttemptResult::new(Verdict::Delivered, began.elapsed());
                AttemptResult { response_body: said.into(), ..delivered }
            }
            Err(InternalSinkError::Later(failure)) => AttemptResult::internal_error(failure),
            Err(InternalSinkError::Never(failure)) => {
                AttemptResult::new(Verdict::Never { failure }, began.elapsed())
            }
        }
    }

    fn headers(
        &self,
        job: &Job,
        attempt: u32,
        source: &PreparedSource,
        now: Time,
    ) -> Result<HeaderMap, String> {
        let receipt: ReceiptId = job.parcel.id.cast();
        let receipt = receipt.to_string();
        let label = ReceiptLabel::read(&job.parcel.event_type);
        let sending = AttemptMetadata {
            event_id: &receipt,
            endpoint_id: label.partner,
            event_type: label.partner,
            at: now,
            retry: attempt.saturating_sub(1),
        };
        let signed = sign(&self.profile, &sending, &job.parcel.body, &source.dispatch_keys)
            .map_err(|error| error.to_string())?;
        let mut headers = HeaderMap::with_capacity(13);
        let trace = job.parcel.attempt_span(job.delivery, attempt).to_string();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::USER_AGENT, header_value(&self.profile.user_agent)?);
        let attempt = attempt.to_string();
        for (name, text) in [
            ("traceparent", Some(trace.as_str())),
            ("x-gancho-receipt-id", Some(receipt.as_str())),
            ("x-gancho-partner", Some(label.partner)),
            ("x-gancho-key-id", Some(label.key_id)),
            ("x-gancho-topic", label.topic),
            ("x-gancho-event-id", job.parcel.external_id.as_deref()),
            ("x-gancho-attempt", Some(&attempt)),
            ("x-gancho-test", job.parcel.is_test.then_some("true")),
        ] {
            // An event id may contain characters that a header cannot; it is in the body as well.
            let Some(Ok(text)) = text.map(header_value) else { continue };
            headers.insert(HeaderName::from_static(name), text);
        }
        if let Some(hops) = self.sources.hops().mark(hops::OF_RECEIPT) {
            headers.insert(hops::HEADER, hops);
        }
        add_signed(&mut headers, signed)?;
        Ok(headers)
    }
}

/// Returns why a body that does not match the schema is not sent.
pub(crate) fn misfit(first: &FieldError) -> Failure {
    let reason = format!("the body does not match the schema of the source: {first}");
    Failure::new(Code::from_text(SCHEMA_INVALID), reason)
}

/// The result of an internal error: nothing was sent, and the target is not at fault.
fn internal_failure(reason: String) -> AttemptResult {
    AttemptResult::internal_error(Failure::new(Code::UNSPECIFIED, reason))
}

/// Whether the delivery was retried after it had ended.
fn was_given_up(job: &Job) -> bool {
    job.is_replay || job.attempts_before > 0
}

fn target_gone(reason: &str) -> AttemptResult {
    AttemptResult::never(Failure::new(Code::TARGET_GONE, reason))
}
