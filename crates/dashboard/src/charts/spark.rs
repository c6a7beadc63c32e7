//! A line without axes beside a figure, which has the number.

use std::fmt::Write;

use crate::sentence::Html;

const HEIGHT: f64 = 28.0;
const TOP: f64 = 4.0;
const BOTTOM: f64 = 26.0;

/// Draws the line; nothing if there are fewer than two values. Skips bins without one.
pub fn spark(values: &[Option<f64>]) -> Html {
    let known: Vec<_> =
        values.iter().enumerate().filter_map(|(place, value)| Some((place, (*value)?))).collect();
    let (Some(first), Some(last)) = (known.first(), known.last()) else { return Html::default() };
    if first.0 == last.0 {
        return Html::default();
    }
    let x = |place: usize| place as f64 / (values.len() - 1) as f64 * 100.0;
    let (min, max) = known.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), one| {
        (min.min(one.1), max.max(one.1))
    });
    let y = |value: f64| {
        if max > min { BOTTOM - (value - min) / (max - min) * (BOTTOM - TOP) } else { BOTTOM }
    };
    let mut line = String::new();
    for (index, (place, value)) in known.iter().enumerate() {
        let step = if index == 0 { 'M' } else { 'L' };
        let _ = write!(line, "{step}{:.1} {:.1}", x(*place), y(*value));
    }
    let (left, right) = (x(first.0), x(last.0));
    Html::trusted(format!(
        "<svg class=\"spark\" viewBox=\"0 0 100 {HEIGHT}\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><path class=\"area\" d=\"{line}L{right:.1} {HEIGHT}L{left:.1} {HEIGHT}Z\"/><path d=\"{line}\"/></svg>"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_spans_the_values() {
        let html = spark(&[Some(0.0), None, Some(10.0)]).into_string();
        assert!(html.contains("<path d=\"M0.0 26.0L100.0 4.0\"/>"), "{html}");
        assert!(html.contains("d=\"M0.0 26.0L100.0 4.0L100.0 28L0.0 28Z\""), "{html}");
        let flat = spark(&[Some(3.0), Some(3.0)]).into_string();
        assert!(flat.contains("M0.0 26.0L100.0 26.0"), "{flat}");
        for few in [&[][..], &[None, None], &[Some(1.0), None]] {
            assert!(spark(few).is_empty());
        }
    }
}
