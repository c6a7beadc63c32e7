//! The known name that someone probably meant.

/// The nearest of the names, if it is near enough to be what was meant: a third of the letters may
/// differ.
pub fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A name as long as a book is nobody's typing error.
    if wrong.len() > 64 {
        return None;
    }
    let wrong = fold(wrong);
    let near = names.into_iter().map(|name| (distance(&wrong, &fold(name)), name));
    let (steps, name) = near.min()?;
    (steps <= wrong.len().max(name.len()) / 3).then_some(name)
}

/// `eventType`, `event-type` and `event_type` are the same to whoever types them.
fn fold(name: &str) -> Vec<u8> {
    name.bytes()
        .filter(|byte| !matches!(byte, b'_' | b'-'))
        .map(|b| b.to_ascii_lowercase())
        .collect()
}

/// How many letters must be put in, taken out or changed.
fn distance(left: &[u8], right: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, a) in left.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (place, b) in right.iter().enumerate() {
            let change = diagonal + usize::from(a != b);
            diagonal = row[place + 1];
            row[place + 1] = change.min(row[place] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 5] = ["url", "events", "event_type", "is_active", "max_in_flight"];

    #[test]
    fn what_was_meant() {
        for (wrong, meant) in [
            ("event", "events"),
            ("eventType", "event_type"),
            ("isActive", "is_active"),
            ("urll", "url"),
            ("max-inflight", "max_in_flight"),
        ] {
            assert_eq!(nearest(wrong, NAMES), Some(meant), "{wrong}");
        }
    }

    #[test]
    fn nothing_like_it() {
        for wrong in ["", "tenant_id", "x", "\u{0}", &"url".repeat(100_000)] {
            assert_eq!(nearest(wrong, NAMES), None, "{}", wrong.len());
        }
        assert_eq!(nearest("anything", []), None);
    }
}
