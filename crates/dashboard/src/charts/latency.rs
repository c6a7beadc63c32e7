//! Percentiles of durations over time, on a logarithmic scale, distinguished by their dashes.

use std::fmt::Write;

use super::{WIDTH, line, newest, open, rect, scale::Decades};
use crate::{sentence::Html, statistics::Percentiles};

const HEIGHT: f64 = 90.0;

type Value = fn(Percentiles) -> f64;
/// The lines with their classes; the last one is on top.
const LINES: [(&str, Value); 3] = [
    ("p99", |one| one.p99.millis()),
    ("p95", |one| one.p95.millis()),
    ("p50", |one| one.median.millis()),
];

pub struct LatencyBin {
    pub percentiles: Option<Percentiles>,
    pub title: Html,
}

pub struct LatencyChart {
    pub svg: Html,
    /// The durations at the grid lines, from the top, in milliseconds.
    pub grid: Vec<f64>,
}

impl LatencyChart {
    pub fn draw(bins: &[LatencyBin], label: &Html) -> Self {
        let bins = newest(bins);
        let drawn = bins.iter().filter_map(|bin| bin.percentiles);
        let decades =
            Decades::around(drawn.flat_map(|one| [one.median.millis(), one.p99.millis()]));
        let mut svg = open("plot low", WIDTH, HEIGHT, label);
        for above in 0..decades.count {
            svg += &line("grid", HEIGHT / f64::from(decades.count) * f64::from(above));
        }
        svg += &line("axis", HEIGHT);
        for (class, value) in LINES {
            let heights: Vec<_> = bins
                .iter()
                .map(|bin| Some((1.0 - decades.place(value(bin.percentiles?))) * HEIGHT))
                .collect();
            let _ = write!(svg, "<path class=\"{class}\" d=\"{}\"/>", path(&heights));
        }
        let column = WIDTH / bins.len().max(1) as f64;
        for (place, bin) in bins.iter().enumerate() {
            let hit = rect("hit", place as f64 * column, 0.0, column, HEIGHT);
            let _ = write!(svg, "<g class=\"bin\">{hit}<title>{}</title></g>", bin.title);
        }
        Self { svg: Html::trusted(svg + "</svg>"), grid: decades.tops() }
    }
}

/// Returns a line through the middle of each bin, broken where a bin has no value. A value between two gaps
/// is a short dash.
fn path(heights: &[Option<f64>]) -> String {
    let column = WIDTH / heights.len().max(1) as f64;
    let at = |place: usize| heights.get(place).copied().flatten();
    let mut path = String::new();
    for (place, height) in heights.iter().enumerate() {
        let Some(y) = height else { continue };
        let x = (place as f64 + 0.5) * column;
        let follows = place > 0 && at(place - 1).is_some();
        let _ = match (follows, at(place + 1).is_some()) {
            (true, _) => write!(path, "L{x:.1} {y:.1}"),
            (false, true) => write!(path, "M{x:.1} {y:.1}"),
            (false, false) => write!(path, "M{:.1} {y:.1}h{:.1}", x - column / 2.0, column),
        };
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Estimate;

    #[test]
    fn lines_break_where_nothing_happened() {
        let heights = [Some(10.0), Some(20.0), None, Some(30.0), None, None];
        assert_eq!(path(&heights), "M80.0 10.0L240.0 20.0M480.0 30.0h160.0");
        assert_eq!(path(&[]), "");
    }

    #[test]
    fn larger_durations_are_higher() {
        let percentiles = Some(Percentiles {
            median: Estimate::Under(10.0),
            p95: Estimate::About(100.0),
            p99: Estimate::About(1_000.0),
        });
        let bins = [LatencyBin { percentiles, title: Html::default() }];
        let chart = LatencyChart::draw(&bins, &Html::default());
        let svg = chart.svg.into_string();
        assert_eq!(chart.grid, [1_000.0, 100.0, 10.0]);
        assert!(svg.contains(r#"<path class="p99" d="M0.0 0.0h960.0"/>"#), "{svg}");
        assert!(svg.contains(r#"<path class="p95" d="M0.0 30.0h960.0"/>"#), "{svg}");
        assert!(svg.contains(r#"<path class="p50" d="M0.0 60.0h960.0"/>"#), "{svg}");
    }
}
