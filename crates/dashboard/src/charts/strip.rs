//! The health of an endpoint in a strip: delivered upwards, the share of failed attempts downwards.

use std::fmt::Write;

use super::{open, rect, scale::length};
use crate::{sentence::Html, statistics::Bin};

const COLUMN: f64 = 6.0;
const BAR: f64 = 4.2;
const BASELINE: f64 = 16.0;
const DOWN: f64 = 7.5;
const HEIGHT: f64 = 24.0;

/// Draws the strip. `titles` describes each bin; a small strip has none.
pub fn strip(class: &str, bins: &[Bin], titles: &[Html], label: &Html) -> Html {
    let max = bins.iter().map(|bin| bin.figures.delivered).max().unwrap_or(0);
    let mut svg = open(class, COLUMN * bins.len().max(1) as f64, HEIGHT, label);
    for (place, bin) in bins.iter().enumerate() {
        let left = place as f64 * COLUMN;
        let x = left + (COLUMN - BAR) / 2.0;
        let figures = &bin.figures;
        let up = length(figures.delivered, max, BASELINE - 0.5);
        let down = length(figures.failed_attempts, figures.attempts, DOWN);
        if let Some(title) = titles.get(place) {
            svg += "<g class=\"bin\">";
            svg += &rect("hit", left, 0.0, COLUMN, HEIGHT);
            let _ = write!(svg, "<title>{title}</title>");
        }
        if figures.attempts == 0 {
            svg += &rect("none", x, BASELINE - 0.7, BAR, 0.7);
        }
        svg += &rect("up", x, BASELINE - up, BAR, up);
        svg += &rect("down", x, BASELINE + 0.5, BAR, down);
        if titles.get(place).is_some() {
            svg += "</g>";
        }
    }
    Html::trusted(svg + "</svg>")
}

#[cfg(test)]
mod tests {
    use gancho_domain::Time;

    use super::*;
    use crate::{display_time::DisplayTime, statistics::Figures};

    #[test]
    fn failures_are_drawn_by_their_share() {
        let bin = |delivered, failed_attempts| Bin {
            at: DisplayTime::of(Time::from_secs(0)),
            figures: Figures {
                delivered,
                failed_attempts,
                attempts: delivered + failed_attempts,
                ..Figures::default()
            },
        };
        let bins = [bin(0, 0), bin(31, 0), bin(5, 5), bin(0, 2)];
        let svg = strip("health", &bins, &[], &Html::text("a")).into_string();
        assert!(svg.contains("viewBox=\"0 0 24 24\""), "{svg}");
        assert!(svg.contains(r#"class="none" x="0.9" y="15.3" width="4.2" height="0.7""#), "{svg}");
        assert!(svg.contains(r#"class="up" x="6.9" y="0.5" width="4.2" height="15.5""#), "{svg}");
        assert!(
            svg.contains(r#"class="down" x="12.9" y="16.5" width="4.2" height="3.8""#),
            "{svg}"
        );
        assert!(
            svg.contains(r#"class="down" x="18.9" y="16.5" width="4.2" height="7.5""#),
            "{svg}"
        );
        assert!(!svg.contains("<title>"));
        let titles = vec![Html::text("x"); 4];
        let svg = strip("health big", &bins, &titles, &Html::default()).into_string();
        assert_eq!(svg.matches("<title>x</title>").count(), 4);
    }
}
