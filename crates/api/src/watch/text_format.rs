//! Converts between the two formats of metrics: OpenMetrics for clients that ask for it, and the older text
//! format, which every tool reads.

use std::fmt::Write;

pub const OPEN: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
pub const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";

pub fn convert(open: String, accept: Option<&str>) -> (&'static str, String) {
    match accept {
        Some(accept) if accept.contains("application/openmetrics-text") => (OPEN, open),
        _ => (PLAIN, plain(&open)),
    }
}

/// Converts to the older format, which names a counter with its `_total`, and has no units and no end marker.
fn plain(open: &str) -> String {
    let counters: Vec<&str> = open
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"))
        .collect();
    let mut text = String::with_capacity(open.len());
    for line in open.lines() {
        if line == "# EOF" || line.starts_with("# UNIT ") {
            continue;
        }
        let headed = line
            .strip_prefix("# ")
            .and_then(|rest| rest.split_once(' '))
            .and_then(|(word, rest)| Some((word, rest.split_once(' ')?)))
            .filter(|(_, (name, _))| counters.contains(name));
        let _ = match headed {
            Some((word, (name, rest))) => writeln!(text, "# {word} {name}_total {rest}"),
            None => writeln!(text, "{line}"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEEN: &str = "# HELP a Some.\n# TYPE a counter\na_total{x=\"1\"} 3\n# HELP b Else.\n# TYPE b gauge\nb 1.0\n# EOF\n";

    #[test]
    fn the_older_form_names_counters_in_full() {
        let (kind, text) = convert(SEEN.to_owned(), Some("text/plain"));
        assert_eq!(kind, PLAIN);
        assert_eq!(
            text,
            "# HELP a_total Some.\n# TYPE a_total counter\na_total{x=\"1\"} 3\n# HELP b Else.\n# TYPE b gauge\nb 1.0\n"
        );
        let accept = Some("application/openmetrics-text; version=1.0.0,text/plain;q=0.5");
        assert_eq!(convert(SEEN.to_owned(), accept), (OPEN, SEEN.to_owned()));
    }
}
