//! Refuses names that say nothing about a file's content.

use std::collections::BTreeSet;

use super::finding::{Finding, error};

const EMPTY_NAMES: [&str; 7] = ["util", "utils", "helper", "helpers", "common", "misc", "types"];

pub fn check(paths: &BTreeSet<String>) -> Vec<Finding> {
    let ours = paths.iter().filter(|path| path.starts_with("crates/"));
    ours.filter_map(|path| of_path(path)).collect()
}

fn of_path(path: &str) -> Option<Finding> {
    let name = path.rsplit('/').next().unwrap_or_default();
    if name == "mod.rs" {
        let hint =
            "a module is `name.rs` beside its folder `name/`, so that every file has its own name";
        return Some(error("names", path, hint));
    }
    let stem = name.split('.').next().unwrap_or_default();
    if stem.ends_with("_tests") {
        let hint =
            "tests of `name.rs` are in `name/tests.rs`, where other rules know them as tests";
        return Some(error("names", path, hint));
    }
    EMPTY_NAMES
        .contains(&stem)
        .then(|| error("names", path, "name it by the step or the noun that it holds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_say_nothing() {
        let refused = |path: &str| !check(&BTreeSet::from([path.to_owned()])).is_empty();
        assert!(refused("crates/store/src/utils.rs"));
        assert!(refused("crates/store/src/helpers"));
        assert!(refused("crates/store/tests/common.rs"));
        assert!(refused("crates/store/src/claim/mod.rs"));
        assert!(refused("crates/store/src/claim_tests.rs"));
        assert!(!refused("crates/store/src/claim/tests.rs"));
        assert!(!refused("crates/store/src/claim.rs"));
        assert!(!refused("crates/store/src/common_sense.rs"));
        assert!(!refused("tests/verifiers/common.py"), "only crates are looked at");
    }
}
