//! Reads the endpoints of a project from Convoy, with the event types of their subscriptions.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    record::{Application, Endpoint, Record},
    svix::{names, text},
};
use crate::remote::{Remote, part};

pub async fn read(convoy: &Remote, project: &str) -> anyhow::Result<Vec<Record>> {
    let base = format!("/api/v1/projects/{}", part(project));
    let mut events = BTreeMap::<String, BTreeSet<String>>::new();
    for subscription in list(convoy, &format!("{base}/subscriptions")).await? {
        let endpoint = text(&subscription["endpoint_metadata"]["uid"]);
        let types = names(&subscription["filter_config"]["event_types"]);
        events.entry(endpoint).or_default().extend(types);
    }
    let mut records = Vec::new();
    let mut applications = BTreeSet::new();
    for endpoint in list(convoy, &format!("{base}/endpoints")).await? {
        let owner = text(&endpoint["owner_id"]);
        let owner = if owner.is_empty() { project.to_owned() } else { owner };
        if applications.insert(owner.clone()) {
            let (uid, name) = (owner.clone(), owner.clone());
            records.push(Record::Application(Application { uid, name, ..Application::default() }));
        }
        let types = events.remove(&text(&endpoint["uid"]));
        read_endpoint(&endpoint, owner, types, &mut records);
    }
    Ok(records)
}

fn read_endpoint(
    endpoint: &Value,
    application: String,
    types: Option<BTreeSet<String>>,
    records: &mut Vec<Record>,
) {
    let uid = text(&endpoint["uid"]);
    let is_advanced = endpoint["advanced_signatures"] == true;
    if is_advanced {
        let why = "advanced signatures are not supported; it is created disabled";
        records.push(Record::warning(format!("{application}/{uid}: {why}")));
    }
    let is_subscribed = types.is_some();
    if !is_subscribed {
        let why = "it has no subscription; it is created disabled";
        records.push(Record::warning(format!("{application}/{uid}: {why}")));
    }
    let types = types.unwrap_or_default();
    let secrets = endpoint["secrets"].as_array().map(Vec::as_slice).unwrap_or_default();
    // The secret that does not expire is the current one.
    let current = secrets.iter().rfind(|secret| secret["expires_at"].is_null());
    let mut headers = BTreeMap::new();
    let authentication = &endpoint["authentication"];
    if authentication["type"] == "api_key" {
        let key = &authentication["api_key"];
        headers.insert(text(&key["header_name"]), text(&key["header_value"]));
    } else if authentication.is_object() && !authentication["type"].is_null() {
        let why = "only API keys are imported as headers; set its authentication";
        records.push(Record::warning(format!("{application}/{uid}: {why}")));
    }
    let rate = endpoint["rate_limit"].as_u64().filter(|rate| *rate > 0);
    records.push(Record::Endpoint(Endpoint {
        application,
        uid,
        url: text(&endpoint["url"]),
        secret: current.map(|secret| text(&secret["value"])),
        description: text(&endpoint["name"]),
        disabled: endpoint["status"] != "active" || is_advanced || !is_subscribed,
        events: if types.contains("*") { Vec::new() } else { types.into_iter().collect() },
        headers,
        rate: rate.and_then(|rate| u32::try_from(rate).ok()),
        rate_seconds: endpoint["rate_limit_duration"].as_u64().filter(|seconds| *seconds > 0),
        metadata: BTreeMap::new(),
    }));
}

async fn list(convoy: &Remote, path: &str) -> anyhow::Result<Vec<Value>> {
    let mut all = Vec::new();
    let mut cursor = String::new();
    loop {
        let mut page = convoy.get(&format!("{path}?perPage=100&direction=next{cursor}")).await?;
        if let Some(content) = page["data"]["content"].as_array_mut() {
            all.append(content);
        }
        let pagination = &page["data"]["pagination"];
        match pagination["next_page_cursor"].as_str() {
            Some(next) if pagination["has_next_page"] == true => {
                cursor = format!("&next_page_cursor={}", part(next));
            }
            _ => return Ok(all),
        }
    }
}
