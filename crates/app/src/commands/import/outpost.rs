//! Reads tenants and their webhook destinations from Outpost.

use serde_json::Value;

use super::{
    record::{Application, Endpoint, Record},
    svix::{names, text, texts},
};
use crate::remote::{Remote, part};

pub async fn read(outpost: &Remote) -> anyhow::Result<Vec<Record>> {
    let mut records = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = outpost.get(&format!("/api/v1/tenants?limit=100{cursor}")).await?;
        for tenant in page["models"].as_array().into_iter().flatten() {
            let id = text(&tenant["id"]);
            let (uid, name) = (id.clone(), id.clone());
            let metadata = texts(&tenant["metadata"]);
            records.push(Record::Application(Application { uid, name, metadata }));
            let path = format!("/api/v1/tenants/{}/destinations", part(&id));
            for destination in outpost.get(&path).await?.as_array().into_iter().flatten() {
                read_destination(destination, &id, &mut records);
            }
        }
        match page["pagination"]["next"].as_str() {
            Some(next) => cursor = format!("&next={}", part(next)),
            None => return Ok(records),
        }
    }
}

fn read_destination(destination: &Value, tenant: &str, records: &mut Vec<Record>) {
    let uid = text(&destination["id"]);
    let kind = text(&destination["type"]);
    if kind != "webhook" {
        let why = format!("{tenant}/{uid}: a destination of the type {kind} is not imported");
        records.push(Record::warning(why));
        return;
    }
    let has_filter = destination["filter"].as_object().is_some_and(|filter| !filter.is_empty());
    if has_filter {
        let why = "filters by content are not supported; it is created disabled";
        records.push(Record::warning(format!("{tenant}/{uid}: {why}")));
    }
    let (config, topics) = (&destination["config"], names(&destination["topics"]));
    // The headers are JSON in a text.
    let headers: Value = config["custom_headers"]
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    records.push(Record::Endpoint(Endpoint {
        application: tenant.to_owned(),
        uid,
        url: text(&config["url"]),
        secret: destination["credentials"]["secret"].as_str().map(ToOwned::to_owned),
        disabled: !destination["disabled_at"].is_null() || has_filter,
        events: if topics.iter().any(|topic| topic == "*") { Vec::new() } else { topics },
        headers: texts(&headers),
        metadata: texts(&destination["metadata"]),
        ..Endpoint::default()
    }));
}
