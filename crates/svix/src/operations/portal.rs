//! Access to the portal.

use http::Method;
use serde::Deserialize;
use serde_json::json;

use super::applications::{ApplicationIn, find_or_create};
use crate::{
    svix_error::{Names, SvixError},
    visit::{Reply, Visit, segment},
};

const NAMES: Names = &[("expires_in", "expiry")];
/// In seconds: the maximum of the gateway, whereas Svix has seven days.
const MAX_EXPIRY: u64 = 24 * 60 * 60;

#[derive(Deserialize)]
struct PortalLink {
    url: String,
    token: String,
}

pub async fn access(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    let mut fields = visit.fields()?;
    let application = fields.below("application").map(|mut inner| {
        let wanted = ApplicationIn::read(&mut inner, true);
        fields.finish_inner(inner);
        wanted
    });
    let expiry: Option<u64> = fields.take("expiry");
    if expiry.is_some_and(|expiry| !(1..=MAX_EXPIRY).contains(&expiry)) {
        fields.invalid(
            "expiry",
            "must be between 1 and 86400 seconds: a link is valid for a day at most",
        );
    }
    let why =
        "anyone who has the link reads and manages the application: links cannot have fewer rights";
    fields.refuse("readOnly", why);
    fields.refuse("capabilities", why);
    fields.refuse("featureFlags", "feature flags do not hide event types");
    fields.refuse("sessionId", "links are revoked for an application as a whole");
    fields.finish()?;
    let app = find_or_create(&visit, application).await?;
    let body = json!({
        "tenant": app.tenant.id.to_string(),
        "expires_in": format!("{}s", expiry.unwrap_or(MAX_EXPIRY)),
    });
    let call = visit.call_as(visit.caller.clone(), Method::POST, "/v1/portal-links");
    let link: PortalLink = call.names(NAMES).json(&body)?.run().await?;
    Reply::ok(&json!({"url": link.url, "token": link.token}))
}

/// Revokes all links of an application.
pub async fn expire_all(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    let mut fields = visit.fields()?;
    if fields.take::<u64>("expiry").is_some_and(|expiry| expiry > 0) {
        fields.invalid("expiry", "links are revoked at once: leave it out, or send 0");
    }
    fields.refuse("sessionIds", "links are revoked for an application as a whole");
    fields.finish()?;
    let app = visit.app().await?;
    let path = format!("/v1/tenants/{}/portal-links", segment(&app.tenant.id.to_string()));
    visit.call_as(visit.caller.clone(), Method::DELETE, path).done().await?;
    Ok(Reply::no_content())
}
