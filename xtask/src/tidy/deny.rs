//! Reads the parts of `deny.toml` that the checks here need: one list for cargo-deny and for them.
//!
//! Of TOML it reads what that file uses: sections, lists of strings, and lists of tables with one table per
//! line.

use super::{
    block,
    finding::{Finding, error},
};

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Rules {
    pub licenses: Vec<String>,
    pub banned: Vec<Ban>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Ban {
    pub name: String,
    /// The crates that may use it nevertheless.
    pub wrappers: Vec<String>,
}

pub fn read(text: &str) -> Rules {
    let mut rules = Rules::default();
    let (mut section, mut key) = (String::new(), String::new());
    for line in text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            name.clone_into(&mut section);
            continue;
        }
        if let Some((name, _)) = line.split_once(" = ").filter(|_| !line.starts_with('{')) {
            name.clone_into(&mut key);
        }
        match (section.as_str(), key.as_str()) {
            ("licenses", "allow") => rules.licenses.extend(strings(line)),
            ("bans", "deny") => rules.banned.extend(ban(line)),
            _ => {}
        }
    }
    rules
}

fn strings(line: &str) -> Vec<String> {
    line.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Reads `{ crate = "name", wrappers = ["one", "other"] },`.
fn ban(line: &str) -> Option<Ban> {
    let name = strings(line.split_once("crate = ")?.1).into_iter().next()?;
    let wrappers = line.split_once("wrappers = ").map(|(_, list)| list);
    let wrappers = wrappers.and_then(|list| list.split(']').next()).map(strings);
    Some(Ban { name, wrappers: wrappers.unwrap_or_default() })
}

/// Checks that a library in both files has the same users in both.
pub fn check(rules: &Rules, document: &str) -> Vec<Finding> {
    let rows = block::rows(document, "libraries").unwrap_or_default();
    let mut findings = Vec::new();
    for ban in &rules.banned {
        let Some(row) = rows.iter().find(|row| row.name == ban.name) else {
            continue;
        };
        let mut listed: Vec<String> =
            ban.wrappers.iter().filter_map(|name| name.strip_prefix("gancho")).map(short).collect();
        let mut documented = row.names.clone();
        listed.sort();
        documented.sort();
        if listed != documented {
            findings.push(error(
                "deny",
                format!(
                    "`{}` may be used by {} in deny.toml, by {} in ARCHITECTURE.md",
                    ban.name,
                    listed.join(" "),
                    documented.join(" ")
                ),
                "make the two the same",
            ));
        }
    }
    findings
}

fn short(rest: &str) -> String {
    if rest.is_empty() { "app" } else { rest.trim_start_matches('-') }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
[licenses]
confidence-threshold = 0.9
allow = [
    "MIT", # short
    "Apache-2.0 WITH LLVM-exception",
]

[bans]
multiple-versions = "allow"
deny = [
    { crate = "ring", reason = "one provider" },
    { crate = "rusqlite", wrappers = ["gancho-store-sqlite", "gancho", "r2d2"], reason = "x" },
]

[sources]
unknown-git = "deny"
"#;

    #[test]
    fn reads_lists_and_tables() {
        let rules = read(TEXT);
        assert_eq!(rules.licenses, ["MIT", "Apache-2.0 WITH LLVM-exception"]);
        let names: Vec<&str> = rules.banned.iter().map(|ban| ban.name.as_str()).collect();
        assert_eq!(names, ["ring", "rusqlite"]);
        assert!(rules.banned[0].wrappers.is_empty());
        assert_eq!(rules.banned[1].wrappers, ["gancho-store-sqlite", "gancho", "r2d2"]);
    }

    #[test]
    fn the_two_files_agree() {
        let rules = read(TEXT);
        assert!(check(&rules, "```libraries\nrusqlite -> app store-sqlite\n```\n").is_empty());
        let found = check(&rules, "```libraries\nrusqlite -> store-sqlite\n```\n");
        assert_eq!(
            found[0].what,
            "`rusqlite` may be used by app store-sqlite in deny.toml, by store-sqlite in ARCHITECTURE.md"
        );
    }
}
