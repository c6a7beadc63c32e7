//! Sends past messages to an endpoint again: replays.

use http::{Method, StatusCode};
use serde_json::{Map, Value, json};

use super::{
    attempt_view::{FAIL, SUCCESS},
    background_tasks::{BULK_REPLAY, RECOVER, REPLAY, ReplayRow},
};
use crate::{
    fields::Fields,
    svix_error::{Names, SvixError},
    visit::{Reply, Visit},
};

const NAMES: Names = &[
    ("filter/since", "since"),
    ("filter/until", "until"),
    ("filter", "since"),
    ("to", "endpoint_id"),
];

/// Reads the time window.
fn read_window(fields: &mut Fields) -> Map<String, Value> {
    let mut filter = Map::new();
    let since: Option<String> = fields.require("since");
    let until: Option<String> = fields.take("until");
    filter.extend(since.map(|time| ("since".to_owned(), Value::from(time))));
    filter.extend(until.map(|time| ("until".to_owned(), Value::from(time))));
    filter
}

async fn start(
    visit: &Visit,
    task: &'static str,
    mut filter: Map<String, Value>,
) -> Result<Reply, SvixError> {
    let app = visit.app().await?;
    let id = visit.endpoint(&app).await?.id;
    let body = if task == REPLAY {
        json!({"of": "events", "to": id, "missing": true, "filter": filter})
    } else {
        filter.insert("webhook_id".to_owned(), Value::from(id.as_str()));
        json!({"filter": filter})
    };
    let call = visit.call(&app, Method::POST, "/v1/replays").names(NAMES).json(&body)?;
    let replay: ReplayRow = call.run().await?;
    Reply::of(StatusCode::ACCEPTED, &replay.of_endpoint(id).task(Some(task)))
}

/// Resends failed messages.
pub async fn recover(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    let mut fields = visit.fields()?;
    let mut filter = read_window(&mut fields);
    fields.finish()?;
    filter.insert("status".to_owned(), Value::from("failed"));
    start(&visit, RECOVER, filter).await
}

/// Sends messages that were never sent to the endpoint.
pub async fn replay_missing(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    let mut fields = visit.fields()?;
    let filter = read_window(&mut fields);
    fields.finish()?;
    start(&visit, REPLAY, filter).await
}

/// Resends messages by filter.
pub async fn bulk_replay(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    let mut fields = visit.fields()?;
    let mut filter = read_window(&mut fields);
    let types: Vec<String> = fields.take("eventTypes").unwrap_or_default();
    match &types[..] {
        [] => {}
        [one] => drop(filter.insert("event_type".to_owned(), Value::from(one.as_str()))),
        _ => fields.invalid("eventTypes", "select one event type, or all of them"),
    }
    match fields.take::<u8>("status") {
        None => {}
        Some(SUCCESS) => drop(filter.insert("status".to_owned(), Value::from("delivered"))),
        Some(FAIL) => drop(filter.insert("status".to_owned(), Value::from("failed"))),
        Some(_) => fields.invalid("status", "select 0 (success) or 2 (fail)"),
    }
    fields.refuse("channel", "channels are not supported");
    fields.refuse("tag", "tags are not supported");
    fields.refuse("statusCodeClass", "select by `status` instead");
    fields.finish()?;
    start(&visit, BULK_REPLAY, filter).await
}
