//! The charts of a range, and the same numbers as a table.

use super::range::Range;
use crate::{
    charts::{LatencyBin, LatencyChart, MirrorBin, MirrorChart, bin_title},
    display_time::DisplayTime,
    sentence::{Html, Sentence},
    statistics::{Bin, Percentiles, Stats},
    texts::Texts,
};

pub struct Traffic {
    pub deliveries: MirrorChart,
    pub latency: LatencyChart,
    /// The labels of the time axis.
    pub ticks: Vec<String>,
    /// The length of a bin.
    pub step: String,
    pub stats: Stats,
}

impl Traffic {
    pub fn draw(t: &Texts, range: Range, stats: Stats) -> Self {
        let step = t.span(stats.step());
        let clock = |at: &DisplayTime| range.clock(t, at);
        let totals = &stats.totals;
        let describe = |sentence: Sentence| {
            let sentence = sentence.with("step", &step).with("since", clock(&stats.since));
            sentence.with("until", clock(&stats.until))
        };
        let label = describe(t.say("overview.chart_label"))
            .with("delivered", t.number(totals.delivered))
            .with("failed", t.number(totals.failed_attempts))
            .with("dead", t.number(totals.dead_letters));
        let bars: Vec<_> = stats
            .bins
            .iter()
            .map(|bin| MirrorBin {
                up: bin.figures.delivered,
                down: bin.figures.failed_attempts,
                dead: bin.figures.dead_letters,
                title: bin_title(t, &clock(&bin.at), &bin.figures),
            })
            .collect();
        let points: Vec<_> = stats
            .bins
            .iter()
            .map(|bin| LatencyBin {
                percentiles: bin.figures.response_time,
                title: latency_title(t, clock(&bin.at), bin.figures.response_time),
            })
            .collect();
        let latency_label = match totals.response_time {
            Some(time) => describe(percentiles(t.say("overview.latency_label"), t, time)),
            None => t.say("overview.no_attempts"),
        };
        Self {
            deliveries: MirrorChart::draw(&bars, &label.into()),
            latency: LatencyChart::draw(&points, &latency_label.into()),
            ticks: ticks(t, range, &stats),
            step,
            stats,
        }
    }

    pub fn max_down(&self, t: &Texts) -> Sentence {
        t.say("overview.failed_down").with("n", t.number(self.deliveries.max_down))
    }

    pub fn max_up(&self, t: &Texts) -> Sentence {
        let end = t.say("overview.scale").with("n", t.number(self.deliveries.max_up));
        end.with("step", &self.step)
    }

    /// Returns the labels of the grid of response times, from the top.
    pub fn grid(&self, t: &Texts) -> Vec<String> {
        let label = |millis: &f64| {
            if *millis < 1_000.0 {
                format!("{millis} ms")
            } else {
                format!("{} s", t.number(*millis as u64 / 1_000))
            }
        };
        self.latency.grid.iter().map(label).collect()
    }

    /// Returns the rows of the table, newest first.
    pub fn rows(&self, t: &Texts) -> Vec<(Html, Vec<String>)> {
        let row = |bin: &Bin| {
            let figures = &bin.figures;
            let counts = [
                figures.accepted,
                figures.delivered,
                figures.delivered_at_first_attempt,
                figures.failed_attempts,
                figures.dead_letters,
            ];
            let mut cells: Vec<_> = counts.iter().map(|count| t.number(count)).collect();
            let times = figures.response_time.map(|time| [time.median, time.p95, time.p99]);
            let time = |place: usize| times.map_or_else(String::new, |all| t.estimate(all[place]));
            cells.extend((0..3).map(time));
            (t.time(&bin.at), cells)
        };
        self.stats.bins.iter().rev().map(row).collect()
    }
}

fn percentiles(sentence: Sentence, t: &Texts, time: Percentiles) -> Sentence {
    let sentence = sentence.with("p50", t.estimate(time.median)).with("p95", t.estimate(time.p95));
    sentence.with("p99", t.estimate(time.p99))
}

fn latency_title(t: &Texts, at: String, time: Option<Percentiles>) -> Html {
    let title = match time {
        Some(time) => percentiles(t.say("overview.latency_bin"), t, time),
        None => t.say("overview.latency_none"),
    };
    title.with("time", at).into()
}

fn ticks(t: &Texts, range: Range, stats: &Stats) -> Vec<String> {
    let interval = range.length() / range.intervals();
    let label = |place| {
        let at = DisplayTime::of(stats.since.time() + interval * place);
        match range {
            Range::Week => at.weekday(t).to_owned(),
            Range::Month => at.day(t),
            _ => at.clock(),
        }
    };
    (0..=range.intervals()).map(label).collect()
}
