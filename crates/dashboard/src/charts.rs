//! Draws statistics on the server, as SVG without style or script. HTML beside them has the texts.

mod latency;
mod mirror;
mod scale;
mod spark;
mod strip;
mod title;

pub use latency::{LatencyBin, LatencyChart};
pub use mirror::{MirrorBin, MirrorChart};
pub use spark::spark;
pub use strip::strip;
pub use title::bin_title;

use crate::sentence::Html;

/// Maximum bins of a chart.
pub const MAX_BINS: usize = 96;
/// The width of a chart in its own units; pages stretch it.
const WIDTH: f64 = 960.0;

/// Returns the newest bins that a chart has room for.
fn newest<T>(bins: &[T]) -> &[T] {
    &bins[bins.len().saturating_sub(MAX_BINS)..]
}

/// Starts a drawing that a sentence describes.
fn open(class: &str, width: f64, height: f64, label: &Html) -> String {
    format!(
        "<svg class=\"{class}\" viewBox=\"0 0 {width} {height}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{label}\">"
    )
}

/// Draws a horizontal line through the whole chart.
fn line(class: &str, y: f64) -> String {
    format!("<line class=\"{class}\" x1=\"0\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>")
}

/// Draws a rectangle; nothing if it has no height.
fn rect(class: &str, x: f64, y: f64, width: f64, height: f64) -> String {
    if height <= 0.0 {
        return String::new();
    }
    format!(
        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
    )
}
