//! Reads applications, endpoints with their secrets and headers, and event types from Svix.

use std::collections::BTreeMap;

use serde_json::Value;

use super::record::{Application, Endpoint, EventType, Record};
use crate::remote::{Remote, part};

pub async fn read(svix: &Remote) -> anyhow::Result<Vec<Record>> {
    let mut records = Vec::new();
    let query = "include_archived=true&with_content=true";
    for event_type in list(svix, "/api/v1/event-type", query).await? {
        records.push(read_event_type(&event_type));
    }
    for app in list(svix, "/api/v1/app", "").await? {
        let id = text(&app["id"]);
        let uid = app["uid"].as_str().map_or_else(|| id.clone(), ToOwned::to_owned);
        records.push(Record::Application(Application {
            uid: uid.clone(),
            name: text(&app["name"]),
            metadata: texts(&app["metadata"]),
        }));
        if !app["throttleRate"].is_null() {
            let why = "the rate of applications is not limited; set it at their endpoints";
            records.push(Record::warning(format!("{uid}: {why}")));
        }
        let path = format!("/api/v1/app/{}/endpoint", part(&id));
        for endpoint in list(svix, &path, "").await? {
            read_endpoint(svix, &path, &uid, &endpoint, &mut records).await?;
        }
    }
    Ok(records)
}

fn read_event_type(event_type: &Value) -> Record {
    const KEPT: [&str; 6] =
        ["description", "archived", "deprecated", "schemas", "groupName", "featureFlags"];
    let kept = KEPT.iter().filter_map(|name| {
        let value = event_type.get(name).filter(|value| !value.is_null())?;
        Some(((*name).to_owned(), value.clone()))
    });
    Record::EventType(EventType { name: text(&event_type["name"]), settings: kept.collect() })
}

async fn read_endpoint(
    svix: &Remote,
    path: &str,
    application: &str,
    endpoint: &Value,
    records: &mut Vec<Record>,
) -> anyhow::Result<()> {
    let id = text(&endpoint["id"]);
    let path = format!("{path}/{}", part(&id));
    let secret = svix.get(&format!("{path}/secret")).await?;
    let headers = svix.get(&format!("{path}/headers")).await?;
    let uid = endpoint["uid"].as_str().map_or_else(|| id.clone(), ToOwned::to_owned);
    let sensitive = names(&headers["sensitive"]);
    if !sensitive.is_empty() {
        let all = sensitive.join(", ");
        let why = format!("{application}/{uid}: Svix does not show these headers; set them: {all}");
        records.push(Record::warning(why));
    }
    if endpoint["channels"].as_array().is_some_and(|channels| !channels.is_empty()) {
        let why = "channels are not supported, so the endpoint gets messages of all channels";
        records
            .push(Record::warning(format!("{application}/{uid}: {why}; it is created disabled")));
    }
    let has_channels = endpoint["channels"].as_array().is_some_and(|all| !all.is_empty());
    let either = |new: &str, old: &str| {
        let value = &endpoint[new];
        if value.is_null() { endpoint[old].clone() } else { value.clone() }
    };
    let rate = either("throttleRate", "rateLimit").as_u64();
    records.push(Record::Endpoint(Endpoint {
        application: application.to_owned(),
        uid,
        url: text(&endpoint["url"]),
        secret: Some(text(&secret["key"])),
        description: text(&endpoint["description"]),
        disabled: endpoint["disabled"].as_bool().unwrap_or(false) || has_channels,
        events: names(&either("eventTypes", "filterTypes")),
        headers: texts(&headers["headers"]),
        rate: rate.and_then(|rate| u32::try_from(rate).ok()),
        rate_seconds: None,
        metadata: texts(&endpoint["metadata"]),
    }));
    Ok(())
}

/// Reads all pages of a list.
async fn list(svix: &Remote, path: &str, query: &str) -> anyhow::Result<Vec<Value>> {
    let mut all = Vec::new();
    let mut iterator = String::new();
    loop {
        let mut page = svix.get(&format!("{path}?limit=100&{query}{iterator}")).await?;
        if let Some(data) = page["data"].as_array_mut() {
            all.append(data);
        }
        match page["iterator"].as_str() {
            Some(next) if page["done"] != true => iterator = format!("&iterator={}", part(next)),
            _ => return Ok(all),
        }
    }
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

pub fn names(value: &Value) -> Vec<String> {
    value.as_array().map(|all| all.iter().map(text).collect()).unwrap_or_default()
}

pub fn texts(value: &Value) -> BTreeMap<String, String> {
    let all = value.as_object().into_iter().flatten();
    all.map(|(name, value)| (name.clone(), text(value))).collect()
}
