//! "Did you mean": the known name that is nearest to an unknown one.

/// Longer names are not compared: nobody types them.
const MAX_LENGTH: usize = 64;

/// Returns the nearest of the names, if at most a third of its letters differ.
pub fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if wrong.len() > MAX_LENGTH {
        return None;
    }
    let wrong = fold(wrong);
    let near = names.into_iter().map(|name| (strsim::levenshtein(&wrong, &fold(name)), name));
    let (steps, name) = near.min()?;
    (steps <= wrong.len().max(name.len()) / 3).then_some(name)
}

/// Folds case and separators: `eventType`, `event-type` and `event_type` are the same name to someone who
/// types them.
fn fold(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: [&str; 5] = ["url", "events", "event_type", "is_active", "max_in_flight"];
    const SETTINGS: [&str; 4] = ["api_listen", "allow_http", "allow_cidrs", "data_dir"];

    #[test]
    fn what_was_meant() {
        for (wrong, meant) in [
            ("event", "events"),
            ("eventType", "event_type"),
            ("isActive", "is_active"),
            ("urll", "url"),
            ("max-inflight", "max_in_flight"),
        ] {
            assert_eq!(nearest(wrong, FIELDS), Some(meant), "{wrong}");
        }
        for (wrong, meant) in
            [("api_listn", "api_listen"), ("allow_cidr", "allow_cidrs"), ("datadir", "data_dir")]
        {
            assert_eq!(nearest(wrong, SETTINGS), Some(meant), "{wrong}");
        }
    }

    #[test]
    fn nothing_like_it() {
        for wrong in ["", "tenant_id", "x", "\u{0}", &"url".repeat(100_000)] {
            assert_eq!(nearest(wrong, FIELDS), None, "{}", wrong.len());
        }
        assert_eq!(nearest("weather", SETTINGS), None);
        assert_eq!(nearest("anything", []), None);
    }
}
