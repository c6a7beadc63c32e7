//! The body of an event.

use std::{borrow::Cow, time::Duration};

use bytes::Bytes;
use gancho_domain::{EventType, Time, TraceContext};
use gancho_outbound::NewEvent;
use http::{HeaderMap, HeaderName};

use crate::{
    input::{FieldErrors, field::MAX_IDEMPOTENCY_KEY, request},
    operations::idempotency_key::of_body,
    problem::Problem,
};

request! {
    /// An event to publish.
    pub struct EventBody<'a> {
        /// Event type, e.g. `invoice.paid`.
        required event_type = "type": Cow<'a, str> as text(1, 128),
        /// Payload of the event: any JSON value. Delivered byte for byte.
        required data: &'a str as json(),
        /// Your own id for the event. Events and deliveries can be searched by it.
        nullable external_id: Cow<'a, str> as text(1, 256),
        /// Idempotency key: the same key within 24 hours publishes one event. Can also be sent as the
        /// `Idempotency-Key` header.
        nullable idempotency_key: Cow<'a, str> as text(1, MAX_IDEMPOTENCY_KEY),
        /// What the event is about, e.g. an order id. Events of a subject are numbered, and delivered in order to
        /// webhooks with `ordering: per_subject`.
        nullable subject: Cow<'a, str> as text(1, 256),
        /// Earliest time of delivery, at most one year ahead.
        nullable deliver_at: Time as time(),
    }
}

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const MAX_DELAY: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// The `traceparent` header (W3C Trace Context), if there is a valid one.
pub fn header_trace(headers: &HeaderMap) -> Option<TraceContext> {
    let mut values = headers.get_all(&TRACEPARENT).iter();
    let only = values.next().filter(|_| values.next().is_none())?;
    TraceContext::parse(only.to_str().ok()?)
}

/// Turns the body into an event. `bytes` is what the body was parsed from, and `pointer` where it is in the request.
pub fn new_event(
    body: &EventBody<'_>,
    bytes: &Bytes,
    header_key: Option<&str>,
    pointer: &str,
    now: Time,
) -> Result<NewEvent, Problem> {
    let mut errors = FieldErrors::default();
    let event_type = body.event_type.parse::<EventType>();
    if let Err(error) = &event_type {
        errors.invalid(format!("{pointer}/type"), error.to_string());
    }
    if body.deliver_at.is_some_and(|at| at > now + MAX_DELAY) {
        errors.invalid(format!("{pointer}/deliver_at"), "`deliver_at` is more than a year ahead");
    }
    let field = body.idempotency_key.as_deref();
    let key = of_body(header_key, field, (pointer, "idempotency_key"), &mut errors);
    let Ok(event_type) = event_type else { return Err(errors.into()) };
    if !errors.0.is_empty() {
        return Err(errors.into());
    }
    Ok(NewEvent {
        event_type,
        data: part_of(bytes, body.data.as_bytes()),
        subject: body.subject.as_deref().map(Into::into),
        external_id: body.external_id.as_deref().map(Into::into),
        idempotency_key: key.map(Into::into),
        deliver_at: body.deliver_at,
        is_test: false,
        trace: None,
        intake_id: None,
    })
}

/// Data that makes up most of a large body shares its memory. Other data is copied: it may wait in memory for
/// hours, and would keep the whole batch alive, or the buffer of the connection, which no limit counts.
fn part_of(body: &Bytes, part: &[u8]) -> Bytes {
    if part.len() >= LARGE && part.len() >= body.len() / 2 {
        body.slice_ref(part)
    } else {
        Bytes::copy_from_slice(part)
    }
}

/// Larger than the buffer that a connection starts with.
const LARGE: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_part_does_not_keep_the_whole_body_in_memory() {
        let body = Bytes::from(vec![b'1'; 100_000]);
        let shares = |part: &[u8]| {
            let copy = part_of(&body, part);
            assert_eq!(copy, part);
            body.as_ptr_range().contains(&copy.as_ptr())
        };
        assert!(shares(&body[10..99_000]));
        assert!(!shares(&body[10..40_000]), "less than half of it");
        let body = body.slice(..LARGE);
        assert!(!shares(&body[10..]), "part of the buffer of a connection");
    }
}
