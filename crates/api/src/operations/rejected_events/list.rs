//! `GET /v1/rejected-events`: newest first.

use gancho_access::Right;
use gancho_store::RejectedEvent as Row;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::TAG;
use crate::{
    answer::Answer,
    input::{Request, query::Paging},
    page::Page,
    problem::Problem,
    render::{List, Timestamp},
    route::{Call, Gives, Needs, Route},
};

/// An event that was published from SQL and rejected.
#[derive(Debug, Serialize, ToSchema)]
pub struct RejectedEvent {
    /// Id of the event (`evt_…`), which `gancho.publish` returned.
    pub id: String,
    /// Id of the tenant that the event was published for.
    pub tenant_id: String,
    /// Type of the event.
    pub r#type: String,
    /// What the event is about, as the publisher gave it; null if nothing was given.
    pub subject: Option<String>,
    /// Your own id for the event; null if none was given.
    pub external_id: Option<String>,
    /// Idempotency key of the event; null if none was given.
    pub idempotency_key: Option<String>,
    /// Payload of the event; null if it is not valid JSON.
    #[schema(value_type = serde_json::Value)]
    pub data: Option<Box<RawValue>>,
    /// Error code, as `POST /v1/events` would have answered.
    pub code: String,
    /// Why the event was rejected, and how to fix it.
    pub detail: String,
    /// When `gancho.publish` was called.
    pub published_at: Timestamp,
    /// When the event was rejected.
    pub rejected_at: Timestamp,
}

impl From<Row> for RejectedEvent {
    fn from(row: Row) -> Self {
        let event = row.event;
        Self {
            id: event.id.to_string(),
            tenant_id: event.tenant.to_string(),
            r#type: event.event_type,
            subject: event.subject.map(Into::into),
            external_id: event.external_id.map(Into::into),
            idempotency_key: event.idempotency_key.map(Into::into),
            data: serde_json::from_slice(&event.data).ok(),
            code: row.code,
            detail: row.reason,
            published_at: Timestamp(row.published_at),
            rejected_at: Timestamp(row.rejected_at),
        }
    }
}

pub const ROUTE: Route = Route {
    path: "/rejected-events",
    operation_id: "listRejectedEvents",
    needs: Needs::Anyone(Right::Read),
    query: Paging::FIELDS,
    gives: Gives::ok::<List<RejectedEvent>>("A page of rejected events, newest first."),
    tag: TAG,
    summary: "List rejected events",
    about: "Lists events that an application has published from SQL (`gancho.publish`) and that were rejected after its transaction was committed, e.g. because they do not match the schema of their type. They are stored until they are retried or deleted. Events that are published with the API are rejected in its response and are not listed.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let tenant = call.owner().tenant();
    let page = Page::of(&call, tenant, &call.parse_query()?)?;
    let rows = call.api.store.rejected_events(tenant, page.after_id(), page.max_read()).await?;
    let (rows, next_cursor) = page.cut(rows, |last| last.event.id.bytes().to_vec());
    Answer::ok(&List { data: rows.into_iter().map(RejectedEvent::from).collect(), next_cursor })
}
