//! Renders an event as a message, and finds it by its id or the publisher's own.

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    page::List,
    svix_error::SvixError,
    visit::{AppContext, Visit, segment},
};

/// An event without its data.
#[derive(Debug, Clone, Deserialize)]
pub struct EventRow {
    pub id: String,
    pub r#type: String,
    pub external_id: Option<String>,
    pub created_at: String,
}

/// An event with its data.
#[derive(Debug)]
pub struct Event {
    pub row: EventRow,
    pub data: Box<RawValue>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageOut {
    pub id: String,
    pub event_id: Option<String>,
    pub event_type: String,
    pub payload: Box<RawValue>,
    pub channels: Option<Vec<String>>,
    pub tags: Option<Vec<String>>,
    pub timestamp: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deliver_at: Option<String>,
}

impl MessageOut {
    pub fn new(row: EventRow, payload: Box<RawValue>) -> Self {
        Self {
            id: row.id,
            event_id: row.external_id,
            event_type: row.r#type,
            payload,
            channels: None,
            tags: None,
            timestamp: row.created_at,
            deliver_at: None,
        }
    }
}

/// Returns the payload of a message that is shown without its content.
pub fn no_content() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Returns the event with this id, with its data.
pub async fn event(visit: &Visit, app: &AppContext, id: &str) -> Result<Event, SvixError> {
    #[derive(Deserialize)]
    struct Whole {
        id: String,
        r#type: String,
        external_id: Option<String>,
        created_at: String,
        data: Box<RawValue>,
    }
    let call = visit.call(app, Method::GET, format!("/v1/events/{}", segment(id)));
    let Whole { id, r#type, external_id, created_at, data } = call.run().await?;
    Ok(Event { row: EventRow { id, r#type, external_id, created_at }, data })
}

/// Returns the newest event with this publisher's id.
pub async fn by_event_id(
    visit: &Visit,
    app: &AppContext,
    event_id: &str,
) -> Result<Option<EventRow>, SvixError> {
    let query = [("external_id", event_id), ("limit", "1")];
    let call = visit.call(app, Method::GET, "/v1/events").query(&query);
    let found: List<EventRow> = call.run().await?;
    Ok(found.data.into_iter().next())
}

impl Visit {
    /// Returns the id of the message in the path, which may be its id or the publisher's own.
    pub async fn message_id(&self, app: &AppContext) -> Result<String, SvixError> {
        let name = self.param("msg_id");
        if is_event_id(name) {
            return Ok(name.to_owned());
        }
        if !crate::uid::is_uid(name) {
            return Err(SvixError::not_found("message"));
        }
        let found = by_event_id(self, app, name).await?;
        found.map(|row| row.id).ok_or_else(|| SvixError::not_found("message"))
    }
}

fn is_event_id(text: &str) -> bool {
    text.parse::<gancho_domain::EventId>().is_ok()
}
