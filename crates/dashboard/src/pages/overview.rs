//! `/ui/`: is everything flowing, and if not, what comes first?

mod failing;
mod needs;
pub mod range;
mod tenants;
mod tiles;
mod traffic;

use std::sync::Arc;

use askama::Template;
use http::StatusCode;
use serde::Deserialize;

use self::{failing::FailingEndpoint, needs::Cause, range::Range, tiles::Tile, traffic::Traffic};
use super::{first_run::FirstRunPage, queues::Queue};
use crate::{
    escape::Text,
    handlers::PageResult,
    page,
    params::Link,
    sentence::Html,
    shell::Shell,
    statistics::{Counts, Stats},
    tenant_shares::TenantShares,
    texts::{Rate, Texts},
    visit::{ApiResult, Visit},
};

const PATH: &str = "/";

/// The lanes and pauses of the gateway.
#[derive(Deserialize)]
struct Queues {
    data: Vec<Queue>,
    paused_tenants: Vec<Text>,
    paused_webhooks: Vec<Text>,
}

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    t: Texts,
    s: Shell,
    ranges: Vec<(Range, Link)>,
    range: Range,
    headline: Html,
    causes: Vec<Cause>,
    /// The causes after the first ones.
    more_causes: Vec<Cause>,
    tiles: Vec<Tile>,
    traffic: Traffic,
    failing: Vec<FailingEndpoint>,
    queues: Vec<Queue>,
    /// The shares of all tenants; `None` if the page is limited to one.
    shares: Option<Arc<TenantShares>>,
}

pub async fn show(visit: Visit) -> PageResult {
    let t = visit.t;
    let range = Range::read(&visit.params)?;
    if let Some(template) = FirstRunPage::read(&visit).await? {
        return Ok(page::show(StatusCode::OK, &template));
    }
    let stats: Stats = visit.get(Link::new("/v1/stats").with("range", range.name())).await?;
    let before = before(&visit, range, &stats).await?;
    let queues: Queues = visit.get_as_operator(Link::new("/v1/queues")).await?;
    let failing = FailingEndpoint::read(&visit).await?;
    let shares = match visit.tenant {
        Some(_) => None,
        None => tenants::read(&visit, range).await,
    };
    let dead = needs::DeadStats::read(&visit, None).await?;
    let mut causes = needs::causes(&visit, &failing, &dead, &queues).await?;
    let needs = causes.len() as u64;
    let headline = headline(&t, range, &stats, needs);
    let mut s = Shell::new(&visit, PATH, t.say("nav.overview")).await;
    s.needs = Some(needs);
    let more_causes = causes.split_off(causes.len().min(needs::MAX_CAUSES));
    let template = OverviewPage {
        t,
        s,
        ranges: Range::ALL
            .map(|range| (range, visit.link(PATH).with("range", range.name())))
            .into(),
        range,
        headline,
        causes,
        more_causes,
        tiles: tiles::tiles(&visit, range, &stats, before, &queues.data, dead.total),
        traffic: Traffic::draw(&t, range, stats),
        failing,
        queues: queues.data,
        shares,
    };
    Ok(page::show(StatusCode::OK, &template))
}

/// Returns what happened in the previous range, if statistics reach that far.
async fn before(visit: &Visit, range: Range, stats: &Stats) -> ApiResult<Option<Counts>> {
    let Some((wider, step)) = range.wider() else { return Ok(None) };
    let link = Link::new("/v1/stats").with("range", wider).with("step", step);
    let wider: Stats = visit.get(link).await?;
    let bins = range.length().as_secs() / wider.step().as_secs().max(1);
    Ok(wider.before(stats.since.time(), bins as usize).filter(|counts| counts.delivered > 0))
}

/// Returns the answer to the question of the page.
fn headline(t: &Texts, range: Range, stats: &Stats, causes: u64) -> Html {
    let counts = stats.totals.counts();
    let flow = match counts.first_share().filter(|_| counts.delivered > 0) {
        Some(share) => {
            let Rate { number, unit } = t.rate(counts.delivered, stats.elapsed(t.now));
            let flow = match unit {
                "/s" => t.say("overview.flow_second"),
                "/min" => t.say("overview.flow_minute"),
                "/h" => t.say("overview.flow_hour"),
                _ => t.say("overview.flow_day"),
            };
            flow.with("n", number).with("share", t.percent(share))
        }
        None if stats.totals.attempts > 0 => t.say("overview.flow_failing").with("range", range),
        None => t.say("overview.flow_none").with("range", range),
    };
    let needs = match causes {
        0 => t.say("overview.nothing_needed"),
        causes => t.count("overview.needed", causes),
    };
    Html::trusted(format!("{flow} {needs}"))
}
