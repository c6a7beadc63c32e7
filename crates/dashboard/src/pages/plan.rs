//! `/portal/plan`: how much of the plan is used, and where deliveries come from.

use askama::Template;
use http::StatusCode;
use serde::Deserialize;

use crate::{
    display_time::DisplayTime,
    escape::Text,
    handlers::PageResult,
    page,
    params::Link,
    sentence::Html,
    shell::Shell,
    texts::Texts,
    visit::{ApiResult, Visit},
};

pub const PATH: &str = "/plan";

#[derive(Deserialize)]
pub struct PlanUsage {
    plan: Text,
    events: EventUsage,
    endpoints: EndpointUsage,
}

#[derive(Deserialize)]
struct EventUsage {
    used: Option<u64>,
    limit: Option<u64>,
    resets_at: DisplayTime,
}

#[derive(Deserialize)]
struct EndpointUsage {
    used: u64,
    limit: Option<u64>,
}

/// The used part of a limit.
pub struct Meter {
    pub used: u64,
    pub limit: u64,
}

impl Meter {
    /// Returns the meter; `None` without a limit.
    fn of(used: Option<u64>, limit: Option<u64>) -> Option<Self> {
        Some(Self { used: used?, limit: limit? })
    }

    fn is_full(&self) -> bool {
        self.used >= self.limit
    }

    /// Returns the scale of the drawing, which exists for a limit of zero too.
    fn scale(&self) -> u64 {
        self.limit.max(1)
    }

    fn drawn(&self) -> u64 {
        if self.limit == 0 { 1 } else { self.used.min(self.limit) }
    }

    fn sentence(&self, t: &Texts) -> Html {
        let sentence = t.say("portal.used_of").with("used", t.number(self.used));
        sentence.with("limit", t.number(self.limit)).into()
    }
}

impl PlanUsage {
    pub async fn read(visit: &Visit) -> ApiResult<Self> {
        visit.get(Link::new("/v1/usage")).await
    }

    fn events(&self) -> Option<Meter> {
        Meter::of(self.events.used, self.events.limit)
    }

    fn endpoints(&self) -> Option<Meter> {
        Meter::of(Some(self.endpoints.used), self.endpoints.limit)
    }

    /// Returns the used events, with the limit if there is one.
    pub fn events_used(&self, t: &Texts) -> Html {
        self.events().map_or_else(|| t.say("portal.no_limit").into(), |meter| meter.sentence(t))
    }

    pub fn endpoints_used(&self, t: &Texts) -> Html {
        match self.endpoints() {
            Some(meter) => meter.sentence(t),
            None => Html::text(t.number(self.endpoints.used)),
        }
    }

    pub fn resets_at(&self) -> &DisplayTime {
        &self.events.resets_at
    }

    /// Returns a summary in one line; `None` if the plan has no limit.
    pub fn summary(&self, t: &Texts) -> Option<Html> {
        let sentence = match (self.events(), self.endpoints()) {
            (Some(events), Some(endpoints)) => t
                .say("portal.summary")
                .html("events", events.sentence(t))
                .html("endpoints", endpoints.sentence(t)),
            (Some(events), None) => {
                t.say("portal.summary_events").html("events", events.sentence(t))
            }
            (None, Some(endpoints)) => {
                t.say("portal.summary_endpoints").html("endpoints", endpoints.sentence(t))
            }
            (None, None) => return None,
        };
        Some(sentence.into())
    }
}

#[derive(Deserialize)]
struct EgressAddresses {
    addresses: Vec<Text>,
}

#[derive(Template)]
#[template(path = "plan.html")]
struct PlanPage {
    t: Texts,
    s: Shell,
    usage: PlanUsage,
    addresses: Vec<Text>,
}

pub async fn show(visit: Visit) -> PageResult {
    let t = visit.t;
    let egress: EgressAddresses = visit.get(Link::new("/v1/egress-addresses")).await?;
    let template = PlanPage {
        t,
        usage: PlanUsage::read(&visit).await?,
        addresses: egress.addresses,
        s: Shell::new(&visit, PATH, t.say("portal.plan")).await,
    };
    Ok(page::show(StatusCode::OK, &template))
}
