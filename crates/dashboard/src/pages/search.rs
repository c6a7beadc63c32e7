//! `/ui/search`: any id opens its page at once; anything else is looked up as an external id and as an
//! event type.

use askama::Template;
use http::StatusCode;
use serde_json::Value;

use super::{delivery_row::DeliveryRow, list::List};
use crate::{
    dashboard::PageResult,
    escape::Text,
    page,
    params::{Link, segment},
    shell::{Shell, TenantItem},
    texts::Texts,
    visit::Visit,
};

/// Tenants that are searched, one after the other, if none is chosen.
const MAX_TENANTS: usize = 50;
const MAX_RESULTS: usize = 50;

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage {
    t: Texts,
    s: Shell,
    query: String,
    results: Vec<Match>,
    /// The deliveries of events of this type, if there are any.
    of_type: Option<Link>,
    /// The deliveries whose payload contains it.
    in_payloads: Link,
    is_cut: bool,
}

struct Match {
    row: DeliveryRow,
    tenant: Text,
    href: Link,
}

pub async fn show(visit: Visit) -> PageResult {
    let query = visit.params.text("q").to_owned();
    if let Some(page) = page_of(&visit, &query).await? {
        return Ok(page::see_other(&page.to_string()));
    }
    let mut results = Vec::new();
    let (tenants, is_cut) = tenants(&visit).await?;
    if !query.is_empty() {
        for tenant in &tenants {
            let acting = visit.acting_for(tenant).await?;
            let link = Link::new("/v1/deliveries").with("external_id", &query).with("limit", 20);
            // What cannot be an external id has no match.
            let Ok(List { data, .. }) = acting.get::<List<DeliveryRow>>(link).await else { break };
            results.extend(data.into_iter().map(|row| Match {
                href: acting.link(format!("/deliveries/{}", segment(&row.id))),
                tenant: tenant.as_str().into(),
                row,
            }));
            if results.len() >= MAX_RESULTS {
                break;
            }
        }
    }
    let of_type = of_type(&visit, &query).await;
    let in_payloads = visit.link("/deliveries").with("text", &query);
    let t = visit.t;
    let s = Shell::new(&visit, "/search", t.say("search.title")).await;
    Ok(page::show(
        StatusCode::OK,
        &SearchPage { t, s, query, results, of_type, in_payloads, is_cut },
    ))
}

async fn of_type(visit: &Visit, name: &str) -> Option<Link> {
    if name.is_empty() {
        return None;
    }
    let link = Link::new("/v1/deliveries").with("event_type", name).with("limit", 1);
    let List { data, .. } = visit.get::<List<DeliveryRow>>(link).await.ok()?;
    (!data.is_empty()).then(|| visit.link("/deliveries").with("type", name))
}

async fn tenants(visit: &Visit) -> Result<(Vec<String>, bool), crate::problem::Problem> {
    if let Some(tenant) = &visit.tenant {
        return Ok((vec![tenant.slug.clone()], false));
    }
    let link = Link::new("/v1/tenants").with("limit", MAX_TENANTS);
    let list: List<TenantItem> = visit.get_as_operator(link).await?;
    let slugs = list.data.iter().map(|tenant| tenant.slug.to_string()).collect();
    Ok((slugs, list.next_cursor.is_some()))
}

/// The page of an id, by its prefix.
async fn page_of(visit: &Visit, id: &str) -> Result<Option<Link>, crate::problem::Problem> {
    let Some((prefix, _)) = id.split_once('_') else { return Ok(None) };
    let (api, pages) = match prefix {
        "dlv" => ("/v1/deliveries", "/deliveries"),
        "rpl" => ("/v1/replays", "/replays"),
        "ten" => ("/v1/tenants", "/tenants"),
        "wh" => ("/v1/webhooks", "/endpoints"),
        "evt" => ("/v1/events", "/events"),
        _ => return Ok(None),
    };
    let (api, pages) = (format!("{api}/{}", segment(id)), format!("{pages}/{}", segment(id)));
    let is_there = visit.get::<Value>(Link::new(api.as_str())).await.is_ok();
    if is_there && matches!(prefix, "rpl" | "ten") {
        return Ok(Some(visit.link(pages)));
    }
    // A page about a tenant's things is limited to that tenant.
    for tenant in tenants(visit).await?.0 {
        let acting = visit.acting_for(&tenant).await?;
        if acting.get::<Value>(Link::new(api.as_str())).await.is_ok() {
            return Ok(Some(acting.link(pages)));
        }
    }
    Ok((is_there || prefix == "dlv").then(|| visit.link(pages)))
}
