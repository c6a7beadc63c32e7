//! `/ui/` in an empty gateway: the first steps.

use askama::Template;
use serde::Deserialize;

use super::list::List;
use crate::{
    params::Link,
    shell::{Shell, TenantItem},
    texts::Texts,
    visit::{ApiResult, Visit},
};

#[derive(Template)]
#[template(path = "first_run.html")]
pub struct FirstRunPage {
    t: Texts,
    s: Shell,
    tenant: Option<TenantItem>,
    has_endpoint: bool,
    command: String,
}

#[derive(Deserialize)]
struct AnyRow {}

impl FirstRunPage {
    /// Returns the page, while there is at most one tenant and it has no event.
    pub async fn read(visit: &Visit) -> ApiResult<Option<Self>> {
        let link = Link::new("/v1/tenants").with("limit", 2);
        let tenants: List<TenantItem> = visit.get_as_operator(link).await?;
        if tenants.data.len() > 1 {
            return Ok(None);
        }
        let tenant = tenants.data.into_iter().next();
        let mut has_endpoint = false;
        if let Some(tenant) = &tenant {
            let acting = visit.acting_for(tenant.slug.as_str()).await?;
            let one = |path: &str| Link::new(path).with("limit", 1);
            let events: List<AnyRow> = acting.get(one("/v1/events")).await?;
            if !events.data.is_empty() {
                return Ok(None);
            }
            let endpoints: List<AnyRow> = acting.get(one("/v1/webhooks")).await?;
            has_endpoint = !endpoints.data.is_empty();
        }
        let url = &visit.dashboard.public_url;
        Ok(Some(Self {
            t: visit.t,
            s: Shell::new(visit, "/", visit.t.say("first_run.title")).await,
            tenant,
            has_endpoint,
            command: format!(
                "curl {url}/v1/events \\\n  -H 'X-API-Key: <key>' \\\n  -H 'Content-Type: application/json' \\\n  -d '{{\"type\":\"invoice.paid\",\"data\":{{\"id\":\"inv_1\",\"amount\":4200}}}}'"
            ),
        }))
    }
}
