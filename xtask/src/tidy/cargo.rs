//! What cargo knows: the workspace's crates with what each uses, and every package that is built.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Command,
};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

pub struct Cargo {
    pub members: Vec<Member>,
    /// The packages of others.
    pub packages: Vec<Package>,
}

/// A crate of the workspace, by its directory's name.
#[derive(Debug, Clone, Default)]
pub struct Member {
    pub name: String,
    pub folder: String,
    pub uses: Vec<Use>,
    /// Packages that are built into it, without those of its tests.
    pub reach: BTreeSet<String>,
}

#[derive(Debug, Clone)]
pub struct Use {
    /// A crate of the workspace by its directory's name, or a library.
    pub name: String,
    /// The name in the code, if it is not the library's.
    pub rename: Option<String>,
    pub is_ours: bool,
    pub only_in_tests: bool,
    pub features: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Package {
    pub name: String,
    pub version: String,
    pub license: Option<String>,
    /// `None` for a package on this disk.
    pub source: Option<String>,
    manifest_path: String,
    dependencies: Vec<Dependency>,
}

#[derive(Debug, Clone, Deserialize)]
struct Dependency {
    name: String,
    rename: Option<String>,
    kind: Option<String>,
    features: Vec<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

impl Package {
    #[cfg(test)]
    pub fn new(name: &str, license: Option<&str>, source: Option<&str>) -> Self {
        Self {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: license.map(str::to_owned),
            source: source.map(str::to_owned),
            manifest_path: String::new(),
            dependencies: Vec::new(),
        }
    }
}

pub fn read(root: &Path) -> Result<Cargo> {
    let host = host()?;
    let text = run(
        root,
        &["metadata", "--format-version=1", "--all-features", "--filter-platform", &host],
    )?;
    let metadata: Metadata = serde_json::from_str(&text).context("reading cargo's metadata")?;
    let (ours, others): (Vec<_>, Vec<_>) =
        metadata.packages.into_iter().partition(|package| is_ours(root, package));

    let folders: BTreeMap<&str, String> =
        ours.iter().map(|package| (package.name.as_str(), folder(root, package))).collect();
    let members = ours.iter().map(|package| {
        let folder = folders.get(package.name.as_str()).cloned().unwrap_or_default();
        Ok(Member {
            name: short(&folder),
            uses: package.dependencies.iter().map(|used| to_use(used, &folders)).collect(),
            reach: names(&built(root, &host, &["-p", &package.name, "-e", "normal"])?),
            folder,
        })
    });
    let members = members.collect::<Result<Vec<_>>>()?;

    // The metadata also names packages that only an unused feature would bring.
    let built = built(root, &host, &["--workspace", "--all-features", "-e", "all"])?;
    let is_built = |package: &Package| {
        built.contains(&(package.name.clone(), format!("v{}", package.version)))
    };
    Ok(Cargo { members, packages: others.into_iter().filter(is_built).collect() })
}

fn is_ours(root: &Path, package: &Package) -> bool {
    package.source.is_none() && Path::new(&package.manifest_path).starts_with(root)
}

fn folder(root: &Path, package: &Package) -> String {
    let manifest = Path::new(&package.manifest_path);
    let folder = manifest.parent().and_then(|folder| folder.strip_prefix(root).ok());
    folder.map(|folder| folder.to_string_lossy().into_owned()).unwrap_or_default()
}

fn short(folder: &str) -> String {
    folder.rsplit('/').next().unwrap_or_default().to_owned()
}

fn to_use(dependency: &Dependency, folders: &BTreeMap<&str, String>) -> Use {
    let ours = folders.get(dependency.name.as_str());
    Use {
        name: ours.map_or_else(|| dependency.name.clone(), |folder| short(folder)),
        rename: dependency.rename.clone(),
        is_ours: ours.is_some(),
        only_in_tests: dependency.kind.as_deref() == Some("dev"),
        features: dependency.features.clone(),
    }
}

fn names(built: &BTreeSet<(String, String)>) -> BTreeSet<String> {
    built.iter().map(|(name, _)| name.clone()).collect()
}

/// Returns names and versions of the packages that `cargo tree` prints.
fn built(root: &Path, host: &str, which: &[&str]) -> Result<BTreeSet<(String, String)>> {
    let mut arguments = vec!["tree", "--prefix", "none", "--target", host];
    arguments.extend(which);
    Ok(lines(&run(root, &arguments)?))
}

fn lines(text: &str) -> BTreeSet<(String, String)> {
    let pairs = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.to_owned()))
    });
    // The lines in between are features: `tokio feature "net"`.
    pairs.filter(|(_, version)| version.starts_with('v')).collect()
}

fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("running rustc")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not say for which machine it builds")
}

fn run(root: &Path, arguments: &[&str]) -> Result<String> {
    #[expect(clippy::disallowed_methods, reason = "cargo says there which one it is")]
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(arguments)
        .current_dir(root)
        .output()
        .with_context(|| format!("running cargo {}", arguments.join(" ")))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        bail!("cargo {} failed:\n{why}", arguments.join(" "));
    }
    String::from_utf8(output.stdout).context("cargo wrote something that is not text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_tree_prints() {
        let found = lines(
            "gancho v0.1.0 (/work/crates/app)\nserde feature \"std\"\nserde v1.0.229\n\
             serde_derive v1.0.229 (proc-macro)\nserde v1.0.229 (*)\n\n",
        );
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["gancho", "serde", "serde_derive"]);
    }

    #[test]
    fn names_our_crates_by_their_folder() {
        let folders = BTreeMap::from([("gancho-store", "crates/store".to_owned())]);
        let used = |name: &str, kind: Option<&str>| {
            let kind = kind.map(str::to_owned);
            to_use(
                &Dependency { name: name.to_owned(), rename: None, kind, features: vec![] },
                &folders,
            )
        };
        let ours = used("gancho-store", Some("dev"));
        assert!(ours.is_ours && ours.only_in_tests && ours.name == "store");
        let other = used("tokio", None);
        assert!(!other.is_ours && !other.only_in_tests && other.name == "tokio");
    }
}
