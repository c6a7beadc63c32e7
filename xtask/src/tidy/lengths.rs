//! Checks the lengths of files: one that does not fit a few screens hides its steps.

use super::{
    finding::{Finding, error, warning},
    tree::Text,
};

const LONG: usize = 250;
const TOO_LONG: usize = 400;
const TOO_LONG_TEST: usize = 600;

pub fn check(sources: &[Text]) -> Vec<Finding> {
    sources.iter().filter_map(of_source).collect()
}

fn of_source(source: &Text) -> Option<Finding> {
    let lines = source.text.lines().count();
    let most = if source.is_test() { TOO_LONG_TEST } else { TOO_LONG };
    let what = || format!("{} has {lines} lines; {most} are the most", source.path);
    if lines > most {
        return Some(error("lengths", what(), "split it by step or by noun"));
    }
    (lines > LONG && !source.is_test()).then(|| warning("lengths", what(), ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::Level;

    fn level(path: &str, lines: usize) -> Option<Level> {
        let found = check(&[Text::new(path, &"//\n".repeat(lines))]);
        found.first().map(|finding| finding.level)
    }

    #[test]
    fn long_and_too_long() {
        let path = "crates/store/src/claim.rs";
        assert_eq!(level(path, 250), None);
        assert_eq!(level(path, 251), Some(Level::Warning));
        assert_eq!(level(path, 400), Some(Level::Warning));
        assert_eq!(level(path, 401), Some(Level::Error));
    }

    #[test]
    fn tests_may_be_longer() {
        let path = "crates/store/tests/claim.rs";
        assert_eq!(level(path, 600), None);
        assert_eq!(level(path, 601), Some(Level::Error));
    }
}
