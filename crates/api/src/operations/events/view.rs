//! Renders an event.

use gancho_store::{EventRow, EventView};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    operations::deliveries::view::Delivery,
    render::{Json, Timestamp},
};

/// An event without its data.
#[derive(Debug, Serialize, ToSchema)]
pub struct EventSummary {
    /// Id of the event (`evt_…`).
    pub id: String,
    /// Slug of the tenant. Present only if the operator lists the events of all tenants.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub tenant: Option<String>,
    /// Type of the event, e.g. `invoice.paid`.
    pub r#type: String,
    /// What the event is about, as the publisher gave it; null if nothing was given.
    pub subject: Option<String>,
    /// Your own id for the event; null if none was given.
    pub external_id: Option<String>,
    /// Number of the event within its subject, from 1; null if it has no subject.
    pub sequence_number: Option<u64>,
    /// Whether it was created by a test call.
    pub is_test: bool,
    /// Number of webhooks that the event is delivered to.
    pub deliveries: u64,
    /// When the event was accepted.
    pub created_at: Timestamp,
}

/// An event with its data and its deliveries.
#[derive(Debug, Serialize, ToSchema)]
pub struct Event {
    /// Id of the event (`evt_…`).
    pub id: String,
    /// Type of the event, e.g. `invoice.paid`.
    pub r#type: String,
    /// Payload of the event, as it was published; null if the content was erased.
    pub data: Json,
    /// What the event is about, as the publisher gave it; null if nothing was given.
    pub subject: Option<String>,
    /// Your own id for the event; null if none was given.
    pub external_id: Option<String>,
    /// Number of the event within its subject, from 1; null if it has no subject.
    pub sequence_number: Option<u64>,
    /// Whether it was created by a test call.
    pub is_test: bool,
    /// When the event was accepted.
    pub created_at: Timestamp,
    /// When the content of the event was erased; null if it was not.
    pub erased_at: Option<Timestamp>,
    /// The deliveries of the event: one for each webhook, and further ones if it was replayed to other webhooks.
    pub deliveries: Vec<Delivery>,
}

impl From<EventRow> for EventSummary {
    fn from(row: EventRow) -> Self {
        Self {
            id: row.id.to_string(),
            tenant: None,
            r#type: row.event_type.into(),
            subject: row.subject.map(Into::into),
            external_id: row.external_id.map(Into::into),
            sequence_number: row.number,
            is_test: row.is_test,
            deliveries: row.deliveries,
            created_at: Timestamp(row.created_at),
        }
    }
}

impl From<EventView> for Event {
    fn from(view: EventView) -> Self {
        let EventView { parcel, number, deliveries, .. } = view;
        Self {
            id: parcel.id.to_string(),
            r#type: parcel.event_type.to_string(),
            data: Json::of(&parcel.body),
            subject: parcel.subject.as_deref().map(Into::into),
            external_id: parcel.external_id.as_deref().map(Into::into),
            sequence_number: number,
            is_test: parcel.is_test,
            created_at: Timestamp(parcel.created_at),
            erased_at: parcel.erased_at.map(Timestamp),
            deliveries: deliveries.into_iter().map(Into::into).collect(),
        }
    }
}
