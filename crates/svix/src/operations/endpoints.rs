//! Endpoints, which are webhooks in the profile `svix`.

use std::collections::BTreeMap;

use http::{Method, StatusCode};
use serde_json::{Map, Value, json};

use super::{
    endpoint_secrets::normalized,
    endpoint_view::{EndpointOut, NAMES, Webhook, find},
};
use crate::{
    fields::{Fields, MaybeField},
    page::{List, ListOut, Paging},
    svix_error::SvixError,
    svix_metadata,
    uid::is_uid,
    visit::{AppContext, Reply, Visit, segment},
};

/// The requested properties of an endpoint. The outer option is whether the field was present.
#[derive(Debug, Default, Clone)]
struct EndpointIn {
    url: Option<String>,
    description: Option<String>,
    disabled: Option<bool>,
    event_types: MaybeField<Vec<String>>,
    throttle_rate: MaybeField<u32>,
    uid: MaybeField<String>,
    metadata: Option<BTreeMap<String, String>>,
    secret: Option<String>,
    headers: Option<BTreeMap<String, String>>,
}

impl EndpointIn {
    fn read(fields: &mut Fields, needs_url: bool) -> Self {
        let url = if needs_url { fields.require("url") } else { fields.take("url") };
        let uid: MaybeField<String> = fields.take_given("uid");
        if uid.iter().flatten().any(|uid| !is_uid(uid)) {
            fields.invalid("uid", "a uid has letters, digits, `-`, `_` and `.`, at most 256");
        }
        let metadata: Option<BTreeMap<String, String>> = fields.take("metadata");
        let mut keys = metadata.iter().flatten();
        if keys.any(|(name, _)| svix_metadata::is_reserved(name)) {
            fields.invalid("metadata", "the key `svix` is reserved; choose another");
        }
        fields.refuse(
            "channels",
            "channels are not supported: use event types, or an application for each channel",
        );
        fields.ignore("version");
        Self {
            url,
            description: fields.take("description"),
            disabled: fields.take("disabled"),
            event_types: either(fields, "eventTypes", "filterTypes"),
            throttle_rate: either(fields, "throttleRate", "rateLimit"),
            uid,
            metadata,
            secret: fields.take("secret"),
            headers: fields.take("headers"),
        }
    }

    /// Resets missing fields, as a PUT of Svix does.
    fn filled(self) -> Self {
        Self {
            description: Some(self.description.unwrap_or_default()),
            disabled: Some(self.disabled.unwrap_or(false)),
            event_types: Some(self.event_types.flatten()),
            throttle_rate: Some(self.throttle_rate.flatten()),
            metadata: Some(self.metadata.unwrap_or_default()),
            ..self
        }
    }

    /// Returns the body for the API.
    fn body(self) -> Map<String, Value> {
        let mut body = Map::new();
        let mut set = |name: &str, value: Option<Value>| {
            body.extend(value.map(|value| (name.to_owned(), value)));
        };
        set("external_id", self.uid.map(Value::from));
        set("metadata", self.metadata.map(|metadata| json!(metadata)));
        set("url", self.url.map(Value::from));
        set("name", self.description.map(Value::from));
        set("is_active", self.disabled.map(|disabled| Value::from(!disabled)));
        set("events", self.event_types.map(|types| types.map_or(json!(["*"]), Value::from)));
        set(
            "rate_limit",
            self.throttle_rate.map(|rate| match rate {
                Some(count) => json!({"count": count, "per": "1s"}),
                None => Value::Null,
            }),
        );
        set("secret", self.secret.map(|secret| Value::from(normalized(&secret))));
        set("headers", self.headers.map(|headers| json!(headers)));
        body
    }
}

/// Reads a field that has another name in clients before version 2.
fn either<T: serde::de::DeserializeOwned>(
    fields: &mut Fields,
    name: &str,
    old: &str,
) -> MaybeField<T> {
    let (new, old) = (fields.take_given(name), fields.take_given(old));
    new.or(old)
}

pub async fn list(visit: Visit) -> Result<Reply, SvixError> {
    let mut query = visit.query();
    let paging = Paging::read(&mut query);
    query.only_order("descending");
    query.finish()?;
    let app = visit.app().await?;
    let call = visit.call(&app, Method::GET, "/v1/webhooks").query(&paging.parameters());
    let found: List<Webhook> = call.run().await?;
    let data = found.data.into_iter().map(EndpointOut::from).collect();
    Reply::ok(&ListOut::new(data, found.next_cursor))
}

pub async fn create(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    let mut fields = visit.fields()?;
    let wanted = EndpointIn::read(&mut fields, true).filled();
    fields.finish()?;
    let app = visit.app().await?;
    let created = create_webhook(&visit, &app, wanted).await?;
    Reply::of(StatusCode::CREATED, &EndpointOut::from(created))
}

async fn create_webhook(
    visit: &Visit,
    app: &AppContext,
    wanted: EndpointIn,
) -> Result<Webhook, SvixError> {
    let mut body = wanted.body();
    body.insert("profile".to_owned(), Value::from("svix"));
    visit.call(app, Method::POST, "/v1/webhooks").names(NAMES).json(&body)?.run().await
}

pub async fn get(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    let app = visit.app().await?;
    Reply::ok(&EndpointOut::from(visit.endpoint(&app).await?))
}

pub async fn upsert(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    let mut fields = visit.fields()?;
    let mut wanted = EndpointIn::read(&mut fields, true).filled();
    fields.finish()?;
    let app = visit.app().await?;
    let name = visit.param("endpoint_id").to_owned();
    if let Some(before) = find(&visit, &app, &name).await? {
        return Reply::ok(&EndpointOut::from(change(&visit, &app, &before, wanted).await?));
    }
    if !is_uid(&name) || name.starts_with("wh_") {
        return Err(SvixError::not_found("endpoint"));
    }
    if wanted.uid.iter().flatten().any(|uid| *uid != name) {
        return Err(SvixError::field(&["body", "uid"], "must be the uid in the path"));
    }
    wanted.uid = Some(Some(name.clone()));
    match create_webhook(&visit, &app, wanted.clone()).await {
        Ok(created) => Reply::of(StatusCode::CREATED, &EndpointOut::from(created)),
        // Another request has just created it.
        Err(error) if error.status() == StatusCode::CONFLICT => {
            let before = find(&visit, &app, &name).await?.ok_or(error)?;
            Reply::ok(&EndpointOut::from(change(&visit, &app, &before, wanted).await?))
        }
        Err(error) => Err(error),
    }
}

pub async fn patch(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    let mut fields = visit.fields()?;
    let wanted = EndpointIn::read(&mut fields, false);
    fields.finish()?;
    let app = visit.app().await?;
    let before = visit.endpoint(&app).await?;
    Reply::ok(&EndpointOut::from(change(&visit, &app, &before, wanted).await?))
}

async fn change(
    visit: &Visit,
    app: &AppContext,
    before: &Webhook,
    wanted: EndpointIn,
) -> Result<Webhook, SvixError> {
    let path = format!("/v1/webhooks/{}", segment(&before.id));
    let body = wanted.body();
    visit.call(app, Method::PATCH, path).names(NAMES).json(&body)?.run().await
}

pub async fn delete(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    let app = visit.app().await?;
    let id = visit.endpoint(&app).await?.id;
    visit.call(&app, Method::DELETE, format!("/v1/webhooks/{}", segment(&id))).done().await?;
    Ok(Reply::no_content())
}
