//! Event types: the operator's, which all applications share. A tenant's key reads them.

use gancho_access::Principal;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::event_type_view::{EventTypeIn, EventTypeOut, EventTypeRow};
use crate::{
    page::{List, ListOut, Paging},
    svix_error::{Names, SvixError},
    visit::{Reply, Visit, segment},
};

const NAMES: Names = &[("is_archived", "archived"), ("schema", "schemas"), ("metadata", "schemas")];

pub async fn list(visit: Visit) -> Result<Reply, SvixError> {
    let mut query = visit.query();
    let paging = Paging::read(&mut query);
    query.only_order("ascending");
    let include_archived = query.flag("include_archived").unwrap_or(false);
    let with_content = query.flag("with_content").unwrap_or(false);
    query.finish()?;
    let mut parameters = paging.parameters();
    if matches!(visit.caller, Principal::Operator(_)) {
        parameters.push(("catalog", "operator".to_owned()));
    }
    let call = visit.call_as(visit.caller.clone(), Method::GET, "/v1/webhooks/events");
    let found: List<EventTypeRow> = call.query(&parameters).run().await?;
    let wanted = found.data.into_iter();
    let wanted = wanted.filter(|row| row.is_own() && (include_archived || !row.is_archived));
    let data: Vec<EventTypeOut> = wanted.map(|row| row.into_out(with_content)).collect();
    Reply::ok(&ListOut::new(data, found.next_cursor))
}

pub async fn create(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    let mut fields = visit.fields()?;
    let name: Option<String> = fields.require("name");
    let wanted = EventTypeIn::read(&mut fields, true);
    fields.finish()?;
    let mut body = wanted.body(None, visit.svix.clock.now().to_string());
    body["name"] = json!(name);
    Reply::of(StatusCode::CREATED, &post(&visit, &body).await?.into_out(true))
}

/// Returns the type with the name in the path.
async fn find(visit: &Visit) -> Result<Option<EventTypeRow>, SvixError> {
    let path = format!("/v1/webhooks/events/{}", segment(visit.param("event_type_name")));
    let found: Result<EventTypeRow, _> =
        visit.call_as(visit.caller.clone(), Method::GET, path).run().await;
    match found {
        Ok(row) => Ok(Some(row).filter(EventTypeRow::is_own)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

fn not_found() -> SvixError {
    SvixError::not_found("event type")
}

async fn post(visit: &Visit, body: &Value) -> Result<EventTypeRow, SvixError> {
    let call = visit.call_as(visit.caller.clone(), Method::POST, "/v1/webhooks/events");
    call.names(NAMES).json(body)?.run().await
}

async fn put(visit: &Visit, body: &Value) -> Result<EventTypeRow, SvixError> {
    let path = format!("/v1/webhooks/events/{}", segment(visit.param("event_type_name")));
    let call = visit.call_as(visit.caller.clone(), Method::PUT, path);
    call.names(NAMES).json(body)?.run().await
}

pub async fn get(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    Reply::ok(&find(&visit).await?.ok_or_else(not_found)?.into_out(true))
}

pub async fn upsert(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    let mut fields = visit.fields()?;
    let wanted = EventTypeIn::read(&mut fields, true);
    fields.finish()?;
    let now = visit.svix.clock.now().to_string();
    let mut before = find(&visit).await?;
    if before.is_none() {
        let mut body = wanted.clone().body(None, now.clone());
        body["name"] = json!(visit.param("event_type_name"));
        match post(&visit, &body).await {
            Ok(created) => return Reply::of(StatusCode::CREATED, &created.into_out(true)),
            // Another request has just created it.
            Err(error) if error.status() == StatusCode::CONFLICT => before = find(&visit).await?,
            Err(error) => return Err(error),
        }
    }
    Reply::ok(&put(&visit, &wanted.body(before.as_ref(), now)).await?.into_out(true))
}

pub async fn patch(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    let mut fields = visit.fields()?;
    let wanted = EventTypeIn::read(&mut fields, false);
    fields.finish()?;
    let before = find(&visit).await?.ok_or_else(not_found)?;
    let body = wanted.body(Some(&before), visit.svix.clock.now().to_string());
    Reply::ok(&put(&visit, &body).await?.into_out(true))
}

/// Archives the type, or with `expunge` deletes it.
pub async fn delete(visit: Visit) -> Result<Reply, SvixError> {
    let mut query = visit.query();
    let expunge = query.flag("expunge").unwrap_or(false);
    query.finish()?;
    let before = find(&visit).await?.ok_or_else(not_found)?;
    if expunge {
        let path = format!("/v1/webhooks/events/{}", segment(&before.name));
        visit.call_as(visit.caller.clone(), Method::DELETE, path).done().await?;
        return Ok(Reply::no_content());
    }
    let wanted = EventTypeIn { archived: Some(true), ..EventTypeIn::default() };
    put(&visit, &wanted.body(Some(&before), visit.svix.clock.now().to_string())).await?;
    Ok(Reply::no_content())
}
