//! Checks which crate depends on which. The block `arrows` of `ARCHITECTURE.md` and the manifests must say
//! the same; the row `tests` has what tests may use in addition.

use super::{
    block::{self, Row},
    cargo::{Member, Use},
    finding::{Finding, error},
};

const CHECK: &str = "arrows";
/// Only for tests, like the feature `conformance` of `store`.
const TESTKIT: &str = "testkit";
const SUITE: (&str, &str) = ("store", "conformance");
const TESTS: &str = "tests";

pub fn check(document: &str, members: &[Member]) -> Vec<Finding> {
    let rows = match block::rows(document, CHECK) {
        Ok(rows) => rows,
        Err(what) => {
            return vec![error(CHECK, what, "the arrows between crates are written there")];
        }
    };
    let mut findings = Vec::new();
    for member in members {
        match rows.iter().find(|row| row.name == member.name) {
            Some(row) => of_member(member, row, &rows, &mut findings),
            None => findings.push(error(
                CHECK,
                format!("the crate `{}` is not in ARCHITECTURE.md", member.name),
                "add its line to the block `arrows` and to the crate map",
            )),
        }
    }
    for row in rows.iter().filter(|row| row.name != TESTS) {
        if !members.iter().any(|member| member.name == row.name) {
            findings.push(error(
                CHECK,
                format!("ARCHITECTURE.md has arrows of `{}`, which is no crate", row.name),
                "remove its line from the block `arrows`",
            ));
        }
    }
    findings
}

fn of_member(member: &Member, row: &Row, rows: &[Row], findings: &mut Vec<Finding>) {
    let for_tests = rows.iter().find(|row| row.name == TESTS);
    for used in member.uses.iter().filter(|used| used.is_ours) {
        let may = row.is_everything() || row.has(&used.name);
        let tests_may = used.only_in_tests && for_tests.is_some_and(|row| row.has(&used.name));
        if !used.only_in_tests && is_for_tests(used) {
            findings.push(error(
                CHECK,
                format!("`{}` uses {} outside of tests", member.name, spelt(used)),
                "move it to [dev-dependencies]",
            ));
        } else if !may && !tests_may {
            let whose = if used.only_in_tests { "the tests of " } else { "" };
            findings.push(error(
                CHECK,
                format!("{whose}`{}` must not know `{}`", member.name, used.name),
                "remove the dependency; or, if the design has changed, add the arrow to ARCHITECTURE.md",
            ));
        }
    }
    for name in row.names.iter().filter(|_| !row.is_everything()) {
        let is_used = |used: &Use| used.is_ours && used.name == *name && !used.only_in_tests;
        if !member.uses.iter().any(is_used) {
            findings.push(error(
                CHECK,
                format!("ARCHITECTURE.md says that `{}` knows `{name}`, but it does not", row.name),
                "remove the arrow from the block `arrows`",
            ));
        }
    }
}

fn is_for_tests(used: &Use) -> bool {
    used.name == TESTKIT || used.name == SUITE.0 && used.features.iter().any(|it| it == SUITE.1)
}

fn spelt(used: &Use) -> String {
    if used.name == TESTKIT {
        format!("`{TESTKIT}`")
    } else {
        format!("the feature `{}` of `{}`", SUITE.1, SUITE.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "```arrows
domain -> nothing
store -> domain
testkit -> nothing
app -> everything
tests -> testkit store
```
";

    fn member(name: &str, uses: &[&str]) -> Member {
        let uses = uses.iter().map(|used| Use {
            rename: None,
            name: used.trim_start_matches("dev ").trim_end_matches("+conformance").to_owned(),
            is_ours: true,
            only_in_tests: used.starts_with("dev "),
            features: if used.ends_with("+conformance") {
                vec!["conformance".to_owned()]
            } else {
                vec![]
            },
        });
        Member { name: name.to_owned(), uses: uses.collect(), ..Member::default() }
    }

    /// Returns the findings when a crate of the valid workspace is replaced, or one is added.
    fn with(changed: Member) -> Vec<String> {
        let mut members = vec![
            member("domain", &["dev testkit"]),
            member("store", &["domain"]),
            member("testkit", &[]),
            member("app", &["domain", "store", "dev store+conformance"]),
        ];
        members.retain(|member| member.name != changed.name);
        members.push(changed);
        check(DOCUMENT, &members).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn what_the_document_says_is_fine() {
        assert_eq!(with(member("app", &[])), Vec::<String>::new());
    }

    #[test]
    fn an_arrow_too_many() {
        assert_eq!(with(member("domain", &["store"])), ["`domain` must not know `store`"]);
        assert_eq!(
            with(member("domain", &["dev app"])),
            ["the tests of `domain` must not know `app`"]
        );
    }

    #[test]
    fn an_arrow_that_is_not_there() {
        assert_eq!(
            with(member("store", &[])),
            ["ARCHITECTURE.md says that `store` knows `domain`, but it does not"]
        );
        assert_eq!(with(member("store", &["dev domain"])).len(), 1, "a test's use is no arrow");
    }

    #[test]
    fn a_crate_too_many_or_too_few() {
        assert_eq!(with(member("inbound", &[])), ["the crate `inbound` is not in ARCHITECTURE.md"]);
        let found = check(DOCUMENT, &[]);
        assert_eq!(found.len(), 4, "{found:?}");
        assert_eq!(check("no block", &[]).len(), 1);
    }

    #[test]
    fn what_is_for_tests_stays_there() {
        assert_eq!(with(member("app", &["testkit"])), ["`app` uses `testkit` outside of tests"]);
        assert_eq!(
            with(member("app", &["store+conformance"])),
            ["`app` uses the feature `conformance` of `store` outside of tests"]
        );
    }
}
