//! Checks that links between documents lead somewhere.

use std::collections::BTreeSet;

use super::{
    finding::{Finding, error},
    tree::Text,
};

pub fn check(documents: &[Text], paths: &BTreeSet<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for document in documents {
        for (line, target) in links(&document.text) {
            let file = target.split('#').next().unwrap_or_default();
            if file.is_empty() || file.contains(':') {
                continue;
            }
            let place = resolve(&document.path, file);
            if !place.as_ref().is_some_and(|place| place.is_empty() || paths.contains(place)) {
                findings.push(error(
                    "links",
                    format!("{}:{line} links to {target}, which is not there", document.path),
                    "",
                ));
            }
        }
    }
    findings
}

/// Returns the targets of `[text](target)` outside of code, with their lines.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            let parts = line.split("](").skip(1);
            found.extend(parts.filter_map(|rest| Some((index + 1, rest.split_once(')')?.0))));
        }
    }
    found
}

/// Returns the path from the root; `None` if it leads out of the workspace.
fn resolve(document: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let paths = ["README.md", "docs", "docs/performance.md", "docs/decisions/0001.md"];
        let paths = paths.into_iter().map(str::to_owned).collect();
        let document = Text::new("docs/decisions/0001.md", text);
        check(&[document], &paths).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn links_that_lead_somewhere() {
        let text = "[a](../performance.md), [b](../../README.md#top) [c](#here)\n\
                    [d](https://example.com/x) [e](..) [f](../..)\n```\n[g](gone.md)\n```\n";
        assert_eq!(found(text), Vec::<String>::new());
    }

    #[test]
    fn links_that_do_not() {
        assert_eq!(
            found("fine\n[a](0002.md) and [b](../../../outside.md)"),
            [
                "docs/decisions/0001.md:2 links to 0002.md, which is not there",
                "docs/decisions/0001.md:2 links to ../../../outside.md, which is not there"
            ]
        );
    }
}
