//! The carrier of the e-mail lane: check the suppression list → write the message → send → classify, and
//! the events about the outcome.

use std::{
    fmt::Write,
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{
    Clock, Failure, IdMaker, NextStep, RetryPlan, TenantScope, Time, Verdict, mask,
};
use gancho_engine::{AttemptResult, Carrier, Preemption, Terms, retry_read};
use gancho_outbound::Registry;
use gancho_store::{Job, NewParcel, Result};

use crate::{
    Acceptance, Email, FailureCode, OutgoingMessage, Suppressions, TenantLimits, Transport,
    TransportError,
    classify::{Classification, classify},
    email::outbox_id,
    events::{self, EmailEvent, EventContext},
    message::{self, MessageMetadata},
    outbox::read,
};

pub struct MailCarrier {
    pub transport: Arc<dyn Transport>,
    pub registry: Arc<Registry>,
    pub suppressions: Arc<Suppressions>,
    pub ids: Arc<IdMaker>,
    pub clock: Arc<dyn Clock>,
    pub plan: Arc<RetryPlan>,
    pub limits: Arc<TenantLimits>,
    /// The domain of Message-IDs; the sender's domain if it is not set.
    pub message_id_domain: Option<String>,
}

#[async_trait]
impl Carrier for MailCarrier {
    /// Returns the tenant's limits, because a target of this lane represents the tenant.
    fn terms(&self, job: &Job) -> Terms {
        let limit = self.limits.of(job.tenant);
        let max_in_flight = Some(limit.in_flight.max(1));
        Terms { plan: self.plan.clone(), max_in_flight, rate: limit.rate }
    }

    async fn carry(&self, job: &Job, _attempt: u32, preemption: &Preemption) -> AttemptResult {
        let email = match Email::read(&job.parcel.body) {
            Ok(email) => email,
            Err(error) => {
                let why = format!("the stored e-mail is unreadable: {error}");
                return AttemptResult::never(FailureCode::InternalError.failure(why));
            }
        };
        let scope = TenantScope::internal(job.tenant);
        match retry_read(|| self.suppressions.get(scope, &email.to)).await {
            Err(error) => {
                return internal_failure(format!("could not read the suppression list: {error}"));
            }
            Ok(Some(found)) => {
                let why = format!(
                    "the address has been on the suppression list since {} ({}); nothing was sent",
                    found.since,
                    found.reason.name()
                );
                return AttemptResult::never(found.reason.code().failure(why));
            }
            Ok(None) => {}
        }
        match self.letter(job, email) {
            Ok(letter) => self.hand_over(&letter, preemption).await,
            Err(why) => {
                let why = format!("could not build the e-mail: {why}");
                AttemptResult::never(FailureCode::InvalidContent.failure(why))
            }
        }
    }

    async fn follow(
        &self,
        job: &Job,
        carried: &AttemptResult,
        next: &NextStep,
        at: Time,
    ) -> Result<Vec<NewParcel>> {
        self.notice(job, carried, next, at).await.map(|parcel| vec![parcel])
    }
}

/// The message as shown in the attempt log.
pub(crate) const MESSAGE_ID: &str = "message-id";
pub(crate) const ERROR: &str = "error";

impl MailCarrier {
    fn letter(&self, job: &Job, email: Email) -> Result<OutgoingMessage, String> {
        let id = outbox_id(&job.parcel);
        let domain = self.message_id_domain.as_deref().unwrap_or_else(|| email.from.domain());
        let stamp = MessageMetadata { id, tenant: job.tenant, accepted_at: job.parcel.created_at };
        Ok(OutgoingMessage {
            id,
            tenant: job.tenant,
            raw: message::write(&email, stamp, domain)?,
            message_id: message::message_id(id, domain),
            from: email.from,
            to: email.to,
            subject: email.subject,
        })
    }

    async fn hand_over(&self, letter: &OutgoingMessage, preemption: &Preemption) -> AttemptResult {
        if preemption.is_requested() {
            // The store was slow; the mail server was not asked.
            let why = "the e-mail waited for the store, and others waited for its slot";
            return AttemptResult::deferred(FailureCode::InternalError.failure(why));
        }
        let started = Instant::now();
        let sent = tokio::select! {
            biased;
            sent = self.transport.send(letter, preemption) => sent,
            () = preemption.requested() => Err(TransportError::CutShort),
        };
        let latency = started.elapsed();
        let mut carried = match sent {
            Ok(receipt) => taken(&receipt, latency),
            Err(cause @ TransportError::Local { .. }) => {
                let ruling = classify(&cause);
                AttemptResult::deferred(ruling.code.failure(&ruling.reason))
            }
            Err(cause) => refused(&classify(&cause), latency),
        };
        carried.request_headers = format!(
            "post: {}\nfrom: {}\nto: {}\nmessage-id: {}\n",
            self.transport.name(),
            letter.from.masked(),
            letter.to.masked(),
            letter.message_id
        )
        .into();
        carried
    }

    async fn notice(
        &self,
        job: &Job,
        carried: &AttemptResult,
        next: &NextStep,
        at: Time,
    ) -> Result<NewParcel> {
        let summary = read(&job.parcel)?;
        let about = EventContext {
            id: outbox_id(&job.parcel),
            tenant: job.tenant,
            external_id: job.parcel.external_id.as_deref(),
            company: &summary.company_id,
            recipient: &summary.to,
            attempts: job.attempts + u32::from(carried.is_attempt),
        };
        let (message_id, error) =
            (noted(&carried.response_headers, MESSAGE_ID), noted(&carried.response_headers, ERROR));
        let news = match next {
            NextStep::Delivered => EmailEvent::Sent {
                message_id: message_id.unwrap_or_default(),
                at,
                since_accepted: at.since(job.created_at),
            },
            NextStep::Retry { planned_at, .. } => EmailEvent::RetryScheduled {
                next_at: *planned_at,
                last_error: carried.verdict.failure().map_or("", Failure::reason),
            },
            NextStep::Dead(failure) => EmailEvent::Failed {
                reason: failure.reason(),
                code: FailureCode::of(failure.code()),
                error,
                at,
            },
        };
        events::parcel(&self.registry, &self.ids, &about, &news, self.clock.now()).await
    }
}

fn taken(receipt: &Acceptance, latency: Duration) -> AttemptResult {
    AttemptResult {
        response_status: Some(receipt.status),
        response_headers: format!("{MESSAGE_ID}: {}\n", receipt.message_id).into(),
        response_body: mask::text(&receipt.text).into(),
        ..AttemptResult::new(Verdict::Delivered, latency)
    }
}

fn refused(ruling: &Classification, latency: Duration) -> AttemptResult {
    let mut notes = String::new();
    if let Some(error) = &ruling.error {
        let _ = writeln!(notes, "{ERROR}: {error}");
    }
    AttemptResult {
        load: ruling.load(),
        at_fault: ruling.at_fault,
        response_status: ruling.status,
        response_headers: notes.into(),
        response_body: Bytes::from(ruling.reason.clone()),
        ..AttemptResult::new(ruling.verdict(), latency)
    }
}

/// Returns a value of the `name: value` lines of an attempt.
pub(crate) fn noted<'a>(lines: &'a [u8], name: &str) -> Option<&'a str> {
    let lines = std::str::from_utf8(lines).ok()?.lines();
    lines.filter_map(|line| line.split_once(": ")).find(|(known, _)| *known == name).map(|it| it.1)
}

/// The result of an internal error: nothing was sent.
fn internal_failure(reason: String) -> AttemptResult {
    AttemptResult::internal_error(FailureCode::InternalError.failure(reason))
}
