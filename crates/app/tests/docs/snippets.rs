//! Runs the commands of pages that are not tutorials, in a prepared environment, and lists what is run where.

use std::{
    collections::BTreeSet,
    env, fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
};

use super::blocks::{Block, blocks, steps};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Run from the first command to the last, and compared with the output that they show.
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
/// Their commands are run in the environment below.
const SNIPPETS: [&str; 5] = [
    "docs/portal.md",
    "docs/security.md",
    "docs/operations.md",
    "docs/observability.md",
    "docs/production.md",
];
/// Everything else in a block: the document or folder, the language, and the test that runs or parses it.
const ELSEWHERE: [(&str, &str, &str); 35] = [
    ("README.md", "sh", "tests/packages/readme.py"),
    ("README.md", "python", "tests/clients/readme.py"),
    ("README.md", "ts", "tests/clients/readme.py"),
    ("clients/python/README.md", "python", "tests/clients/documents.py"),
    ("clients/python/README.md", "text", "tests/clients/documents.py"),
    ("clients/typescript/README.md", "ts", "tests/clients/documents.py"),
    ("clients/typescript/README.md", "text", "tests/clients/documents.py"),
    ("docs/clients/", "sh", "tests/clients/documents.py"),
    ("docs/clients/", "python", "tests/clients/documents.py"),
    ("docs/clients/", "ts", "tests/clients/documents.py"),
    ("docs/clients/", "text", "tests/clients/documents.py"),
    ("docs/cells.md", "sh", "crates/app/tests/cells/document.rs"),
    ("docs/cli.md", "yaml", "crates/app/tests/docs/samples.rs"),
    ("docs/cli.md", "text", "crates/app/src/commands/reference.rs"),
    ("docs/config.md", "sh", "crates/app/tests/docs/samples.rs"),
    ("docs/", "toml", "crates/app/tests/docs/samples.rs"),
    ("docs/email.md", "json", "crates/app/tests/docs/samples.rs"),
    ("docs/inbound.md", "json", "crates/app/tests/docs/samples.rs"),
    ("docs/ledger.md", "json", "crates/app/tests/docs/samples.rs"),
    ("docs/observability.md", "json", "crates/app/tests/docs/samples.rs"),
    ("docs/operations.md", "console", "ops/helm/check.py"),
    ("docs/production.md", "nginx", "tests/examples/proxies.py"),
    ("docs/production.md", "caddy", "tests/examples/proxies.py"),
    ("docs/production.md", "text", "crates/app/tests/docs/samples.rs"),
    ("docs/profiles.md", "text", "crates/app/tests/docs/profiles.rs"),
    ("docs/publish-from-sql.md", "sql", "crates/app/tests/sql/publish.rs"),
    ("docs/publish-from-sql.md", "text", "crates/app/tests/sql/publish.rs"),
    ("docs/runbook/", "sh", "crates/app/tests/ops/runbook.rs"),
    ("docs/verifying.md", "", "tests/verifiers/documents.py"),
    ("examples/", "sh", "tests/examples/readmes.py"),
    ("examples/", "sql", "tests/examples/readmes.py"),
    ("examples/", "text", "tests/examples/readmes.py"),
    ("packaging/", "sh", "packaging/try"),
    ("ARCHITECTURE.md", "arrows", "xtask/src/tidy.rs"),
    ("ARCHITECTURE.md", "libraries", "xtask/src/tidy.rs"),
];
/// Only the `gancho` command lines in them are parsed, by `cli/tests.rs`.
const PARSED: [(&str, &str, &str); 6] = [
    (
        "docs/isolation.md",
        "sh",
        "each takes minutes; bench/isolation.rs runs them with small sizes",
    ),
    ("docs/building.md", "sh", "builds the program"),
    ("CONTRIBUTING.md", "sh", "builds the program and runs these tests"),
    ("docs/moving/from-svix.md", "console", "asks someone else's server"),
    ("docs/moving/from-convoy.md", "console", "asks someone else's server"),
    ("docs/moving/from-outpost.md", "console", "asks someone else's server"),
];
/// Pictures, and code of the reader.
const NOT_OURS: [(&str, &str, &str); 6] = [
    ("ARCHITECTURE.md", "text", "a picture"),
    ("docs/delivery-states.md", "mermaid", "a picture"),
    ("docs/api.md", "text", "headers"),
    ("docs/concepts.md", "text", "a picture"),
    ("docs/moving/from-bullmq.md", "js", "what the reader has"),
    ("docs/portal.md", "html", "what the reader writes"),
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

/// Whether a document is run as a whole, and this block of it.
fn is_run(name: &str, block: &Block) -> bool {
    let languages: &[&str] = match name {
        _ if TUTORIALS.contains(&name) => &["sh", "text"],
        _ if SNIPPETS.contains(&name) => &["sh"],
        _ => &[],
    };
    languages.contains(&&*block.language)
}

#[test]
fn every_block_of_every_document_is_run_or_says_why_not() {
    let mut found = Vec::new();
    documents(Path::new(ROOT), &mut found);
    let listed: BTreeSet<_> = ELSEWHERE.into_iter().chain(PARSED).chain(NOT_OURS).collect();
    let mut used = BTreeSet::new();
    for path in found {
        let name = path.strip_prefix(ROOT).unwrap().to_str().unwrap();
        for block in blocks(&fs::read_to_string(&path).unwrap()) {
            if is_run(name, &block) {
                continue;
            }
            let entry = listed.iter().rev().find(|(document, language, _)| {
                let of_it =
                    name == *document || document.ends_with('/') && name.starts_with(document);
                of_it && (language.is_empty() || *language == block.language)
            });
            let at = format!("{name}:{}, {}", block.line, block.language);
            used.insert(*entry.unwrap_or_else(|| panic!("no test runs the block at {at}")));
        }
    }
    assert_eq!(used, listed, "listed, but there is no such block");
    for (document, _, test) in ELSEWHERE {
        let text = fs::read_to_string(Path::new(ROOT).join(test)).unwrap();
        let name = document.trim_end_matches('/').rsplit('/').next().unwrap();
        assert!(text.contains(name), "{test} does not name {document}");
    }
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
    status) kill -0 $SERVER ;;
  esac
}
# Publishes as long as someone is watching, who sees the first lines and leaves.
watch() {
  ( while $PROGRAM publish a.b 1 --tenant acme && $PROGRAM publish invoice.paid 1 --tenant acme; do :; done ) > published &
  local publisher=$!
  "$@" | head -n 2 | tee watched
  kill $publisher
  grep . watched
}
gancho() {
  case "$*" in
    # Where a person is asked.
    *replay*) $PROGRAM "$@" --yes ;;
    "deliveries tail"*) watch $PROGRAM "$@" ;;
    serve) stop; start ;;
    *) $PROGRAM "$@" ;;
  esac
}
curl() { case "$*" in *deliveries/tail*) watch command curl "$@" ;; *) command curl "$@" ;; esac; }
# What would change this machine.
dpkg() { test "$1 ${2%_*}" = "-i gancho_$($PROGRAM version | grep -o '[0-9.]*' | head -n 1)"; }
update-ca-certificates() { test -s $HOME/usr/local/share/ca-certificates/internal-ca.crt; }
sudo() { "$@"; }
ssh() { local node=$1; shift; if [ $node = node2 ]; then "${@//data/data-of-node2}"; else "$@"; fi; }
aws() { cat $HOME/archived.json; }
trap 'kill $SERVER' EXIT
start
gancho tenants create acme
gancho endpoints create http://127.0.0.1:1/ --tenant acme --event 'a.*' --event 'invoice.*' --retry-schedule 1s
gancho publish a.b 1 --tenant acme
until gancho dlq list --tenant acme --json | jq -e '.data | length == 1'; do sleep 0.2; done
mkdir -p data/archive/webhooks/acme backup
gancho dlq export --tenant acme > archived.json
cp archived.json data/archive/webhooks/acme/dlv_1.json
gancho sources create shop
gancho sources keys add shop k1
gancho sources simulate shop
gancho ledger checkpoint
mkdir -p usr/bin etc/systemd/system etc/gancho usr/local/share/ca-certificates
touch etc/gancho/environment
echo certificate > internal-ca.crt
echo $GANCHO_ADMIN_TOKEN > data/admin.token
cp $PROGRAM gancho
"#;

fn run(document: &str) {
    let text = fs::read_to_string(Path::new(ROOT).join(document)).unwrap();
    let commands: String = steps(&text).into_iter().map(|step| step.commands).collect();
    // The first tenant is made by the page itself.
    let makes_tenant = commands.contains("gancho tenants create acme");
    let stage = if makes_tenant { STAGE.replace("acme", "first") } else { STAGE.to_owned() };
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().display().to_string();
    let commands = commands
        .replace("/var/lib/gancho", &format!("{home}/data"))
        .replace(" /backup/", &format!(" {home}/backup/"))
        .replace(" /usr/", &format!(" {home}/usr/"))
        .replace(" /etc/", &format!(" {home}/etc/"))
        .replace("=/etc/", &format!("={home}/etc/"));
    std::os::unix::fs::symlink(Path::new(ROOT).join("ops"), folder.path().join("ops")).unwrap();
    #[expect(clippy::disallowed_methods, reason = "handed on to the commands under test")]
    let path = env::var("PATH").unwrap();
    let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (port, ingest) = (free(), free());
    let commands = commands.replace("127.0.0.1:3000", &format!("127.0.0.1:{port}"));
    let ran = Command::new("timeout")
        .args(["--kill-after=5", "120", "bash", "-xec", &format!("set -u\n{stage}{commands}")])
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
        .env("TOKEN", "choose-a-long-token-of-your-own")
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

#[test]
fn the_commands_of_the_page_on_observability() {
    run("docs/observability.md");
}

#[test]
fn the_commands_of_the_page_on_production() {
    run("docs/production.md");
}
