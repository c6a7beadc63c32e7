//! `/ui/`: what waits, what failed, and the first steps in an empty gateway.

use std::collections::BTreeMap;

use askama::Template;
use http::StatusCode;
use serde::Deserialize;

use super::{list::List, queues::Queue};
use crate::{
    dashboard::PageResult,
    escape::Text,
    moment::Moment,
    page,
    params::Link,
    sentence::Html,
    shell::{Shell, TenantItem},
    texts::Texts,
    visit::Visit,
};

#[derive(Deserialize)]
struct Queues {
    data: Vec<Queue>,
    paused_tenants: Vec<Text>,
    paused_webhooks: Vec<Text>,
}

#[derive(Deserialize)]
struct DeadStats {
    total: u64,
    by_code: BTreeMap<Text, u64>,
    oldest: Option<Moment>,
}

#[derive(Template)]
#[template(path = "start.html")]
struct StartPage {
    t: Texts,
    s: Shell,
    queues: Queues,
    dead: DeadStats,
    tenants: Vec<TenantItem>,
}

#[derive(Template)]
#[template(path = "first_run.html")]
struct FirstRunPage {
    t: Texts,
    s: Shell,
    tenant: Option<TenantItem>,
    has_endpoint: bool,
    command: String,
}

impl StartPage {
    /// The answer to the question of the page.
    fn headline(&self) -> Html {
        let t = &self.t;
        let paused = self.queues.data.iter().filter(|queue| queue.is_paused).count()
            + self.queues.paused_tenants.len()
            + self.queues.paused_webhooks.len();
        match (self.dead.total, paused) {
            (0, 0) => t.say("start.fine").into(),
            (0, paused) => t.count("start.paused", paused as u64).into(),
            (dead, _) => t.count("start.dead", dead).into(),
        }
    }

    /// The codes with the largest counts.
    fn codes(&self) -> Vec<(&Text, u64)> {
        let mut codes: Vec<_> = self.dead.by_code.iter().map(|(code, n)| (code, *n)).collect();
        codes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        codes.truncate(7);
        codes
    }
}

pub async fn show(visit: Visit) -> PageResult {
    let t = visit.t;
    let tenants: List<TenantItem> =
        visit.get_as_operator(Link::new("/v1/tenants").with("limit", 12)).await?;
    if let Some(template) = first_run(&visit, &tenants.data).await? {
        return Ok(page::show(StatusCode::OK, &template));
    }
    let template = StartPage {
        t,
        s: Shell::new(&visit, "/ui/", t.say("nav.overview")).await,
        queues: visit.get(Link::new("/v1/queues")).await?,
        dead: visit.get(Link::new("/v1/dlq/stats")).await?,
        tenants: tenants.data,
    };
    Ok(page::show(StatusCode::OK, &template))
}

#[derive(Deserialize)]
struct AnyRow {}

/// The first steps, while there is at most one tenant and it has no event.
async fn first_run(
    visit: &Visit,
    tenants: &[TenantItem],
) -> Result<Option<FirstRunPage>, crate::problem::Problem> {
    if tenants.len() > 1 {
        return Ok(None);
    }
    let tenant = tenants.first();
    let mut has_endpoint = false;
    if let Some(tenant) = tenant {
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
    Ok(Some(FirstRunPage {
        t: visit.t,
        s: Shell::new(visit, "/ui/", visit.t.say("first_run.title")).await,
        tenant: tenants
            .first()
            .map(|one| TenantItem { slug: one.slug.clone(), name: one.name.clone() }),
        has_endpoint,
        command: format!(
            "curl {url}/v1/events \\\n  -H 'X-API-Key: <key>' \\\n  -H 'Content-Type: application/json' \\\n  -d '{{\"type\":\"invoice.paid\",\"data\":{{\"id\":\"inv_1\",\"amount\":4200}}}}'"
        ),
    }))
}
