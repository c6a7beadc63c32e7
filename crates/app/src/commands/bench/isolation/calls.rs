//! Makes the API calls that set a scenario up, on a few persistent connections.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{
    endpoint::Endpoint,
    load::{Route, UNMEASURED, event},
};
use crate::commands::bench::{child::Child, http_connection::HttpConnection};

pub struct Call {
    pub method: &'static str,
    pub path: String,
    /// Who calls, as a header.
    pub key: String,
    pub body: String,
}

impl Call {
    pub fn post(path: impl Into<String>, key: &str, body: &Value) -> Self {
        let (path, key) = (path.into(), key.to_owned());
        Self { method: "POST", path, key, body: body.to_string() }
    }
}

const CONNECTIONS: usize = 8;
/// Events in one call, if each is for one endpoint.
pub const BATCH: usize = 500;

/// Makes all calls and returns what `read` reads from each response, in order.
pub async fn make<T: Send + 'static>(
    gateway: &Child,
    calls: impl IntoIterator<Item = Call, IntoIter: Send + 'static>,
    read: fn(&Value) -> anyhow::Result<T>,
) -> anyhow::Result<Vec<T>> {
    let calls = Arc::new(Mutex::new(calls.into_iter().enumerate()));
    let mut callers = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (calls, address) = (calls.clone(), gateway.address);
        callers.spawn(async move {
            let mut line = HttpConnection::open(address).await?;
            let mut answers = Vec::new();
            loop {
                let next = calls.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((place, Call { method, path, key, body })) = next else { break };
                let (status, answer) = line.send(method, &path, &key, body.as_bytes()).await?;
                ensure!(
                    status < 300,
                    "{path} answered {status}: {}",
                    String::from_utf8_lossy(&answer)
                );
                let answer = match answer.as_slice() {
                    b"" => Value::Null,
                    json => serde_json::from_slice(json)?,
                };
                answers.push((place, read(&answer)?));
            }
            anyhow::Ok(answers)
        });
    }
    let mut all = Vec::new();
    while let Some(answers) = callers.join_next().await {
        all.extend(answers??);
    }
    all.sort_by_key(|(place, _)| *place);
    Ok(all.into_iter().map(|(_, answer)| answer).collect())
}

/// Creates tenants and returns the header that authenticates each.
pub async fn create_tenants(
    gateway: &Child,
    prefix: &str,
    count: usize,
) -> anyhow::Result<Vec<String>> {
    let slugs: Vec<String> = (0..count).map(|number| format!("{prefix}-{number}")).collect();
    let operator = Child::operator();
    let tenants = slugs
        .clone()
        .into_iter()
        .map(move |slug| Call::post("/v1/tenants", &operator, &json!({"slug": slug})));
    make(gateway, tenants, |_| Ok(())).await?;
    let operator = Child::operator();
    let keys = slugs
        .into_iter()
        .map(move |slug| Call::post(format!("/v1/tenants/{slug}/api-keys"), &operator, &json!({})));
    make(gateway, keys, |made| {
        Ok(format!("x-api-key: {}", made["key"].as_str().context("no key")?))
    })
    .await
}

/// Creates webhooks, each with the key of its tenant, and returns their ids.
pub async fn create_webhooks(
    gateway: &Child,
    webhooks: impl IntoIterator<Item = (String, Value), IntoIter: Send + 'static>,
) -> anyhow::Result<Vec<String>> {
    let calls = webhooks.into_iter().map(|(key, body)| Call::post("/v1/webhooks", &key, &body));
    make(gateway, calls, |made| Ok(made["id"].as_str().context("no id")?.to_owned())).await
}

/// Creates a webhook for each tenant, at the endpoint with the same index.
pub async fn create_webhook_each<'a>(
    gateway: &Child,
    keys: &[String],
    endpoints: impl IntoIterator<Item = &'a Endpoint>,
    event_type: &str,
) -> anyhow::Result<()> {
    let webhooks: Vec<_> = keys
        .iter()
        .zip(endpoints)
        .map(|(key, endpoint)| {
            (key.clone(), json!({"url": endpoint.url(), "events": [event_type]}))
        })
        .collect();
    create_webhooks(gateway, webhooks).await?;
    Ok(())
}

/// Publishes this many events on each route, by batches, in turn, so that no route is filled before the
/// others.
pub async fn publish(
    gateway: &Child,
    routes: Arc<[Route]>,
    events: usize,
    batch: usize,
    body: usize,
) -> anyhow::Result<()> {
    let starts = (0..events).step_by(batch);
    let calls = starts.flat_map(move |start| {
        let routes = routes.clone();
        let count = batch.min(events - start);
        (0..routes.len()).map(move |place| {
            let Route { key, event_type } = &routes[place];
            let list = vec![event(event_type, UNMEASURED, body); count].join(",");
            let body = format!(r#"{{"events":[{list}]}}"#);
            Call { method: "POST", path: "/v1/events/batch".into(), key: key.clone(), body }
        })
    });
    make(gateway, calls, |outcome| {
        ensure!(outcome["refused"] == 0, "some events were refused: {}", outcome["results"][0]);
        Ok(())
    })
    .await?;
    Ok(())
}

/// Returns how many deliveries of the webhook lane wait and are in flight.
pub async fn depth(gateway: &Child) -> anyhow::Result<(u64, u64)> {
    let mut line = HttpConnection::open(gateway.address).await?;
    let (status, answer) = line.send("GET", "/v1/queues", &Child::operator(), b"").await?;
    ensure!(status == 200, "/v1/queues answered {status}");
    let answer: Value = serde_json::from_slice(&answer)?;
    let queues = answer["data"].as_array().context("no queues")?;
    let queue = queues.iter().find(|queue| queue["lane"] == "webhook").context("no webhooks")?;
    let count = |name: &str| queue[name].as_u64().context("no count");
    Ok((count("depth")?, count("in_flight")?))
}
