//! The description of a bin under the pointer.

use crate::{sentence::Html, statistics::Figures, texts::Texts};

pub fn bin_title(t: &Texts, at: &str, figures: &Figures) -> Html {
    t.say("chart.bin")
        .with("time", at)
        .with("delivered", t.number(figures.delivered))
        .with("failed", t.number(figures.failed_attempts))
        .with("dead", t.number(figures.dead_letters))
        .into()
}
