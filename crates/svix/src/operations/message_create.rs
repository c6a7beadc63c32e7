//! Publishes a message.

use http::{HeaderValue, Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    applications::{self, ApplicationIn},
    message_view::{EventRow, MessageOut, by_event_id, event, no_content},
};
use crate::{
    svix_error::{Names, SvixError},
    uid::is_uid,
    visit::{AppContext, IDEMPOTENCY_KEY, Reply, Visit},
};

const NAMES: Names = &[
    ("type", "eventType"),
    ("data", "payload"),
    ("external_id", "eventId"),
    ("deliver_at", "deliverAt"),
];
/// The prefix of keys that Svix clients generate for each call. Only a retry of the same call repeats one.
const AUTOMATIC: &[u8] = b"auto_";

struct MessageIn {
    event_type: String,
    payload: Box<RawValue>,
    event_id: Option<String>,
    deliver_at: Option<String>,
    application: Option<ApplicationIn>,
}

/// The body for the API.
#[derive(Serialize)]
struct NewEvent<'a> {
    r#type: &'a str,
    data: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    external_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deliver_at: Option<&'a str>,
}

#[derive(Deserialize)]
struct CreatedEvent {
    id: String,
    r#type: String,
    created_at: String,
}

impl MessageIn {
    fn read(visit: &Visit) -> Result<Self, SvixError> {
        let mut fields = visit.fields()?;
        let event_type: Option<String> = fields.require("eventType");
        let payload: Option<Box<RawValue>> = fields.require("payload");
        if payload.as_ref().is_some_and(|payload| !payload.get().starts_with('{')) {
            fields.invalid("payload", "must be a JSON object");
        }
        let event_id: Option<String> = fields.take("eventId");
        if event_id.as_ref().is_some_and(|id| !is_uid(id)) {
            fields.invalid("eventId", "an id has letters, digits, `-`, `_` and `.`, at most 256");
        }
        let deliver_at = fields.take("deliverAt");
        let application = fields.below("application").map(|mut inner| {
            let wanted = ApplicationIn::read(&mut inner, true);
            fields.finish_inner(inner);
            wanted
        });
        fields.refuse(
            "channels",
            "channels are not supported: use event types, or an application for each channel",
        );
        fields.refuse("tags", "tags are not supported: put them into the payload or the event id");
        fields.refuse(
            "transformationsParams",
            "transformations are not supported: send the payload as endpoints should get it",
        );
        let why = "messages are kept as long as the operator has configured for all of them";
        fields.refuse("payloadRetentionPeriod", why);
        fields.refuse("payloadRetentionHours", why);
        fields.finish()?;
        // Required fields are present if there was no error.
        let (Some(event_type), Some(payload)) = (event_type, payload) else {
            return Err(SvixError::internal());
        };
        Ok(Self { event_type, payload, event_id, deliver_at, application })
    }
}

pub async fn create(visit: Visit) -> Result<Reply, SvixError> {
    let mut query = visit.query();
    let with_content = query.flag("with_content").unwrap_or(true);
    query.finish()?;
    let mut message = MessageIn::read(&visit)?;
    let app = applications::find_or_create(&visit, message.application.take()).await?;
    let row = if let Some(event_id) = message.event_id.clone() {
        publish_once(&visit, &app, &message, &event_id).await?
    } else {
        let key = visit.headers.get(&IDEMPOTENCY_KEY).cloned();
        publish(&visit, &app, &message, key).await?.1
    };
    let payload = if with_content { message.payload } else { no_content() };
    let mut shown = MessageOut::new(row, payload);
    shown.deliver_at = message.deliver_at;
    Reply::of(StatusCode::ACCEPTED, &shown)
}

/// Publishes the message, and returns whether it had been published before with the same key.
async fn publish(
    visit: &Visit,
    app: &AppContext,
    message: &MessageIn,
    key: Option<HeaderValue>,
) -> Result<(bool, EventRow), SvixError> {
    let body = NewEvent {
        r#type: &message.event_type,
        data: &message.payload,
        external_id: message.event_id.as_deref(),
        deliver_at: message.deliver_at.as_deref(),
    };
    let call = visit.call(app, Method::POST, "/v1/events").names(NAMES).key(key).json(&body)?;
    let (headers, published): (_, CreatedEvent) = call.run_with_headers().await?;
    let CreatedEvent { id, r#type, created_at } = published;
    let row = EventRow { id, r#type, external_id: message.event_id.clone(), created_at };
    Ok((headers.contains_key("idempotent-replayed"), row))
}

/// Publishes a message with an `eventId` once: a second message is a conflict, and a retry of the first
/// returns its message. If the caller has chosen no idempotency key, the id is the key, so that two
/// concurrent calls are one.
async fn publish_once(
    visit: &Visit,
    app: &AppContext,
    message: &MessageIn,
    event_id: &str,
) -> Result<EventRow, SvixError> {
    let conflict = || SvixError::conflict("a message with this `eventId` exists");
    if let Some(before) = by_event_id(visit, app, event_id).await? {
        let before = event(visit, app, &before.id).await?;
        let is_same =
            before.row.r#type == message.event_type && before.data.get() == message.payload.get();
        return if is_same && is_retry(visit) { Ok(before.row) } else { Err(conflict()) };
    }
    let key = match chosen_key(visit) {
        Some(key) => key.clone(),
        None => HeaderValue::from_str(&key_of(event_id)).map_err(|_| SvixError::internal())?,
    };
    match publish(visit, app, message, Some(key)).await {
        Ok((true, _)) if !is_retry(visit) => Err(conflict()),
        Ok((_, row)) => Ok(row),
        Err(error) => Err(error),
    }
}

/// Returns the idempotency key. It may have at most 256 characters, and so may an id.
fn key_of(event_id: &str) -> String {
    let key = format!("svix:{event_id}");
    if key.len() <= 256 { key } else { event_id.to_owned() }
}

/// Whether the client repeats a call, as opposed to another call with the same id.
fn is_retry(visit: &Visit) -> bool {
    visit.headers.contains_key("svix-retry-count") || chosen_key(visit).is_some()
}

/// Returns the idempotency key, unless the client has generated it for this call.
fn chosen_key(visit: &Visit) -> Option<&HeaderValue> {
    let key = visit.headers.get(&IDEMPOTENCY_KEY)?;
    (!key.as_bytes().starts_with(AUTOMATIC)).then_some(key)
}
