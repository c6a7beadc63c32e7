//! A dead letter in a request: what an export writes, and what the archive has in addition.

use std::{borrow::Cow, str::FromStr, time::Duration};

use bytes::Bytes;
use data_encoding::BASE64;
use gancho_domain::{Attempt, Code, EmailId, EventId, Failure, Lane, ParcelId, ReceiptId, Time};
use gancho_store::{DeadLetter, FullDeadLetter};
use serde::de::DeserializeOwned;

use crate::{
    input::{FieldErrors, body, field::ResourceKind, request},
    problem::Problem,
};

/// How far ahead of this node's clock a time may be.
const SKEW: Duration = Duration::from_mins(5);
const MAX_ATTEMPTS: usize = 1_000;

request! {
    /// A dead letter to import, as an export or the archive has it.
    #[allow(dead_code, reason = "an export has fields that an import does not need")]
    pub struct DeadLetterBody<'a> {
        /// Id of the dead letter: that of its delivery (`dlv_…`).
        required id: Cow<'a, str> as id(ResourceKind::Delivery),
        /// Lane of the delivery: `webhook`, `dispatch` or `email`.
        required lane: Lane as lane(),
        /// Id of the tenant, or of the source in the lane `dispatch`. Exported receipts have none.
        nullable tenant_id: Cow<'a, str> as id(ResourceKind::Tenant),
        /// Name of the partner. Ignored; exports have this field.
        nullable partner: Cow<'a, str> as text(0, 256),
        /// Id of the event, receipt or e-mail.
        required subject_id: Cow<'a, str> as text(1, 64),
        /// The `subject` that the publisher gave.
        nullable subject: Cow<'a, str> as text(1, 256),
        /// Id of the webhook, or of the target of the source. Exported e-mails have none.
        nullable target_id: Cow<'a, str> as id(ResourceKind::Webhook),
        /// URL of the target. Ignored; exports have this field.
        nullable target_url: Cow<'a, str> as text(0, 4_096),
        /// Type of the event; of a receipt `PARTNER/KEY/TOPIC`.
        required event_type: Cow<'a, str> as text(1, 512),
        /// The publisher's or partner's own id.
        nullable external_id: Cow<'a, str> as text(1, 256),
        /// Whether it is a test event. Default: false.
        optional is_test: bool as flag(),
        /// The data as it was accepted.
        optional original_data: &'a str as json(),
        /// The data in base64, instead of `original_data`, if it is not JSON or has white space around it.
        optional original_data_base64: &'a str as json(),
        /// Number of failed attempts.
        required failed_attempts: u32 as count(0, 1_000_000),
        /// Why the last attempt failed.
        required last_failure_reason: &'a str as json(),
        /// Failure code, e.g. `HTTP_503`.
        required last_failure_code: Cow<'a, str> as text(1, 64),
        /// The receiver's own status or error code, e.g. `503`.
        nullable last_provider_code: Cow<'a, str> as text(1, 128),
        /// When the last attempt failed.
        required last_failure_timestamp: Time as time(),
        /// When the delivery was accepted.
        required enqueued_at: Time as time(),
        /// When the delivery became a dead letter.
        required moved_to_dlq_at: Time as time(),
        /// Ignored: the dead letter expires `dead_letter_ttl` after the import. Exports have this field.
        optional expires_at: Time as time(),
        /// The attempts, oldest first. Without them, a dead letter of the lanes `dispatch` and `email` is skipped:
        /// exports of these lanes do not have all of the data, archived dead letters do.
        optional attempts: Vec<&'a str> as objects::<AttemptBody>(0, MAX_ATTEMPTS),
    }
}

request! {
    /// An attempt of a dead letter to import.
    pub struct AttemptBody<'a> {
        /// Number of the attempt, from 1.
        required attempt: u32 as count(1, 1_000_000),
        /// When the attempt began.
        required started_at: Time as time(),
        /// Duration of the attempt in milliseconds.
        optional latency_ms: &'a str as json(),
        /// Headers of the request: an array of `name: value` lines.
        optional request_headers: &'a str as json(),
        /// HTTP status of the response; null if there was none.
        nullable response_status: u32 as count(0, 999),
        /// Headers of the response: an array of `name: value` lines.
        optional response_headers: &'a str as json(),
        /// The beginning of the response body.
        optional response_body: &'a str as json(),
        /// The beginning of the response body in base64, instead of `response_body`, if it is not text.
        optional response_body_base64: &'a str as json(),
        /// Why the attempt failed; null if it succeeded.
        nullable failure_reason: &'a str as json(),
        /// Failure code, e.g. `HTTP_503`; null if the attempt succeeded.
        nullable failure_code: Cow<'a, str> as text(1, 64),
    }
}

/// What a request has of a dead letter.
pub enum InputLetter {
    Whole(Box<FullDeadLetter>),
    /// Exported from the lane `dispatch` or `email`: its data is masked or left out. Holds its id.
    Masked(String),
}

pub fn read(item: &str, pointer: &str, now: Time) -> Result<InputLetter, Problem> {
    if !item.starts_with('{') {
        return Err(Problem::field(pointer, "a dead letter must be an object"));
    }
    let input: DeadLetterBody<'_> = body::parse_item(item, pointer)?;
    if input.lane != Lane::Webhook && input.attempts.is_none() {
        return Ok(InputLetter::Masked(input.id.into_owned()));
    }
    let mut reader = Reader { pointer, now, errors: FieldErrors::default() };
    let letter = reader.letter(&input)?;
    if !reader.errors.0.is_empty() {
        return Err(reader.errors.into());
    }
    let letter = letter.ok_or_else(|| Problem::field(pointer, "not a dead letter"))?;
    Ok(InputLetter::Whole(Box::new(letter)))
}

/// Collects the errors of one letter.
struct Reader<'a> {
    pointer: &'a str,
    now: Time,
    errors: FieldErrors,
}

impl Reader<'_> {
    fn refuse(&mut self, field: &str, message: impl Into<String>) {
        self.errors.invalid(format!("{}/{field}", self.pointer), message.into());
    }

    fn letter(&mut self, input: &DeadLetterBody<'_>) -> Result<Option<FullDeadLetter>, Problem> {
        for (field, time) in [
            ("last_failure_timestamp", input.last_failure_timestamp),
            ("enqueued_at", input.enqueued_at),
            ("moved_to_dlq_at", input.moved_to_dlq_at),
        ] {
            if time > self.now + SKEW {
                self.refuse(field, format!("`{field}` is in the future"));
            }
        }
        let attempts = self.attempts(input)?;
        let delivery = self.id("id", &input.id);
        let tenant = if let Some(tenant) = &input.tenant_id {
            self.id("tenant_id", tenant)
        } else {
            self.refuse("tenant_id", "`tenant_id` is required: the id of a tenant or source");
            None
        };
        let target = if let Some(target) = &input.target_id {
            self.id("target_id", target)
        } else {
            self.refuse("target_id", "`target_id` is required");
            None
        };
        let parcel = self.parcel(input.lane, &input.subject_id);
        // The embedded store appends rows by their ids.
        let is_late = |time: Option<Time>| time.is_some_and(|time| time > self.now + SKEW);
        if is_late(delivery.map(|id: gancho_domain::DeliveryId| id.time()))
            || is_late(parcel.map(gancho_domain::Id::time))
        {
            self.refuse("id", "the id is of the future");
        }
        let original = self.original(input);
        let reason: Option<String> = self.json("last_failure_reason", input.last_failure_reason);
        let failure =
            reason.map(|reason| Failure::new(Code::from_text(&input.last_failure_code), reason));
        let provider_code = input.last_provider_code.as_deref();
        let failure = failure.map(|failure| failure.with_provider_code(provider_code));
        let (Some(delivery), Some(tenant), Some(target), Some(parcel), Some(original)) =
            (delivery, tenant, target, parcel, original)
        else {
            return Ok(None);
        };
        let Some(failure) = failure else { return Ok(None) };
        let text = |text: &Option<Cow<'_, str>>| text.as_deref().map(Into::into);
        let letter = DeadLetter {
            delivery,
            lane: input.lane,
            tenant,
            target,
            parcel,
            subject: text(&input.subject),
            event_type: (*input.event_type).into(),
            external_id: text(&input.external_id),
            is_test: input.is_test.unwrap_or(false),
            original,
            failed_attempts: input.failed_attempts,
            failure,
            failed_at: input.last_failure_timestamp,
            enqueued_at: input.enqueued_at,
            moved_at: input.moved_to_dlq_at,
            expires_at: self.now,
        };
        Ok(Some(FullDeadLetter { letter, attempts }))
    }

    fn id<T: FromStr<Err: std::fmt::Display>>(&mut self, field: &str, text: &str) -> Option<T> {
        let read = text.parse::<T>();
        read.map_err(|error| self.refuse(field, error.to_string())).ok()
    }

    /// Its prefix says what it is an id of.
    fn parcel(&mut self, lane: Lane, text: &str) -> Option<ParcelId> {
        match lane {
            Lane::Webhook => self.id::<EventId>("subject_id", text),
            Lane::Dispatch => self.id::<ReceiptId>("subject_id", text).map(gancho_domain::Id::cast),
            Lane::Email => self.id::<EmailId>("subject_id", text).map(gancho_domain::Id::cast),
        }
    }

    fn original(&mut self, input: &DeadLetterBody<'_>) -> Option<Bytes> {
        if let Some(text) = input.original_data_base64 {
            return self.base64("original_data_base64", text);
        }
        let Some(data) = input.original_data else {
            self.refuse("original_data", "`original_data` or `original_data_base64` is required");
            return None;
        };
        Some(Bytes::copy_from_slice(data.as_bytes()))
    }

    fn attempts(&mut self, input: &DeadLetterBody<'_>) -> Result<Vec<Attempt>, Problem> {
        let Some(items) = &input.attempts else { return Ok(Vec::new()) };
        let mut attempts = Vec::<Attempt>::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let field = format!("attempts/{index}");
            let pointer = format!("{}/{field}", self.pointer);
            if !item.starts_with('{') {
                return Err(Problem::field(&pointer, "an attempt must be an object"));
            }
            let attempt = self.attempt(&field, &body::parse_item(item, &pointer)?);
            if attempts.last().is_some_and(|last| last.number >= attempt.number) {
                self.refuse(&field, "attempts must be in order, each with its own number");
            }
            attempts.push(attempt);
        }
        Ok(attempts)
    }

    fn attempt(&mut self, at: &str, input: &AttemptBody<'_>) -> Attempt {
        let millis: f64 = self.part(at, "latency_ms", input.latency_ms);
        let body = if let Some(text) = input.response_body_base64 {
            self.base64(&format!("{at}/response_body_base64"), text)
        } else {
            let text: String = self.part(at, "response_body", input.response_body);
            Some(text.into())
        };
        let code = input.failure_code.as_deref().map(Code::from_text);
        let reason: String = self.part(at, "failure_reason", input.failure_reason);
        Attempt {
            number: input.attempt,
            started_at: input.started_at,
            latency: Duration::try_from_secs_f64(millis / 1_000.0).unwrap_or_default(),
            request_headers: self.lines(at, "request_headers", input.request_headers),
            response_status: input.response_status.and_then(|status| u16::try_from(status).ok()),
            response_headers: self.lines(at, "response_headers", input.response_headers),
            response_body: body.unwrap_or_default(),
            failure: code.map(|code| Failure::new(code, reason)),
            next_at: None,
        }
    }

    fn lines(&mut self, at: &str, name: &str, text: Option<&str>) -> Bytes {
        let lines: Vec<String> = self.part(at, name, text);
        lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect::<String>().into()
    }

    fn part<T: DeserializeOwned + Default>(
        &mut self,
        at: &str,
        name: &str,
        text: Option<&str>,
    ) -> T {
        let text = text.filter(|text| *text != "null");
        text.and_then(|text| self.json(&format!("{at}/{name}"), text)).unwrap_or_default()
    }

    fn json<T: DeserializeOwned>(&mut self, field: &str, text: &str) -> Option<T> {
        let read = serde_json::from_str(text);
        read.map_err(|error| self.refuse(field, format!("`{field}`: {error}"))).ok()
    }

    fn base64(&mut self, field: &str, text: &str) -> Option<Bytes> {
        let text: String = self.json(field, text)?;
        let bytes = BASE64.decode(text.as_bytes());
        bytes
            .map(Bytes::from)
            .map_err(|_| self.refuse(field, format!("`{field}` is not base64")))
            .ok()
    }
}
