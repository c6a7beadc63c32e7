//! Mirror bars: delivered upwards, failed downwards, each with its own scale.

use std::fmt::Write;

use super::{
    WIDTH, line, newest, open, rect,
    scale::{length, round_up},
};
use crate::sentence::Html;

const HEIGHT: f64 = 160.0;
const BASELINE: f64 = 118.0;
/// Room for the axis between the bars.
const GAP: f64 = 2.0;
const DOWN: f64 = HEIGHT - BASELINE - GAP;
/// The part of a column that its bar fills.
const FILL: f64 = 0.72;

pub struct MirrorBin {
    pub up: u64,
    pub down: u64,
    /// How many of the failed ones were given up.
    pub dead: u64,
    pub title: Html,
}

pub struct MirrorChart {
    pub svg: Html,
    /// The ends of the two scales.
    pub max_up: u64,
    pub max_down: u64,
}

impl MirrorChart {
    pub fn draw(bins: &[MirrorBin], label: &Html) -> Self {
        let bins = newest(bins);
        let max_up = round_up(bins.iter().map(|bin| bin.up).max().unwrap_or(0));
        let max_down = round_up(bins.iter().map(|bin| bin.down.max(bin.dead)).max().unwrap_or(0));
        let mut svg = open("plot", WIDTH, HEIGHT, label);
        svg += &line("grid", 0.0);
        svg += &line("grid", BASELINE / 2.0);
        let column = WIDTH / bins.len().max(1) as f64;
        for (place, bin) in bins.iter().enumerate() {
            let left = place as f64 * column;
            let (x, width) = (left + column * (1.0 - FILL) / 2.0, column * FILL);
            let up = length(bin.up, max_up, BASELINE);
            let dead = length(bin.dead, max_down, DOWN);
            let down = length(bin.down, max_down, DOWN).max(dead);
            let under = BASELINE + GAP;
            svg += "<g class=\"bin\">";
            svg += &rect("hit", left, 0.0, column, HEIGHT);
            svg += &rect("up", x, BASELINE - up, width, up);
            svg += &rect("down", x, under, width, down - dead);
            svg += &rect("dead", x, under + down - dead, width, dead);
            let _ = write!(svg, "<title>{}</title></g>", bin.title);
        }
        svg += &line("axis", BASELINE + GAP / 2.0);
        Self { svg: Html::trusted(svg + "</svg>"), max_up, max_down }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bin(up: u64, down: u64, dead: u64) -> MirrorBin {
        MirrorBin { up, down, dead, title: Html::text(format!("<{up}>")) }
    }

    #[test]
    fn bars_grow_from_the_axis() {
        let chart = MirrorChart::draw(&[bin(50, 0, 0), bin(100, 4, 1)], &Html::text("a\"b"));
        let svg = chart.svg.into_string();
        assert_eq!((chart.max_up, chart.max_down), (100, 4));
        assert!(svg.contains("aria-label=\"a&quot;b\""), "{svg}");
        assert!(
            svg.contains(r#"class="up" x="67.2" y="59.0" width="345.6" height="59.0""#),
            "{svg}"
        );
        assert!(
            svg.contains(r#"class="up" x="547.2" y="0.0" width="345.6" height="118.0""#),
            "{svg}"
        );
        assert!(svg.contains(r#"class="down" x="547.2" y="120.0" width="345.6" height="30.0""#));
        assert!(svg.contains(r#"class="dead" x="547.2" y="150.0" width="345.6" height="10.0""#));
        assert!(svg.contains("<title>&lt;50&gt;</title>"));
        assert_eq!(svg.matches("class=\"down\"").count(), 1, "zeros are not drawn");
    }

    #[test]
    fn there_are_at_most_96_columns() {
        let bins: Vec<_> = (0..200).map(|up| bin(up, 0, 0)).collect();
        let svg = MirrorChart::draw(&bins, &Html::default()).svg.into_string();
        assert_eq!(svg.matches("<g class=\"bin\">").count(), 96);
        assert!(svg.contains("&lt;199&gt;"), "the newest are kept");
        assert!(!MirrorChart::draw(&[], &Html::default()).svg.into_string().contains("NaN"));
    }
}
