//! Checks that faults that tests name are in `docs/faults.md`, and that a test names each fault in it.

use std::collections::BTreeSet;

use super::{
    finding::{Finding, error},
    tree::Text,
};

const DOCUMENT: &str = "docs/faults.md";
const CITATION: &str = "faults.md";
/// A row with this text needs no test.
const ANSWERED: &str = "Answered by";

pub fn check(sources: &[Text], document: &str) -> Vec<Finding> {
    let listed: Vec<_> = document.lines().filter_map(row).collect();
    let known: BTreeSet<_> = listed.iter().map(|(number, _)| *number).collect();
    let mut cited = BTreeSet::new();
    let mut findings = Vec::new();
    for source in sources {
        for (index, line) in source.text.lines().enumerate() {
            for number in citations(line) {
                if !known.contains(number) {
                    let what = format!("{}:{} names fault {number}", source.path, index + 1);
                    findings.push(error("faults", what, format!("it is not in {DOCUMENT}")));
                }
                cited.insert(number);
            }
        }
    }
    let untested =
        listed.iter().filter(|(number, is_answered)| !is_answered && !cited.contains(number));
    findings.extend(untested.map(|(number, _)| {
        let hint = format!(
            "write `{CITATION} {number}` beside its test, or say in its row where it is answered"
        );
        error("faults", format!("no test names fault {number}"), hint)
    }));
    findings
}

/// Returns a row's number, and whether it needs no test.
fn row(line: &str) -> Option<(&str, bool)> {
    let number = line.strip_prefix("| ")?.split(" |").next()?;
    is_number(number).then(|| (number, line.contains(ANSWERED)))
}

/// Returns the numbers after the document's name in `faults.md 3 and 4`, `faults.md 10: …`.
fn citations(line: &str) -> impl Iterator<Item = &str> {
    line.split(CITATION).skip(1).flat_map(|rest| {
        let list = rest.split([':', ')', '.']).next().unwrap_or_default();
        let words = list.split([' ', ',']).filter(|word| !word.is_empty() && *word != "and");
        words.take_while(|word| is_number(word))
    })
}

/// Whether the word looks like `0b`, `12` or `B7`.
fn is_number(word: &str) -> bool {
    let digits =
        word.trim_start_matches(|one: char| one.is_ascii_uppercase()).trim_end_matches('b');
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str =
        "| Fault | What |\n|---|---|\n| 0b | a |\n| 10 | b |\n| B7 | c |\n| 33 | Answered by x |\n";

    fn found(text: &str) -> Vec<String> {
        let sources = [Text::new("crates/a/tests/b.rs", text)];
        check(&sources, LIST).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn what_is_named_is_listed() {
        let all = "/// faults.md 10: more.\n//! None. (faults.md B7 and 0b)\n";
        assert_eq!(found(all), Vec::<String>::new());
        assert_eq!(
            found(&format!("{all}// faults.md 11\n")),
            ["crates/a/tests/b.rs:3 names fault 11"]
        );
    }

    #[test]
    fn what_is_listed_is_tested_or_answered() {
        assert_eq!(found("// faults.md 10, B7: 0b"), ["no test names fault 0b"]);
    }
}
