//! The statistics of endpoints, for lists of endpoints and the page of one.

use std::{collections::HashMap, time::Duration};

use super::{endpoint_facts::EndpointFacts, list::List};
use crate::{
    charts::{self, bin_title},
    display_time::DisplayTime,
    params::Link,
    sentence::Html,
    statistics::{Bin, EndpointStats, Figures, Percentiles, Stats},
    texts::Texts,
    visit::Visit,
};

impl EndpointStats {
    /// Draws the last 24 hours, small enough for a row.
    pub fn strip(&self, t: &Texts) -> Html {
        self.draw("health", t)
    }

    /// Draws the same, as wide as a card.
    pub fn large_strip(&self, t: &Texts) -> Html {
        self.draw("health big", t)
    }

    fn draw(&self, class: &'static str, t: &Texts) -> Html {
        let label = t.say("chart.strip").with("share", self.totals.success(t));
        let label = label.with("failed", t.number(self.totals.failed_attempts));
        charts::strip(class, &self.bins, &[], &label.into())
    }
}

impl Figures {
    /// Returns the share of attempts that succeeded; empty without attempts.
    pub fn success(&self, t: &Texts) -> String {
        self.success_share.map_or_else(String::new, |share| t.percent(share))
    }

    /// Returns the share of attempts that failed.
    pub fn failure(&self, t: &Texts) -> String {
        self.success_share.map_or_else(String::new, |share| t.percent(1.0 - share))
    }

    /// Returns the 95th percentile of response times; empty without attempts.
    pub fn response_p95(&self, t: &Texts) -> String {
        self.response_time.map_or_else(String::new, |time| t.estimate(time.p95))
    }
}

/// Maximum endpoints of one call.
const MAX_NAMED: usize = 100;

/// Returns the statistics of endpoints by id. If they cannot be read, the list is shown without them.
pub async fn of_list(visit: &Visit, shown: &[EndpointFacts]) -> HashMap<String, EndpointStats> {
    let mut by_id = HashMap::new();
    for some in shown.chunks(MAX_NAMED) {
        let ids: Vec<_> = some.iter().map(|one| one.id.as_str()).collect();
        let link = Link::new("/v1/stats/webhooks").with("webhook_ids", ids.join(","));
        let list: List<EndpointStats> = visit.get(link).await.unwrap_or_default();
        by_id.extend(list.data.into_iter().map(|one| (one.webhook_id.clone(), one)));
    }
    by_id
}

const WEEK: u32 = 7;
const DAY: Duration = Duration::from_hours(24);

/// Seven days of an endpoint, by hour.
pub struct Week {
    pub strip: Html,
    pub ticks: Vec<&'static str>,
    pub totals: Figures,
}

impl Week {
    /// Reads the statistics; `None` if the endpoint was not tried.
    pub async fn read(visit: &Visit, id: &str) -> Option<Self> {
        let t = visit.t;
        let link = Link::new(format!("/v1/webhooks/{id}/stats"));
        let stats: Stats = visit.get(link.with("range", "7d").with("step", "1h")).await.ok()?;
        let totals = stats.totals;
        if totals.attempts == 0 {
            return None;
        }
        let title = |bin: &Bin| bin_title(&t, &bin.at.day_and_clock(&t), &bin.figures);
        let titles: Vec<_> = stats.bins.iter().map(title).collect();
        let label = t.say("chart.week").with("share", totals.success(&t));
        let label = label.with("failed", t.number(totals.failed_attempts));
        let tick = |day| DisplayTime::of(stats.since.time() + DAY * day).weekday(&t);
        Some(Self {
            strip: charts::strip("health big", &stats.bins, &titles, &label.into()),
            ticks: (0..=WEEK).map(tick).collect(),
            totals,
        })
    }

    /// Returns the median and the 95th percentile of response times.
    pub fn response_times(&self, t: &Texts) -> String {
        let shown =
            |time: Percentiles| format!("{}, {}", t.estimate(time.median), t.estimate(time.p95));
        self.totals.response_time.map_or_else(String::new, shown)
    }
}
