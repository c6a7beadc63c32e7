//! Checks every test: it is compiled, and it does not sleep to see what happens.

use std::path::Path;

use super::{
    finding::{Finding, error},
    tree::Text,
};

/// A sleep is slow if it is long enough, and sometimes fails if it is not.
const SLEEP: &str = "::sleep(";
/// In these, time is virtual or the sleep is the waiting itself.
const MAY_SLEEP: [&str; 2] = ["crates/engine/tests/", "crates/testkit/"];

pub fn check(sources: &[Text]) -> Vec<Finding> {
    let tests = || sources.iter().filter(|source| source.is_test());
    tests().filter_map(|test| forgotten(test, sources)).chain(tests().flat_map(sleeps)).collect()
}

/// Finds tests that are not compiled. Cargo compiles `tests/main.rs` and what it names, and says nothing
/// about other files.
fn forgotten(test: &Text, sources: &[Text]) -> Option<Finding> {
    let (crate_path, below) = test.path.split_once("/tests/")?;
    let name = Path::new(below).file_stem()?.to_str()?;
    if name == "main" || crate_path.ends_with("src") || crate_path.contains("/src/") {
        return None;
    }
    let (folder, declaration) = (format!("{crate_path}/tests/"), format!("mod {name};"));
    let mut beside = sources.iter().filter(|other| other.path.starts_with(&folder));
    if beside.any(|other| other.text.contains(&declaration)) {
        return None;
    }
    let what = format!("{} is not compiled", test.path);
    Some(error("tests", what, format!("add `{declaration}` to {crate_path}/tests/main.rs")))
}

/// Finds sleeps. They are allowed only if the line before gives the reason: `// Sleeps …`.
fn sleeps(test: &Text) -> Vec<Finding> {
    if MAY_SLEEP.iter().any(|may| test.path.starts_with(may)) {
        return Vec::new();
    }
    let lines: Vec<_> = test.text.lines().collect();
    let is_bare = |at: &usize| {
        let says_why = *at > 0 && lines[at - 1].trim_start().starts_with("// Sleeps ");
        lines[*at].contains(SLEEP) && !says_why
    };
    let bare = (0..lines.len()).filter(is_bare);
    bare.map(|at| {
        let what = format!("{}:{} sleeps", test.path, at + 1);
        let hint = "wait for what should happen with gancho_testkit::wait_for or until; to show that nothing \
                    happened, wait for something that happens after it; or say why in the line before: // Sleeps …";
        error("tests", what, hint)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sources: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<_> = sources.iter().map(|(path, text)| Text::new(path, text)).collect();
        check(&sources).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_file_that_nobody_names_is_found() {
        let main = ("crates/a/tests/main.rs", "mod stage;\nmod events {\n    mod publish;\n}\n");
        let stage = ("crates/a/tests/stage.rs", "");
        let publish = ("crates/a/tests/events/publish.rs", "");
        assert!(found(&[main, stage, publish]).is_empty());
        let other = ("crates/a/tests/events/list.rs", "");
        assert_eq!(found(&[main, other]), ["crates/a/tests/events/list.rs is not compiled"]);
        let elsewhere = ("crates/b/tests/main.rs", "mod list;\n");
        assert_eq!(found(&[main, elsewhere, other]).len(), 1, "it is another crate's");
    }

    #[test]
    fn a_sleep_says_what_it_is_good_for() {
        let bare = "fn go() {\n    thread::sleep(SECOND);\n}\n";
        let told =
            "fn go() {\n    // Sleeps as a slow client.\n    tokio::time::sleep(SECOND);\n}\n";
        let main = |text| ("crates/a/tests/main.rs", text);
        assert_eq!(found(&[main(bare)]), ["crates/a/tests/main.rs:2 sleeps"]);
        assert!(found(&[main(told)]).is_empty());
        assert!(found(&[("crates/engine/tests/main.rs", bare)]).is_empty());
        assert!(found(&[("crates/a/src/retry.rs", bare)]).is_empty(), "it is no test");
    }
}
