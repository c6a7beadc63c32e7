//! Checks packages of others: where they come from, their licenses, and banned ones.

use super::{
    cargo::Package,
    deny::Rules,
    finding::{Finding, error},
    license,
};

const CHECK: &str = "supply";

pub fn check(rules: &Rules, packages: &[Package]) -> Vec<Finding> {
    if rules.licenses.is_empty() || rules.banned.is_empty() {
        return vec![error(CHECK, "deny.toml allows no license or bans nothing", "")];
    }
    packages.iter().flat_map(|package| of_package(rules, package)).collect()
}

fn of_package(rules: &Rules, package: &Package) -> Vec<Finding> {
    let mut findings = Vec::new();
    let name = format!("{} {}", package.name, package.version);
    // A crate with wrappers is not banned, but restricted to its users: see `libraries`.
    if rules.banned.iter().any(|ban| ban.name == package.name && ban.wrappers.is_empty()) {
        let hint = format!("`cargo tree --workspace -i {}` says who brings it", package.name);
        findings.push(error(CHECK, format!("{name} is banned by deny.toml"), hint));
    }
    if !package.source.as_deref().is_some_and(|source| source.starts_with("registry+")) {
        let source = package.source.as_deref().unwrap_or("a path outside of the workspace");
        let what = format!("{name} comes from {source}");
        findings.push(error(CHECK, what, "only releases from the registry are built"));
    }
    let license = package.license.as_deref().unwrap_or("none");
    if !license::is_allowed(license, &rules.licenses) {
        let what = format!("{name} has the license `{license}`, which deny.toml does not allow");
        findings.push(error(CHECK, what, "use another library, or decide on the license"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::deny::Ban;

    const REGISTRY: Option<&str> = Some("registry+here");

    fn found(package: Package) -> Vec<String> {
        let ban = |name: &str, wrappers: &[&str]| Ban {
            name: name.to_owned(),
            wrappers: wrappers.iter().map(|name| (*name).to_owned()).collect(),
        };
        let rules = Rules {
            licenses: vec!["MIT".to_owned()],
            banned: vec![ban("ring", &[]), ban("rusqlite", &["gancho-store-sqlite"])],
        };
        check(&rules, &[package]).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn what_may_come() {
        assert!(found(Package::new("serde", Some("GPL-3.0 OR MIT"), REGISTRY)).is_empty());
        assert!(found(Package::new("rusqlite", Some("MIT"), REGISTRY)).is_empty());
    }

    #[test]
    fn what_may_not() {
        let banned = found(Package::new("ring", Some("MIT"), REGISTRY));
        assert_eq!(banned, ["ring 1.0.0 is banned by deny.toml"]);
        for license in [Some("GPL-3.0"), None] {
            let found = found(Package::new("serde", license, REGISTRY));
            assert!(found[0].contains("does not allow"), "{found:?}");
        }
        for source in [None, Some("git+https://example.com/serde?rev=1#2")] {
            let found = found(Package::new("serde", Some("MIT"), source));
            assert!(found[0].contains("comes from"), "{found:?}");
        }
    }

    #[test]
    fn rules_that_could_not_be_read_allow_nothing() {
        assert_eq!(check(&Rules::default(), &[]).len(), 1);
    }
}
