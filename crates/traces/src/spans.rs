//! Builds the spans of accepted parcels and of attempts.

use gancho_domain::{
    Attempt, Lane, NextStep, Parcel, ParcelKind, Time, TraceContext,
    id::{EmailIdKind, ReceiptIdKind},
    mask,
};
use gancho_store::Job;

use crate::otlp::{KeyValue, Span, SpanKind, Status, StatusCode};

/// The span of accepting the parcel, until it was on disk. Its parent is the publisher's span.
pub fn accepted(parcel: &Parcel, stored_at: Time) -> Span {
    let name = match parcel.kind {
        ParcelKind::Event => "publish event",
        ParcelKind::Receipt => "receive webhook",
        ParcelKind::Email => "accept e-mail",
    };
    Span {
        kind: SpanKind::Producer.into(),
        attributes: about(parcel),
        ..span(name, parcel.accept_span(), parcel.trace.map(|trace| trace.span_id))
            .between(nanos(parcel.created_at), nanos(stored_at))
    }
}

/// The span of one attempt, from the first byte to the response. Its parent is the span of accepting the
/// parcel.
pub fn attempted(job: &Job, attempt: &Attempt, next: &NextStep) -> Span {
    let parcel = &job.parcel;
    let name = match job.lane {
        Lane::Webhook => "deliver webhook",
        Lane::Dispatch => "dispatch webhook",
        Lane::Email => "send e-mail",
    };
    let mut attributes = about(parcel);
    attributes.push(KeyValue::text("gancho.delivery.id", job.delivery.to_string()));
    if job.lane == Lane::Webhook {
        attributes.push(KeyValue::text("gancho.endpoint.id", job.target.to_string()));
    }
    attributes.push(KeyValue::number("gancho.attempt", attempt.number.into()));
    let outcome = match next {
        NextStep::Delivered => "delivered",
        NextStep::Retry { .. } => "retry",
        NextStep::Dead(_) => "dead_letter",
    };
    attributes.push(KeyValue::text("gancho.outcome", outcome));
    if let Some(status) = attempt.response_status {
        attributes.push(KeyValue::number("http.response.status_code", status.into()));
    }
    if let Some(failure) = &attempt.failure {
        attributes.push(KeyValue::text("error.type", failure.code().as_str()));
    }
    // Texts from outside may contain addresses.
    let status = attempt.failure.as_ref().map(|failure| Status {
        message: mask::text(failure.reason()),
        code: StatusCode::Error.into(),
    });
    let start = nanos(attempt.started_at);
    let latency = u64::try_from(attempt.latency.as_nanos()).unwrap_or(u64::MAX);
    let context = parcel.attempt_span(job.delivery, attempt.number);
    Span {
        kind: SpanKind::Client.into(),
        attributes,
        status,
        ..span(name, context, Some(parcel.accept_span().span_id))
            .between(start, start.saturating_add(latency))
    }
}

fn about(parcel: &Parcel) -> Vec<KeyValue> {
    let id = match parcel.kind {
        ParcelKind::Event => parcel.id.to_string(),
        ParcelKind::Receipt => parcel.id.cast::<ReceiptIdKind>().to_string(),
        ParcelKind::Email => parcel.id.cast::<EmailIdKind>().to_string(),
    };
    let mut attributes = Vec::with_capacity(10);
    attributes.push(KeyValue::text("gancho.tenant.id", parcel.tenant.to_string()));
    attributes.push(KeyValue::text("gancho.event.id", id));
    attributes.push(KeyValue::text("gancho.event.type", &*parcel.event_type));
    attributes.push(KeyValue::text("gancho.lane", parcel.kind.lane().to_string()));
    attributes
}

fn span(name: &str, context: TraceContext, parent: Option<u64>) -> Span {
    Span {
        trace_id: context.trace_id.to_be_bytes().into(),
        span_id: context.span_id.to_be_bytes().into(),
        parent_span_id: parent.map(|id| id.to_be_bytes().into()).unwrap_or_default(),
        name: name.to_owned(),
        flags: context.flags.into(),
        ..Span::default()
    }
}

impl Span {
    fn between(self, start: u64, end: u64) -> Self {
        let end = end.max(start);
        Self { start_time_unix_nano: start, end_time_unix_nano: end, ..self }
    }
}

fn nanos(time: Time) -> u64 {
    u64::try_from(time.micros()).unwrap_or(0).saturating_mul(1_000)
}
