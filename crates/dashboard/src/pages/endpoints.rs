//! `/ui/endpoints`: which ones are in trouble?

use std::collections::HashMap;

use askama::Template;
use http::StatusCode;

use super::{endpoint_facts::EndpointFacts, endpoint_stats::StatsPage, list::List};
use crate::{
    dashboard::PageResult,
    mark::Mark,
    page,
    params::Link,
    sentence::{Html, Sentence},
    shell::Shell,
    statistics::EndpointStats,
    texts::Texts,
    visit::Visit,
};

pub const PATH: &str = "/endpoints";
const ROWS: usize = 200;

#[derive(Template)]
#[template(path = "endpoints.html")]
struct EndpointsPage {
    t: Texts,
    s: Shell,
    tabs: Vec<Tab>,
    endpoints: Vec<EndpointFacts>,
    /// By the id of the endpoint.
    stats: HashMap<String, EndpointStats>,
    lead: Html,
    next: Option<Link>,
    is_narrow: bool,
}

impl EndpointsPage {
    /// The page of an endpoint is one of its tenant's.
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
    count: usize,
    link: Link,
    is_current: bool,
}

const STATES: [(&str, Option<Mark>); 4] = [
    ("", None),
    ("failing", Some(Mark::Failed)),
    ("paused", Some(Mark::Paused)),
    ("disabled", Some(Mark::Disabled)),
];

pub async fn show(visit: Visit) -> PageResult {
    let t = visit.t;
    let link = Link::new("/v1/webhooks").with("limit", ROWS);
    let link = link.maybe("cursor", visit.params.get("cursor"));
    let List { data: mut endpoints, next_cursor } = visit.get::<List<EndpointFacts>>(link).await?;
    let state = visit.params.get("state").unwrap_or_default();
    let tabs = STATES.map(|(name, mark)| Tab {
        label: match name {
            "failing" => t.say("endpoint.state.failing"),
            "paused" => t.say("endpoint.state.paused"),
            "disabled" => t.say("endpoint.state.disabled"),
            _ => t.say("endpoints.all"),
        },
        count: endpoints.iter().filter(|one| mark.is_none_or(|mark| one.mark() == mark)).count(),
        link: visit.link(PATH).with("state", name),
        is_current: name == state,
    });
    let lead = lead(&t, &endpoints);
    let mark = STATES.iter().find(|(name, _)| *name == state).and_then(|(_, mark)| *mark);
    endpoints.retain(|one| mark.is_none_or(|mark| one.mark() == mark));
    endpoints.sort_by_key(|one| trouble(one.mark()));
    let stats = StatsPage::read(&visit, ROWS).await;
    let next = next_cursor.map(|cursor| {
        let next = visit.link(PATH).with("state", state).with("cursor", cursor);
        next.maybe(StatsPage::CURSOR, stats.next_cursor.as_deref())
    });
    let template = EndpointsPage {
        t,
        s: Shell::new(&visit, PATH, t.say("nav.endpoints")).await,
        tabs: tabs.into(),
        endpoints,
        stats: stats.by_endpoint,
        lead,
        next,
        is_narrow: mark.is_some(),
    };
    Ok(page::show(StatusCode::OK, &template))
}

/// The answer first: whether any endpoint is in trouble.
fn lead(t: &Texts, endpoints: &[EndpointFacts]) -> Html {
    let failing = endpoints.iter().filter(|one| one.mark() == Mark::Failed).count() as u64;
    let all = endpoints.len() as u64;
    match (all, failing) {
        (0, _) => Html::default(),
        (_, 0) => t.count("endpoints.fine", all).into(),
        _ => t.count("endpoints.failing", failing).with("all", t.number(all)).into(),
    }
}

pub const fn trouble(mark: Mark) -> u8 {
    match mark {
        Mark::Failed => 0,
        Mark::Warning => 1,
        Mark::Disabled => 2,
        Mark::Paused => 3,
        _ => 4,
    }
}
