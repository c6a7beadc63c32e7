//! What happened in a window of time, above the list: counts by status and a small histogram, from the statistics.
//! A bin leads to its deliveries.

use std::fmt::Write;

use super::{super::overview::range::Range, Filter};
use crate::{
    charts::bin_title,
    moment::Moment,
    params::Link,
    sentence::Html,
    statistics::{Bin, Figures, Stats},
    texts::Texts,
    visit::Visit,
};

const DEFAULT: Range = Range::Day;
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 48.0;
/// Failed attempts go down from here.
const BASELINE: f64 = 36.0;
const GAP: f64 = 1.0;

pub struct Histogram {
    pub svg: Html,
    pub range: Range,
    pub ranges: Vec<(Range, Link)>,
    pub since: String,
    pub totals: Figures,
}

impl Histogram {
    /// Nothing if the statistics know less than the filter asks for, or cannot be read.
    pub async fn read(visit: &Visit, filter: &Filter) -> Option<Self> {
        if !filter.is_in_statistics(visit) {
            return None;
        }
        let range = filter.range.as_deref().and_then(Range::named).unwrap_or(DEFAULT);
        let link = Link::new("/v1/stats").with("range", range.name()).with("lane", "webhook");
        let stats: Stats =
            visit.get(link.maybe("webhook_id", filter.endpoint.as_deref())).await.ok()?;
        let t = visit.t;
        let here = filter.link(visit);
        let ranges = Range::ALL.map(|one| (one, here.clone().with("range", one.name())));
        let clock = |at: &Moment| range.clock(&t, at);
        Some(Self {
            svg: draw(&t, &stats, &here, &clock),
            range,
            ranges: ranges.into(),
            since: clock(&stats.since),
            totals: stats.totals,
        })
    }

    /// How many deliveries of a status the window has, where that is counted.
    pub fn count(&self, t: &Texts, status: &str) -> Option<String> {
        let count = match status {
            "" => self.totals.accepted,
            "delivered" => self.totals.delivered,
            "failed" => self.totals.dead_letters,
            _ => return None,
        };
        Some(t.number(count))
    }
}

fn draw(t: &Texts, stats: &Stats, here: &Link, clock: &dyn Fn(&Moment) -> String) -> Html {
    let max = |value: fn(&Bin) -> u64| stats.bins.iter().map(value).max().unwrap_or(0).max(1);
    let max_up = max(|bin| bin.figures.delivered) as f64;
    let max_down = max(|bin| bin.figures.failed_attempts) as f64;
    let label: Html = t
        .say("histogram.label")
        .with("since", clock(&stats.since))
        .with("until", clock(&stats.until))
        .into();
    let mut svg = format!(
        "<svg class=\"plot tiny\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"group\" aria-label=\"{label}\">"
    );
    let column = WIDTH / stats.bins.len().max(1) as f64;
    for (place, bin) in stats.bins.iter().enumerate() {
        let (left, width) = (place as f64 * column, column * 0.76);
        let until = bin.at.time() + stats.step();
        let link = here.clone().with("since", bin.at.time()).with("until", until);
        let title = bin_title(t, &clock(&bin.at), &bin.figures);
        let _ = write!(
            svg,
            "<a class=\"bin\" href=\"{}\" tabindex=\"-1\"><title>{title}</title><rect class=\"hit\" x=\"{left:.1}\" y=\"0\" width=\"{column:.1}\" height=\"{HEIGHT}\"/>",
            Html::text(link)
        );
        let up = visible(bin.figures.delivered, max_up, BASELINE);
        let down = visible(bin.figures.failed_attempts, max_down, HEIGHT - BASELINE - GAP);
        for (class, y, height) in [("up", BASELINE - up, up), ("down", BASELINE + GAP, down)] {
            if height > 0.0 {
                let _ = write!(
                    svg,
                    "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
                );
            }
        }
        svg += "</a>";
    }
    Html::trusted(svg + "</svg>")
}

/// What is not zero stays visible.
fn visible(value: u64, max: f64, room: f64) -> f64 {
    if value == 0 { 0.0 } else { (value as f64 / max * room).max(2.0) }
}
