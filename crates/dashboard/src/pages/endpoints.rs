//! `/ui/endpoints`: which ones are in trouble?

use std::collections::HashMap;

use askama::Template;
use http::StatusCode;

use super::{endpoint_facts::EndpointFacts, endpoint_stats, scan::scan};
use crate::{
    handlers::PageResult,
    page,
    params::Link,
    sentence::{Html, Sentence},
    shell::Shell,
    statistics::EndpointStats,
    status_mark::StatusMark,
    texts::Texts,
    visit::Visit,
};

pub const PATH: &str = "/endpoints";
const ROWS: usize = 100;

#[derive(Template)]
#[template(path = "endpoints.html")]
struct EndpointsPage {
    t: Texts,
    s: Shell,
    query: String,
    state: String,
    tabs: Vec<Tab>,
    endpoints: Vec<EndpointFacts>,
    /// Statistics by the id of the endpoint.
    stats: HashMap<String, EndpointStats>,
    lead: Html,
    /// How many were read, if there are more.
    cut: Option<u64>,
    previous: Option<Link>,
    next: Option<Link>,
    is_narrow: bool,
}

impl EndpointsPage {
    /// Returns the page of an endpoint, limited to its tenant.
    fn href(&self, endpoint: &EndpointFacts) -> Link {
        let link = self.s.of(PATH, &endpoint.id);
        match &endpoint.tenant {
            Some(tenant) => link.with("tenant", tenant.as_str()),
            None => link,
        }
    }
}

struct Tab {
    label: Sentence,
    count: String,
    link: Link,
    is_current: bool,
}

const STATES: [&str; 5] = ["", "failing", "slow", "paused", "disabled"];

/// Whether an endpoint is listed in a tab. A paused one may fail or be slow as well.
fn is_in(state: &str, endpoint: &EndpointFacts) -> bool {
    match state {
        "failing" => endpoint.is_in_trouble(),
        "slow" => endpoint.is_active && endpoint.health.state == "slow",
        "paused" => endpoint.mark() == StatusMark::Paused,
        "disabled" => endpoint.mark() == StatusMark::Disabled,
        _ => true,
    }
}

pub async fn show(visit: Visit) -> PageResult {
    let t = visit.t;
    let (mut endpoints, has_more) = scan::<EndpointFacts>(&visit, "/v1/webhooks").await?;
    let looked_at = endpoints.len();
    let query = visit.params.text("q").to_owned();
    endpoints.retain(|one| one.matches(&query));
    let state = visit.params.get("state").unwrap_or_default().to_owned();
    let here = visit.link(PATH).with("q", &query);
    let tabs = STATES.map(|name| {
        let fits = |one: &&EndpointFacts| is_in(name, one);
        Tab {
            label: match name {
                "failing" => t.say("endpoint.state.failing"),
                "slow" => t.say("endpoint.state.slow"),
                "paused" => t.say("endpoint.state.paused"),
                "disabled" => t.say("endpoint.state.disabled"),
                _ => t.say("endpoints.all"),
            },
            count: t.number(endpoints.iter().filter(fits).count() as u64),
            link: here.clone().with("state", name),
            is_current: name == state,
        }
    });
    let lead = if query.is_empty() { lead(&t, &endpoints, has_more) } else { Html::default() };
    endpoints.retain(|one| is_in(&state, one));
    endpoints.sort_by_key(|one| trouble(one.mark()));
    let place = visit.params.get("page").and_then(|page| page.parse().ok()).unwrap_or(1).max(1);
    let page_at = |place: usize| here.clone().with("state", &state).with("page", place);
    let first = ROWS.saturating_mul(place - 1);
    let next = (endpoints.len() > first.saturating_add(ROWS)).then(|| page_at(place + 1));
    let endpoints: Vec<_> = endpoints.into_iter().skip(first).take(ROWS).collect();
    let template = EndpointsPage {
        t,
        s: Shell::new(&visit, PATH, t.say("nav.endpoints")).await,
        tabs: tabs.into(),
        stats: endpoint_stats::of_list(&visit, &endpoints).await,
        endpoints,
        lead,
        cut: has_more.then_some(looked_at as u64),
        previous: (place > 1).then(|| page_at(place - 1)),
        next,
        is_narrow: STATES[1..].contains(&&*state) || !query.is_empty(),
        query,
        state,
    };
    Ok(page::show(StatusCode::OK, &template))
}

/// Returns the answer first: whether any endpoint is in trouble.
fn lead(t: &Texts, endpoints: &[EndpointFacts], has_more: bool) -> Html {
    let failing = endpoints.iter().filter(|one| one.is_in_trouble()).count() as u64;
    let all = endpoints.len() as u64;
    match (all, failing) {
        (0, _) => Html::default(),
        (_, 0) if has_more => t.count("endpoints.fine_so_far", all).into(),
        (_, 0) => t.count("endpoints.fine", all).into(),
        _ => t.count("endpoints.failing", failing).with("all", t.number(all)).into(),
    }
}

pub const fn trouble(mark: StatusMark) -> u8 {
    match mark {
        StatusMark::Failed => 0,
        StatusMark::Warning => 1,
        StatusMark::Disabled => 2,
        StatusMark::Paused => 3,
        _ => 4,
    }
}
