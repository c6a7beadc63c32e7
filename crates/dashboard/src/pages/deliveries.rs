//! `/ui/deliveries`: where is this delivery, and what is happening right now?

pub mod export;
mod filter;
mod histogram;
pub mod live;
pub mod selection;

use std::collections::HashMap;

use askama::Template;
use serde::Deserialize;

use self::{
    filter::{Chip, Filter},
    histogram::Histogram,
};
use super::{delivery_row::DeliveryRow, list::List};
use crate::{
    display_time::DisplayTime,
    endpoint_names,
    escape::{Block, Text},
    handlers::PageResult,
    page,
    params::{Link, segment},
    problem::{FormErrors, Problem},
    search,
    sentence::Sentence,
    shell::Shell,
    texts::Texts,
    visit::Visit,
};

pub const PATH: &str = "/deliveries";
const ROWS: usize = 50;

#[derive(Deserialize)]
pub struct EndpointName {
    pub id: String,
    /// Only in a list of all tenants.
    pub tenant: Option<Text>,
    pub name: Text,
    pub url: Text,
}

#[derive(Template)]
#[template(path = "deliveries.html")]
struct DeliveriesPage {
    t: Texts,
    s: Shell,
    filter: Filter,
    chips: Vec<Chip>,
    tabs: Vec<Tab>,
    histogram: Option<Histogram>,
    rows: Vec<DeliveryRow>,
    endpoints: HashMap<String, Text>,
    next: Option<Link>,
    first: Option<Link>,
    peek: Option<Peek>,
    /// The stream of rows while the page is open.
    live: Option<Link>,
    errors: FormErrors,
}

/// One delivery, opened beside the list.
#[derive(Deserialize)]
struct Peek {
    #[serde(flatten)]
    row: DeliveryRow,
    attempt_log: Vec<PeekAttempt>,
}

#[derive(Deserialize)]
struct PeekAttempt {
    started_at: DisplayTime,
    latency_ms: f64,
    response_body: Option<Block>,
}

struct Tab {
    label: Sentence,
    link: Link,
    is_current: bool,
}

impl DeliveriesPage {
    fn endpoint(&self, row: &DeliveryRow) -> Text {
        let name = row.webhook_id.as_ref().and_then(|id| self.endpoints.get(id));
        name.cloned().unwrap_or_default()
    }

    fn peek_at(&self, row: &DeliveryRow) -> Link {
        self.filter.link(&self.s.visit).with("peek", &row.id)
    }

    /// Returns where the selected rows are posted to.
    fn selection(&self, act: &str) -> Link {
        self.filter.link_to(&self.s.visit, &format!("{PATH}/selection/{act}"))
    }

    fn export(&self) -> Link {
        self.filter.link_to(&self.s.visit, &format!("{PATH}/export"))
    }

    fn without_peek(&self) -> Link {
        self.filter.link(&self.s.visit)
    }

    fn href(&self, row: &DeliveryRow) -> Link {
        page_of(&self.s.visit, &self.filter, row)
    }
}

/// Returns the page of a delivery, limited to its tenant. It links back to the list with its filter.
fn page_of(visit: &Visit, filter: &Filter, row: &DeliveryRow) -> Link {
    let link = visit.link(format!("{PATH}/{}", segment(&row.id)));
    let link = if filter.is_narrow() { link.with("list", filter.query(visit)) } else { link };
    match &row.tenant {
        Some(tenant) => link.with("tenant", tenant.as_str()),
        None => link,
    }
}

pub async fn show(visit: Visit) -> PageResult {
    let t = visit.t;
    let mut filter = Filter::read(&visit);
    filter.resolve(&visit).await;
    if let (Some(external), None) = (&filter.external, &visit.tenant) {
        return Ok(page::see_other(&of_external_id(&visit, &filter, external).await?.to_string()));
    }
    if let Some(link) = filter.canonical(&visit) {
        return Ok(page::see_other(&link.to_string()));
    }
    let cursor = visit.params.get("cursor");
    let link = filter.to_api("/v1/deliveries").with("limit", ROWS).maybe("cursor", cursor);
    // An invalid value is marked at its field.
    let (List { data: rows, next_cursor }, errors) = match visit.get(link).await {
        Ok(list) => (list, FormErrors::default()),
        Err(problem) if problem.is_filter() => (List::default(), FormErrors::from(problem)),
        Err(problem) => return Err(problem),
    };
    let page_link = filter.link(&visit);
    let histogram = match errors.problem {
        Some(_) => None,
        None => Histogram::read(&visit, &filter).await,
    };
    let peek = peek(&visit).await;
    let template = DeliveriesPage {
        t,
        s: Shell::new(&visit, PATH, t.say("nav.deliveries")).await,
        chips: filter.chips(&visit, &errors),
        tabs: tabs(&visit, &filter),
        histogram,
        endpoints: names_of(&visit, &rows, peek.as_ref()).await,
        rows,
        next: next_cursor.map(|cursor| page_link.clone().with("cursor", cursor)),
        first: cursor.map(|_| page_link),
        peek,
        live: live::address(&visit, &filter).filter(|_| errors.problem.is_none()),
        filter,
        errors,
    };
    Ok(page::show(template.errors.status(), &template))
}

/// Returns the deliveries of the tenant that has this external id. If several have it, or none, redirects to
/// the search.
async fn of_external_id(visit: &Visit, filter: &Filter, external: &str) -> Result<Link, Problem> {
    let found = search::find(visit, external).await?;
    Ok(match found.owners_of_events().as_slice() {
        [owner] => filter.link(visit).with("tenant", owner.as_str()),
        _ => visit.link("/search").with("q", external),
    })
}

async fn peek(visit: &Visit) -> Option<Peek> {
    let id = segment(visit.params.get("peek")?);
    visit.get(Link::new(format!("/v1/deliveries/{id}"))).await.ok()
}

fn tabs(visit: &Visit, filter: &Filter) -> Vec<Tab> {
    let t = visit.t;
    let tab = |status: &str, label| Tab {
        label,
        link: filter.link(visit).with("status", status),
        is_current: filter.status.as_deref().unwrap_or_default() == status,
    };
    vec![
        tab("", t.say("deliveries.all")),
        tab("pending", t.say("status.pending")),
        tab("retrying", t.say("status.retrying")),
        tab("delivered", t.say("status.delivered")),
        tab("failed", t.say("dead.given_up")),
    ]
}

/// Returns the names of these rows' endpoints, by id.
async fn names_of(
    visit: &Visit,
    rows: &[DeliveryRow],
    peek: Option<&Peek>,
) -> HashMap<String, Text> {
    let rows = rows.iter().chain(peek.map(|peek| &peek.row));
    let ids = rows.filter_map(|row| row.webhook_id.as_ref());
    endpoint_names::read(visit, ids).await
}

/// Returns the names of endpoints by id, of the tenant or of all. An endpoint without a name has its URL as
/// its name.
pub async fn all_endpoint_names(visit: &Visit) -> HashMap<String, Text> {
    let link = Link::new("/v1/webhooks").with("limit", 500);
    let endpoints: List<EndpointName> = visit.get(link).await.unwrap_or_default();
    let name = |one: EndpointName| {
        let name = if one.name.is_empty() { one.url } else { one.name };
        (one.id, name)
    };
    endpoints.data.into_iter().map(name).collect()
}
