//! `/portal/`: do the endpoints work, and if not, what is wrong?

use std::collections::HashMap;

use askama::Template;
use http::StatusCode;

use super::{
    delivery_row::DeliveryRow, endpoint_facts::EndpointFacts, endpoint_stats, list::List,
    plan::PlanUsage,
};
use crate::{
    escape::Text,
    handlers::PageResult,
    page,
    params::Link,
    portal_session::{ENTERED, first_page},
    sentence::Html,
    shell::Shell,
    statistics::EndpointStats,
    status_mark::StatusMark,
    texts::Texts,
    visit::Visit,
};

const PATH: &str = "/";
/// Maximum endpoints with their own card; the list has all of them.
const MAX_CARDS: usize = 12;
const MAX_DELIVERIES: usize = 10;

#[derive(Template)]
#[template(path = "portal_start.html")]
struct PortalStartPage {
    t: Texts,
    s: Shell,
    headline: Html,
    summary: Option<Html>,
    cards: Vec<Card>,
    has_more: bool,
    deliveries: Vec<DeliveryRow>,
    names: HashMap<String, Text>,
}

struct Card {
    endpoint: EndpointFacts,
    stats: Option<EndpointStats>,
}

impl Card {
    /// Returns its state, in a sentence or two.
    fn text(&self, t: &Texts) -> Html {
        super::endpoint::happening(t, &self.endpoint)
    }
}

impl PortalStartPage {
    fn endpoint(&self, row: &DeliveryRow) -> Text {
        let name = row.webhook_id.as_ref().and_then(|id| self.names.get(id));
        name.cloned().unwrap_or_default()
    }
}

pub async fn show(visit: Visit) -> PageResult {
    if visit.params.get(ENTERED).is_some() {
        return Ok(page::see_other(&first_page(&visit.params)));
    }
    let t = visit.t;
    let link = Link::new("/v1/webhooks").with("limit", 200);
    let List { data: mut endpoints, next_cursor } = visit.get::<List<EndpointFacts>>(link).await?;
    endpoints.sort_by_key(|one| super::endpoints::trouble(one.mark()));
    let name = |one: &EndpointFacts| (one.id.clone(), one.title());
    let names = endpoints.iter().map(name).collect();
    let headline = headline(&t, &endpoints);
    let has_more = next_cursor.is_some() || endpoints.len() > MAX_CARDS;
    endpoints.truncate(MAX_CARDS);
    let mut stats = endpoint_stats::of_list(&visit, &endpoints).await;
    let card = |endpoint: EndpointFacts| Card { stats: stats.remove(&endpoint.id), endpoint };
    let cards = endpoints.into_iter().map(card).collect();
    let link = Link::new("/v1/deliveries").with("limit", MAX_DELIVERIES);
    let deliveries: List<DeliveryRow> = visit.get(link).await?;
    let usage = PlanUsage::read(&visit).await?;
    let template = PortalStartPage {
        t,
        s: Shell::new(&visit, PATH, t.say("nav.endpoints")).await,
        headline,
        summary: usage.summary(&t),
        cards,
        has_more,
        deliveries: deliveries.data,
        names,
    };
    Ok(page::show(StatusCode::OK, &template))
}

/// Returns the answer first: what is wrong, or that nothing is.
fn headline(t: &Texts, endpoints: &[EndpointFacts]) -> Html {
    let mut failing = endpoints.iter().filter(|one| one.mark() == StatusMark::Failed);
    let count = |mark| endpoints.iter().filter(|one| one.mark() == mark).count() as u64;
    let sentence = match (failing.next(), failing.count() as u64) {
        _ if endpoints.is_empty() => t.say("portal.no_endpoints"),
        (None, _) => match (count(StatusMark::Disabled), count(StatusMark::Paused)) {
            (0, 0) => t.count("portal.all_well", endpoints.len() as u64),
            (0, paused) => t.count("portal.some_paused", paused),
            (disabled, _) => t.count("portal.some_disabled", disabled),
        },
        (Some(one), 0) => match &one.failing_since {
            Some(since) => t
                .say("portal.one_fails_since")
                .with("name", one.title())
                .html("time", t.time(since)),
            None => t.say("portal.one_fails").with("name", one.title()),
        },
        (Some(_), others) => t.count("portal.some_fail", others + 1),
    };
    sentence.into()
}
