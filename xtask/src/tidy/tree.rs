//! The files of the workspace, read once.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

pub struct Tree {
    pub root: PathBuf,
    /// Every file and directory, from the root, with `/`.
    pub paths: BTreeSet<String>,
    /// The Rust files under `crates`.
    pub sources: Vec<Text>,
    /// `*.md` everywhere, `deny.toml`, and the English texts of the dashboard.
    pub documents: Vec<Text>,
}

#[derive(Debug, Clone)]
pub struct Text {
    pub path: String,
    pub text: String,
}

impl Text {
    #[cfg(test)]
    pub fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    /// Whether it is code for tests, which may be longer and freer than production code.
    pub fn is_test(&self) -> bool {
        let folders = ["tests", "conformance", "examples", "benches", "testkit"];
        let mut parts = self.path.split('/').map(|part| part.trim_end_matches(".rs"));
        parts.any(|part| folders.contains(&part))
    }

    /// Returns the crate's directory under `crates`.
    pub fn crate_name(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// Returns the lines that are not only for tests, with their numbers. An item under `#[cfg(test)]` ends
    /// with the closing line of the same indentation.
    pub fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut skipped: Option<usize> = None;
        self.text.lines().enumerate().filter_map(move |(index, line)| {
            let indent = line.len() - line.trim_start().len();
            if let Some(of_item) = skipped {
                let ends = line.ends_with(';') || line.trim_end_matches(',').ends_with('}');
                if ends && indent == of_item {
                    skipped = None;
                }
                return None;
            }
            if line.trim() == "#[cfg(test)]" {
                skipped = Some(indent);
                return None;
            }
            Some((index + 1, line))
        })
    }
}

/// Directories that tools made or that belong to them.
const NOT_OURS: [&str; 5] = [".git", "target", "node_modules", ".venv", "__pycache__"];

impl Tree {
    pub fn read() -> Result<Self> {
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = own.parent().context("xtask lies in the workspace")?.to_path_buf();
        let mut tree = Self { root, paths: BTreeSet::new(), sources: vec![], documents: vec![] };
        tree.walk("")?;
        tree.sources.sort_by(|one, other| one.path.cmp(&other.path));
        tree.documents.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(tree)
    }

    pub fn document(&self, path: &str) -> Option<&str> {
        let found = self.documents.iter().find(|document| document.path == path);
        found.map(|document| document.text.as_str())
    }

    fn walk(&mut self, folder: &str) -> Result<()> {
        let at = self.root.join(folder);
        for entry in fs::read_dir(&at).with_context(|| format!("reading {}", at.display()))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if NOT_OURS.contains(&name.as_str()) {
                continue;
            }
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            if entry.file_type()?.is_dir() {
                self.walk(&path)?;
            } else {
                self.keep(&path)?;
            }
            self.paths.insert(path);
        }
        Ok(())
    }

    fn keep(&mut self, path: &str) -> Result<()> {
        let ends = |end: &str| Path::new(path).extension().is_some_and(|found| found == end);
        let list = match path {
            "deny.toml" | "crates/dashboard/catalog/en.toml" => &mut self.documents,
            _ if ends("md") => &mut self.documents,
            _ if ends("rs") && path.starts_with("crates/") => &mut self.sources,
            _ => return Ok(()),
        };
        match fs::read_to_string(self.root.join(path)) {
            Ok(text) => list.push(Text { path: path.to_owned(), text }),
            // Removed since the directory was read.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| format!("reading {path}")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_tests_by_where_they_lie() {
        for path in [
            "crates/engine/tests/simulation/run.rs",
            "crates/engine/src/scheduler/tests.rs",
            "crates/store/src/conformance/claim.rs",
            "crates/wire/examples/sign_samples.rs",
            "crates/testkit/src/postgres.rs",
        ] {
            assert!(Text::new(path, "").is_test(), "{path}");
        }
        assert!(!Text::new("crates/engine/src/attests.rs", "").is_test());
    }

    #[test]
    fn what_follows_an_item_for_tests_is_code() {
        let text = "mod a;
#[cfg(test)]
#[path = \"x.rs\"]
mod tests;
use b;
impl C {
    #[cfg(test)]
    fn d() {
        e();
    }

    fn f() {}
}
#[cfg(test)]
mod more {
    fn g() {}
}
fn h() {}";
        let text = Text::new("crates/a/src/b.rs", text);
        let code: Vec<_> = text.code().map(|(_, line)| line).collect();
        assert_eq!(code, ["mod a;", "use b;", "impl C {", "", "    fn f() {}", "}", "fn h() {}"]);
    }

    #[test]
    fn tests_at_the_end_are_not_code() {
        let text = Text::new("crates/a/src/b.rs", "one\ntwo\n#[cfg(test)]\nmod tests {}\n");
        assert_eq!(text.code().collect::<Vec<_>>(), [(1, "one"), (2, "two")]);
        assert_eq!(text.crate_name(), Some("a"));
    }
}
