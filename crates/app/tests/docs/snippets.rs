//! Runs the commands of pages that are not tutorials, in a prepared environment, and lists what is run where.

use std::{
    collections::BTreeSet,
    env, fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
};

use super::blocks::steps;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Every document with commands is in one of these lists.
const TUTORIALS: [&str; 9] = [
    "docs/quick-start.md",
    "docs/outbound.md",
    "docs/inbound.md",
    "docs/ledger.md",
    "docs/email.md",
    "docs/moving/from-svix.md",
    "docs/moving/from-convoy.md",
    "docs/moving/from-outpost.md",
    "docs/moving/from-bullmq.md",
];
const SNIPPETS: [&str; 3] = ["docs/portal.md", "docs/security.md", "docs/operations.md"];
const ELSEWHERE: [(&str, &str); 2] = [
    ("docs/runbook/", "ops/runbook.rs"),
    ("README.md", "tests/packages and tests/clients/readme.py"),
];
/// Their `gancho` command lines are only parsed, by `cli/tests.rs`.
const PARSED: [(&str, &str); 9] = [
    ("docs/observability.md", "a collector, and commands that run until they are interrupted"),
    ("docs/cells.md", "databases on other machines; cells/ runs the same commands"),
    ("docs/isolation.md", "each takes minutes; bench/isolation.rs runs them with small sizes"),
    ("docs/config.md", "lines of an environment file; tenants/environment.rs sets them"),
    ("docs/building.md", "they build the program"),
    ("CONTRIBUTING.md", "they build the program and run these tests"),
    ("docs/clients/", "they install the clients from a registry"),
    ("packaging/python/README.md", "it installs the package"),
    ("packaging/npm/README.md", "it installs the package"),
];

fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() && !["target", "node_modules", ".git"].iter().any(|one| name == **one) {
            documents(&path, found);
        } else if path.extension().is_some_and(|one| one == "md") {
            found.push(path);
        }
    }
}

#[test]
fn every_document_with_commands_is_run_or_says_why_not() {
    let mut found = Vec::new();
    documents(Path::new(ROOT), &mut found);
    let mut listed: BTreeSet<&str> = TUTORIALS.into_iter().chain(SNIPPETS).collect();
    listed.extend(ELSEWHERE.iter().chain(&PARSED).map(|(name, _)| *name));
    let mut used = BTreeSet::new();
    for path in found {
        if steps(&fs::read_to_string(&path).unwrap()).is_empty() {
            continue;
        }
        let name = path.strip_prefix(ROOT).unwrap().to_str().unwrap();
        let entry = listed
            .iter()
            .find(|listed| name == **listed || listed.ends_with('/') && name.starts_with(**listed));
        used.insert(*entry.unwrap_or_else(|| panic!("no test runs the commands of {name}")));
    }
    assert_eq!(used, listed, "listed, but without commands");
}

/// A gateway in the background, with a tenant, a dead letter, an archive and a ledger.
const STAGE: &str = r#"
start() {
  $PROGRAM serve >> gancho.log 2>&1 &
  SERVER=$!
  curl -s --retry 50 --retry-connrefused --retry-delay 1 -o ready $API/readyz
}
stop() { kill $SERVER; wait $SERVER; }
systemctl() {
  case $1 in
    start) start ;;
    stop) stop ;;
    restart) stop; start ;;
  esac
}
# Where a person is asked.
gancho() { case "$*" in *replay*) $PROGRAM "$@" --yes ;; *) $PROGRAM "$@" ;; esac; }
aws() { cat $HOME/archived.json; }
trap 'kill $SERVER' EXIT
start
gancho tenants create acme
gancho endpoints create http://127.0.0.1:1/ --tenant acme --event 'a.*' --retry-schedule 1s
gancho publish a.b 1 --tenant acme
until gancho dlq list --tenant acme --json | jq -e '.data | length == 1'; do sleep 0.2; done
mkdir -p data/archive/webhooks/acme backup
gancho dlq export --tenant acme > archived.json
cp archived.json data/archive/webhooks/acme/dlv_1.json
gancho sources create shop
gancho sources keys add shop k1
gancho sources simulate shop
gancho ledger checkpoint
"#;

fn run(document: &str) {
    let text = fs::read_to_string(Path::new(ROOT).join(document)).unwrap();
    let commands: String = steps(&text).into_iter().map(|step| step.commands).collect();
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().display().to_string();
    let commands = commands
        .replace("/var/lib/gancho", &format!("{home}/data"))
        .replace(" /backup/", &format!(" {home}/backup/"));
    #[expect(clippy::disallowed_methods, reason = "handed on to the commands under test")]
    let path = env::var("PATH").unwrap();
    let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (port, ingest) = (free(), free());
    let ran = Command::new("timeout")
        .args(["--kill-after=5", "120", "bash", "-xec", &format!("set -u\n{STAGE}{commands}")])
        .current_dir(folder.path())
        .env_clear()
        .env("PATH", path)
        .env("HOME", &home)
        .env("PROGRAM", env!("CARGO_BIN_EXE_gancho"))
        .env("API", format!("http://127.0.0.1:{port}"))
        .env("GANCHO_API_LISTEN", format!("127.0.0.1:{port}"))
        .env("GANCHO_INGEST_LISTEN", format!("127.0.0.1:{ingest}"))
        .env("GANCHO_DATA_DIR", format!("{home}/data"))
        .env("GANCHO_ADMIN_TOKEN", "choose-a-long-token-of-your-own")
        .env("GANCHO_ALLOW_HTTP", "true")
        .env("GANCHO_ALLOW_CIDRS", "127.0.0.0/8")
        .env("GANCHO_ALLOW_PORTS", "1")
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{document}: {}\n{}",
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr)
    );
}

#[test]
fn the_commands_of_the_portals_page() {
    run("docs/portal.md");
}

#[test]
fn the_commands_of_the_page_on_security() {
    run("docs/security.md");
}

#[test]
fn the_commands_of_the_page_on_operations() {
    run("docs/operations.md");
}
