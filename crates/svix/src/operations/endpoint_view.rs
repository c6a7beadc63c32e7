//! Renders a webhook as an endpoint, and finds it by id or uid.

use std::collections::BTreeMap;

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    page::List,
    svix_error::{Names, SvixError},
    svix_metadata,
    visit::{AppContext, Visit, segment},
};

/// The names of a webhook's fields at Svix.
pub const NAMES: Names = &[
    ("name", "description"),
    ("events", "eventTypes"),
    ("is_active", "disabled"),
    ("rate_limit", "throttleRate"),
    ("external_id", "uid"),
];

#[derive(Debug, Clone, Deserialize)]
pub struct Webhook {
    pub id: String,
    pub name: String,
    pub external_id: Option<String>,
    pub url: String,
    pub events: Vec<String>,
    pub headers: BTreeMap<String, String>,
    pub is_active: bool,
    pub rate_limit: Option<RateLimit>,
    #[serde(default)]
    pub metadata: Map<String, Value>,
    pub created_at: String,
    pub updated_at: String,
}

#[derive(Debug, Clone, Deserialize)]
pub struct RateLimit {
    count: u32,
    per: String,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EndpointOut {
    pub id: String,
    pub uid: Option<String>,
    pub url: String,
    pub version: u32,
    pub description: String,
    pub disabled: bool,
    /// `None` for all types. Clients before version 2 call them filter types.
    pub event_types: Option<Vec<String>>,
    pub filter_types: Option<Vec<String>>,
    pub channels: Option<Vec<String>>,
    pub throttle_rate: Option<u32>,
    pub rate_limit: Option<u32>,
    pub metadata: BTreeMap<String, String>,
    pub created_at: String,
    pub updated_at: String,
}

impl From<Webhook> for EndpointOut {
    fn from(webhook: Webhook) -> Self {
        let rate = webhook.rate_limit.as_ref().map(RateLimit::per_second);
        let is_all = webhook.events.iter().any(|event| event == "*");
        let types = (!is_all).then(|| webhook.events.clone());
        Self {
            uid: webhook.external_id,
            metadata: svix_metadata::own(&webhook.metadata),
            id: webhook.id,
            url: webhook.url,
            version: 1,
            description: webhook.name,
            disabled: !webhook.is_active,
            event_types: types.clone(),
            filter_types: types,
            channels: None,
            throttle_rate: rate,
            rate_limit: rate,
            created_at: webhook.created_at,
            updated_at: webhook.updated_at,
        }
    }
}

impl RateLimit {
    /// Returns messages per second, rounded up, because Svix has no other window.
    fn per_second(&self) -> u32 {
        let per = gancho_domain::span::parse(&self.per).map_or(1.0, |per| per.as_secs_f64());
        (f64::from(self.count) / per.max(0.001)).ceil() as u32
    }
}

/// Maximum endpoints of an application that a search reads.
const MAX_SEARCHED: usize = 10_000;

/// Searches the endpoints of an application, newest first.
pub async fn search(
    visit: &Visit,
    app: &AppContext,
    wanted: impl Fn(&Webhook) -> bool,
) -> Result<Option<Webhook>, SvixError> {
    let mut cursor: Option<String> = None;
    let mut searched = 0;
    loop {
        let mut query = vec![("limit", "500".to_owned())];
        query.extend(cursor.take().map(|cursor| ("cursor", cursor)));
        let page: List<Webhook> =
            visit.call(app, Method::GET, "/v1/webhooks").query(&query).run().await?;
        searched += page.data.len();
        if let Some(found) = page.data.into_iter().find(|webhook| wanted(webhook)) {
            return Ok(Some(found));
        }
        match page.next_cursor {
            Some(next) if searched < MAX_SEARCHED => cursor = Some(next),
            _ => return Ok(None),
        }
    }
}

/// Returns the endpoint with this id or uid.
pub async fn find(
    visit: &Visit,
    app: &AppContext,
    name: &str,
) -> Result<Option<Webhook>, SvixError> {
    if name.starts_with("wh_") {
        let path = format!("/v1/webhooks/{}", segment(name));
        match visit.call(app, Method::GET, path).run().await {
            Ok(webhook) => return Ok(Some(webhook)),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    if !crate::uid::is_uid(name) {
        return Ok(None);
    }
    let call = visit.call(app, Method::GET, "/v1/webhooks").query(&[("external_id", name)]);
    let found: List<Webhook> = call.run().await?;
    Ok(found.data.into_iter().next())
}

impl Visit {
    /// Returns the endpoint in the path.
    pub async fn endpoint(&self, app: &AppContext) -> Result<Webhook, SvixError> {
        let found = find(self, app, self.param("endpoint_id")).await?;
        found.ok_or_else(|| SvixError::not_found("endpoint"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_per_second() {
        let rate = |count, per: &str| RateLimit { count, per: per.to_owned() }.per_second();
        assert_eq!(rate(10, "1s"), 10);
        assert_eq!(rate(90, "1m"), 2);
        assert_eq!(rate(1, "1h"), 1);
    }
}
