//! Checks who may use which library. In the block `libraries` of `ARCHITECTURE.md`, `->` lists the crates
//! that may depend on it, and `=>` those into which it may be built at all. A name with `::` is a path that
//! may occur only in the code of these crates.

use super::{
    block::{self, Row},
    cargo::Member,
    finding::{Finding, error},
    tree::Text,
};

const CHECK: &str = "libraries";
const HINT: &str =
    "go through a crate that may; the block `libraries` of ARCHITECTURE.md lists them";

pub fn check(document: &str, members: &[Member], sources: &[Text]) -> Vec<Finding> {
    let rows = match block::rows(document, CHECK) {
        Ok(rows) => rows,
        Err(what) => return vec![error(CHECK, what, "who may use which library is written there")],
    };
    let mut findings = Vec::new();
    for row in &rows {
        if row.name.contains("::") {
            findings.extend(sources.iter().filter_map(|source| in_code(row, source)));
        } else {
            findings.extend(members.iter().filter_map(|member| of_member(row, member)));
        }
        for name in &row.names {
            if !members.iter().any(|member| member.name == *name) {
                findings.push(error(
                    CHECK,
                    format!("ARCHITECTURE.md lets `{name}` use `{}`, but it is no crate", row.name),
                    "remove the name from the block `libraries`",
                ));
            }
        }
    }
    findings
}

fn of_member(row: &Row, member: &Member) -> Option<Finding> {
    if row.has(&member.name) {
        return None;
    }
    let (library, name) = (&row.name, &member.name);
    if member.uses.iter().any(|used| !used.is_ours && used.name == *library) {
        return Some(error(CHECK, format!("`{name}` must not use `{library}`"), HINT));
    }
    (row.is_strong && member.reach.contains(library)).then(|| {
        error(
            CHECK,
            format!("`{name}` must not bring in `{library}`, not even through others"),
            format!("`cargo tree -p gancho-{name} -e normal -i {library}` says through whom"),
        )
    })
}

fn in_code(row: &Row, source: &Text) -> Option<Finding> {
    if source.is_test() || source.crate_name().is_none_or(|name| row.has(name)) {
        return None;
    }
    let (line, _) = source.code().find(|(_, text)| text.contains(&row.name))?;
    Some(error(CHECK, format!("{}:{line} uses `{}`", source.path, row.name), HINT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::cargo::Use;

    const DOCUMENT: &str = "```libraries
rusqlite -> store-sqlite
tokio => store-sqlite app
hyper::client -> app
```
";

    fn member(name: &str, uses: &[&str], reach: &[&str]) -> Member {
        let uses = uses.iter().map(|used| Use {
            rename: None,
            name: (*used).to_owned(),
            is_ours: false,
            only_in_tests: false,
            features: vec![],
        });
        Member {
            name: name.to_owned(),
            uses: uses.collect(),
            reach: reach.iter().map(|name| (*name).to_owned()).collect(),
            ..Member::default()
        }
    }

    fn found(changed: Member, code: &str) -> Vec<String> {
        let members = [
            member("store-sqlite", &["rusqlite", "tokio"], &["rusqlite", "tokio"]),
            member("app", &[], &["rusqlite", "tokio"]),
            changed,
        ];
        let sources = [Text::new("crates/wire/src/sign.rs", code)];
        check(DOCUMENT, &members, &sources).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn those_who_may_and_those_who_must_not() {
        assert_eq!(found(member("wire", &["serde"], &["serde"]), ""), Vec::<String>::new());
        assert_eq!(
            found(member("wire", &["rusqlite"], &["rusqlite"]), ""),
            ["`wire` must not use `rusqlite`"]
        );
    }

    #[test]
    fn not_even_through_others() {
        assert_eq!(
            found(member("wire", &["lib"], &["lib", "tokio"]), ""),
            ["`wire` must not bring in `tokio`, not even through others"]
        );
    }

    #[test]
    fn a_path_in_the_code() {
        let wire = member("wire", &[], &[]);
        assert_eq!(
            found(wire.clone(), "\nuse hyper::client::conn;"),
            ["crates/wire/src/sign.rs:2 uses `hyper::client`"]
        );
        assert!(found(wire, "#[cfg(test)]\nmod tests { use hyper::client; }").is_empty());
    }

    #[test]
    fn a_name_that_is_no_crate() {
        let found = check(DOCUMENT, &[], &[]);
        assert_eq!(found.len(), 4, "{found:?}");
        assert_eq!(check("", &[], &[]).len(), 1);
    }
}
