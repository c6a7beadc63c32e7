//! Shows what happened in a window of time above the list: counts by status and a small histogram, from the
//! statistics. A bin links to its deliveries.

use std::fmt::Write;

use gancho_domain::Time;

use super::{super::overview::range::Range, Filter};
use crate::{
    charts::bin_title,
    display_time::DisplayTime,
    params::Link,
    sentence::Html,
    statistics::{Bin, Figures, Stats},
    texts::Texts,
    visit::Visit,
};

const DEFAULT: Range = Range::Day;
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 48.0;
/// Failed attempts are drawn downwards from here.
const BASELINE: f64 = 36.0;
const GAP: f64 = 1.0;

/// What the bars show: everything, or what has the status of the filter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BarContent {
    All,
    Delivered,
    Dead,
}

impl BarContent {
    fn up(self, figures: &Figures) -> u64 {
        if self == Self::Dead { 0 } else { figures.delivered }
    }

    fn down(self, figures: &Figures) -> u64 {
        match self {
            Self::All => figures.failed_attempts,
            Self::Delivered => 0,
            Self::Dead => figures.dead_letters,
        }
    }
}

pub struct Histogram {
    shows: BarContent,
    pub svg: Html,
    pub range: Range,
    pub ranges: Vec<(Range, Link)>,
    pub since: String,
    pub totals: Figures,
    /// Whether the filter has its own time, which the sums of the whole window do not cover.
    pub is_narrowed: bool,
}

impl Histogram {
    /// Reads the histogram; `None` if the statistics do not cover the filter, or cannot be read.
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
        let clock = |at: &DisplayTime| range.clock(&t, at);
        let shows = match filter.status.as_deref() {
            Some("delivered") => BarContent::Delivered,
            Some("failed") => BarContent::Dead,
            _ => BarContent::All,
        };
        let selected = (time(filter.since.as_deref()), time(filter.until.as_deref()));
        Some(Self {
            svg: draw(&t, &stats, shows, selected, &here, &clock),
            is_narrowed: selected.0.is_some() || selected.1.is_some(),
            shows,
            range,
            ranges: ranges.into(),
            // The window may begin on another day.
            since: stats.since.day_and_clock(&t),
            totals: stats.totals,
        })
    }

    /// Returns what happened in the window, as far as the filter selects it.
    pub fn sum(&self, t: &Texts) -> Html {
        let totals = &self.totals;
        let sum = match self.shows {
            BarContent::All => t
                .say("histogram.sum")
                .with("accepted", t.number(totals.accepted))
                .with("delivered", t.number(totals.delivered))
                .with("dead", t.number(totals.dead_letters)),
            BarContent::Delivered => t.count("histogram.delivered", totals.delivered),
            BarContent::Dead => t.count("histogram.dead", totals.dead_letters),
        };
        sum.into()
    }
}

fn time(text: Option<&str>) -> Option<Time> {
    let moment = serde_json::from_value::<DisplayTime>(text?.into()).ok()?;
    Some(moment.time())
}

/// Draws the bins. Those outside of the selected time are faint.
fn draw(
    t: &Texts,
    stats: &Stats,
    shows: BarContent,
    selected: (Option<Time>, Option<Time>),
    here: &Link,
    clock: &dyn Fn(&DisplayTime) -> String,
) -> Html {
    let max = |value: &dyn Fn(&Bin) -> u64| stats.bins.iter().map(value).max().unwrap_or(0).max(1);
    let max_up = max(&|bin| shows.up(&bin.figures)) as f64;
    let max_down = max(&|bin| shows.down(&bin.figures)) as f64;
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
        let is_out = selected.0.is_some_and(|since| until <= since)
            || selected.1.is_some_and(|end| bin.at.time() >= end);
        let out = if is_out { " out" } else { "" };
        let title = bin_title(t, &clock(&bin.at), &bin.figures);
        let _ = write!(
            svg,
            "<a class=\"bin{out}\" href=\"{}\" tabindex=\"-1\"><title>{title}</title><rect class=\"hit\" x=\"{left:.1}\" y=\"0\" width=\"{column:.1}\" height=\"{HEIGHT}\"/>",
            Html::text(link)
        );
        let up = visible(shows.up(&bin.figures), max_up, BASELINE);
        let down = visible(shows.down(&bin.figures), max_down, HEIGHT - BASELINE - GAP);
        let below = if shows == BarContent::Dead { "dead" } else { "down" };
        for (class, y, height) in [("up", BASELINE - up, up), (below, BASELINE + GAP, down)] {
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

/// Returns a length. A value above zero is always visible.
fn visible(value: u64, max: f64, room: f64) -> f64 {
    if value == 0 { 0.0 } else { (value as f64 / max * room).max(2.0) }
}
