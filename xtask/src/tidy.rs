//! Rules that a program checks, so that no reviewer has to.
//!
//! Reading is separate from checking: [`tree`] and [`cargo`] read the files and what cargo knows of the
//! crates; [`block`] and [`deny`] read the rules in `ARCHITECTURE.md` and `deny.toml`. The checks are
//! functions of what was read: [`arrows`] between crates, [`circles`] of files, [`libraries`] and who may use
//! them, [`names`] and [`lengths`] of files, how crates [`open`](opening), [`words`] that must not occur,
//! [`retired`] names and phrases, [`references`] that no reader can open, American [`spelling`], log events
//! and metrics in [`observability`], [tests](test_files) that are compiled and do not sleep, [`faults`] that
//! tests name, the [`supply`] of dependencies with their [`license`]s, those that are [`unused`], and
//! [`links`] between documents. [`rust`] separates code from texts.

mod arrows;
mod block;
mod cargo;
mod circles;
mod deny;
mod faults;
mod finding;
mod lengths;
mod libraries;
mod license;
mod links;
mod names;
mod observability;
mod opening;
mod references;
mod retired;
mod rust;
mod spelling;
mod supply;
mod test_files;
mod tree;
mod unused;
mod words;

use anyhow::{Context, Result};

use self::{
    finding::{Finding, Level},
    tree::Tree,
};

/// Runs all checks. Returns whether there are no errors.
pub fn run() -> Result<bool> {
    let tree = Tree::read()?;
    let document = tree.document("ARCHITECTURE.md").context("ARCHITECTURE.md is missing")?;
    let rules = tree.document("deny.toml").context("deny.toml is missing")?;
    let rules = deny::read(rules);
    let cargo = cargo::read(&tree.root)?;

    let mut findings = Vec::new();
    findings.extend(arrows::check(document, &cargo.members));
    findings.extend(libraries::check(document, &cargo.members, &tree.sources));
    findings.extend(deny::check(&rules, document));
    findings.extend(names::check(&tree.paths));
    findings.extend(circles::check(&tree.sources));
    findings.extend(lengths::check(&tree.sources));
    findings.extend(opening::check(&cargo.members, &tree.sources));
    findings.extend(words::check(&tree.sources));
    findings.extend(test_files::check(&tree.sources));
    findings.extend(retired::check(&tree.sources, &tree.documents));
    findings.extend(references::check(&tree.sources, &tree.documents));
    findings.extend(spelling::check(&tree.sources, &tree.documents));
    findings.extend(observability::check(&tree.sources, &tree.documents));
    findings.extend(unused::check(&cargo.members, &tree.sources));
    findings.extend(supply::check(&rules, &cargo.packages));
    findings
        .extend(faults::check(&tree.sources, tree.document("docs/faults.md").unwrap_or_default()));
    findings.extend(links::check(&tree.documents, &tree.paths));
    Ok(tell(&findings))
}

fn tell(findings: &[Finding]) -> bool {
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    for level in [Level::Warning, Level::Error] {
        for finding in findings.iter().filter(|finding| finding.level == level) {
            println!("{finding}");
        }
    }
    let (errors, warnings) = (count(Level::Error), count(Level::Warning));
    println!("tidy: {errors} errors, {warnings} warnings");
    errors == 0
}
