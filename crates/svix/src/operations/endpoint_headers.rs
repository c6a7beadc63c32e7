//! The custom headers of an endpoint. The gateway never shows their values again, so all of them are `sensitive`.

use std::collections::BTreeMap;

use gancho_domain::mask::MASK;
use http::Method;
use serde_json::json;

use crate::{
    svix_error::SvixError,
    visit::{AppContext, Reply, Visit, segment},
};

type Headers = BTreeMap<String, String>;

pub async fn get(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    let app = visit.app().await?;
    let names: Vec<_> = visit.endpoint(&app).await?.headers.into_keys().collect();
    Reply::ok(&json!({"headers": {}, "sensitive": names}))
}

pub async fn set(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    let mut fields = visit.fields()?;
    let headers: Option<Headers> = fields.require("headers");
    fields.finish()?;
    let app = visit.app().await?;
    let id = visit.endpoint(&app).await?.id;
    put(&visit, &app, &id, &headers.unwrap_or_default()).await
}

pub async fn patch(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    let mut fields = visit.fields()?;
    // Null removes a header, as `deleteHeaders` does.
    let changes: Option<BTreeMap<String, Option<String>>> = fields.take("headers");
    let mut deleted: Vec<String> = fields.take("deleteHeaders").unwrap_or_default();
    fields.finish()?;
    let app = visit.app().await?;
    let before = visit.endpoint(&app).await?;
    let (mut set, mut changed) = (Vec::new(), changes.unwrap_or_default());
    while let Some((name, value)) = changed.pop_first() {
        match value {
            Some(value) => set.push((name, value)),
            None => deleted.push(name),
        }
    }
    let is_in =
        |name: &str, names: &[String]| names.iter().any(|one| one.eq_ignore_ascii_case(name));
    let replaced: Vec<_> = set.iter().map(|(name, _)| name.clone()).collect();
    let kept = before.headers.into_keys();
    let mut headers: Headers = kept
        .filter(|name| !is_in(name, &deleted) && !is_in(name, &replaced))
        .map(|name| (name, MASK.to_owned()))
        .collect();
    headers.extend(set);
    put(&visit, &app, &before.id, &headers).await
}

async fn put(
    visit: &Visit,
    app: &AppContext,
    id: &str,
    headers: &Headers,
) -> Result<Reply, SvixError> {
    let path = format!("/v1/webhooks/{}", segment(id));
    visit.call(app, Method::PATCH, path).json(&json!({"headers": headers}))?.done().await?;
    Ok(Reply::no_content())
}
