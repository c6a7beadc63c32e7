//! Checks log events and metrics, which are a contract: each is listed in `docs/observability.md`, and log
//! events have the form that the page describes.

use super::{
    finding::{Finding, error},
    rust::{Piece, pieces},
    tree::Text,
};

const PAGE: &str = "docs/observability.md";

const EVENTS: [&str; 3] = ["tracing::error!(", "tracing::warn!(", "tracing::info!("];
/// How `crates/api/src/watch` writes a metric, and how its scraped name ends.
const METRICS: [(&str, &str); 4] = [
    ("to.counter(", "_total"),
    ("to.seconds(", "_total"),
    ("to.gauge(", ""),
    ("to.histogram(", ""),
];

pub fn check(sources: &[Text], documents: &[Text]) -> Vec<Finding> {
    let Some(page) = documents.iter().find(|document| document.path == PAGE) else {
        return vec![error("observability", format!("{PAGE} is missing"), "")];
    };
    let code = sources.iter().filter(|source| !source.is_test());
    code.flat_map(|source| {
        let mut findings = metrics(source, &page.text);
        findings.extend(events(source, &page.text));
        findings
    })
    .collect()
}

fn events(source: &Text, page: &str) -> Vec<Finding> {
    let code = code_of(source);
    let mut findings = Vec::new();
    for (line, call) in EVENTS.iter().flat_map(|name| calls(&code, name)) {
        let at = format!("{}:{line}", source.path);
        let parts = pieces(call);
        let last = parts.iter().rev().find_map(|(_, piece)| match piece {
            Piece::Literal(text) => Some(*text),
            _ => None,
        });
        let has_debug = parts.iter().any(|(_, piece)| {
            matches!(piece, Piece::Code(code) if code.contains("= ?") || code.contains(", ?") || code.starts_with('?'))
        });
        if has_debug {
            let hint = "write the fields that an operator needs, or `%` of a type with `Display`";
            findings.push(error("observability", format!("{at} logs Rust's debug text"), hint));
        }
        match last {
            Some(text) if !text.contains('{') => {
                let text = joined(text);
                if !page.contains(&format!("`{text}`")) {
                    let what = format!("{at} logs `{text}`, which is not in {PAGE}");
                    findings.push(error(
                        "observability",
                        what,
                        "add the event and its fields there",
                    ));
                }
            }
            _ => {
                let hint = "the message is the event's name: put what varies into fields";
                findings.push(error("observability", format!("{at} has no fixed message"), hint));
            }
        }
    }
    findings
}

fn metrics(source: &Text, page: &str) -> Vec<Finding> {
    if !source.path.starts_with("crates/api/src/watch") {
        return Vec::new();
    }
    let code = code_of(source);
    let all = METRICS
        .iter()
        .flat_map(|(call, end)| calls(&code, call).into_iter().map(move |found| (found, end)));
    all.filter_map(|((line, call), end)| {
        let name = pieces(call).into_iter().find_map(|(_, piece)| match piece {
            Piece::Literal(text) => Some(text),
            _ => None,
        })?;
        let name = format!("{name}{end}");
        (!page.contains(&format!("`{name}`"))).then(|| {
            let what =
                format!("{}:{line} has the metric `{name}`, which is not in {PAGE}", source.path);
            error("observability", what, "add its type, labels and meaning there")
        })
    })
    .collect()
}

fn code_of(source: &Text) -> String {
    source.code().flat_map(|(_, line)| [line, "\n"]).collect()
}

/// Returns the arguments of each call that begins with `name`, with its line.
fn calls<'a>(code: &'a str, name: &str) -> Vec<(usize, &'a str)> {
    let starts = code.match_indices(name).map(|(start, _)| start + name.len());
    starts
        .map(|start| {
            let line = code[..start].matches('\n').count() + 1;
            (line, &code[start..start + length(&code[start..])])
        })
        .collect()
}

/// Returns the length up to the parenthesis that closes the call.
fn length(rest: &str) -> usize {
    let mut depth = 1;
    let mut place = 0;
    for (_, piece) in pieces(rest) {
        let (text, quotes) = match piece {
            Piece::Code(text) => (text, false),
            Piece::Comment(text) | Piece::Literal(text) => (text, true),
        };
        // Literals are found by their position, because their quotes are not part of them.
        let start = text.as_ptr() as usize - rest.as_ptr() as usize;
        if !quotes {
            for (index, one) in text.char_indices() {
                match one {
                    '(' | '[' | '{' => depth += 1,
                    ')' | ']' | '}' => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    return start + index;
                }
            }
        }
        place = start + text.len();
    }
    place
}

/// Joins a text of several lines into one.
fn joined(text: &str) -> String {
    let lines = text.split("\\\n").map(str::trim_start);
    lines.collect::<Vec<_>>().concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(code: &str, page: &str) -> Vec<String> {
        let source = Text::new("crates/outbound/src/a.rs", code);
        let findings = check(&[source], &[Text::new(PAGE, page)]);
        findings.into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn an_event_is_on_the_page_and_has_the_form() {
        let good = "fn a() {\n    tracing::warn!(%error, id = %a(b), \"could not \\\n        save\");\n}\n";
        assert_eq!(found(good, "`could not save`"), Vec::<String>::new());
        assert_eq!(found(good, "another").len(), 1, "not on the page");
        assert_eq!(found("tracing::info!(?roles, \"ready\");", "`ready`").len(), 1, "debug text");
        assert_eq!(found("tracing::info!(roles = ?roles, \"ready\");", "`ready`").len(), 1);
        assert_eq!(
            found("tracing::error!(\"{error}\");", "`{error}`").len(),
            1,
            "no fixed message"
        );
        assert_eq!(
            found("tracing::debug!(\"{error}\");", ""),
            Vec::<String>::new(),
            "for developers"
        );
    }

    #[test]
    fn a_metric_is_on_the_page() {
        let code = "to.counter(\n    \"gancho_attempts\",\n    \"Attempts.\",\n    rows,\n)?;\nto.gauge(\"gancho_queued\", \"Queued.\", rows)?;\n";
        let source = Text::new("crates/api/src/watch/encode.rs", code);
        let check =
            |page: &str| check(std::slice::from_ref(&source), &[Text::new(PAGE, page)]).len();
        assert_eq!(check("`gancho_attempts_total` `gancho_queued`"), 0);
        assert_eq!(check("`gancho_attempts` `gancho_queued`"), 1);
        assert_eq!(check(""), 2);
    }
}
