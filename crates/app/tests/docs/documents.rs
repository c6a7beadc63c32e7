//! The commands of the documents, run as they stand there.

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Stdio},
};

use tempfile::TempDir;

/// All shell blocks of a document as one script, in their order.
fn script(document: &str) -> String {
    let mut script =
        String::from("set -euo pipefail\ntrap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n");
    let mut inside = false;
    for line in document.lines() {
        match (inside, line) {
            (false, "```sh") => inside = true,
            (true, "```") => inside = false,
            (true, command) => {
                script.push_str(command);
                script.push('\n');
            }
            (false, _) => {}
        }
    }
    script
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Runs a document in an empty folder, with free ports in the place of those that it names.
fn run(name: &str, ports: &[u16]) -> TempDir {
    let documents = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut script = script(&fs::read_to_string(documents.join(name)).unwrap());
    for port in ports {
        let named = format!("127.0.0.1:{port}");
        let in_python = format!("(\"127.0.0.1\", {port})");
        let as_flag = format!("--port {port} ");
        assert!(script.contains(&named), "{name} does not name {named}");
        let free = free_port();
        script = script.replace(&named, &format!("127.0.0.1:{free}"));
        script = script.replace(&in_python, &format!("(\"127.0.0.1\", {free})"));
        script = script.replace(&as_flag, &format!("--port {free} "));
    }
    let folder = tempfile::tempdir().unwrap();
    symlink(env!("CARGO_BIN_EXE_gancho"), folder.path().join("gancho")).unwrap();
    // With the packages that the documents say they need.
    let python = gancho_testkit::python::packages("crates/mail/tests/servers/requirements.txt");
    let python = python.unwrap();
    let python = Path::new(&python).parent().unwrap().display().to_string();
    #[expect(clippy::disallowed_methods, reason = "handed on to the commands under test")]
    let path = format!("{}:{python}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    // A command that never ends must not hold the tests up.
    let output = Command::new("timeout")
        .args(["--kill-after=5", "120", "bash", "-x", "-c", &script])
        .current_dir(folder.path())
        .env_clear()
        .env("PATH", path)
        .env("HOME", folder.path())
        // Unless the document says where partners post.
        .env("GANCHO_INGEST_LISTEN", "127.0.0.1:0")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let log = fs::read_to_string(folder.path().join("gancho.log")).unwrap_or_default();
    assert!(
        output.status.success(),
        "{name} failed: {}\n{}\n{}\n{log}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    folder
}

#[test]
fn the_quick_start_leaves_nothing_behind() {
    let folder = run("quick-start.md", &[3000, 8800]);
    let left: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name != "gancho")
        .collect();
    assert!(left.is_empty(), "the quick start leaves {left:?} behind");
}

#[test]
fn sending_webhooks() {
    run("outbound.md", &[3000, 8800]);
}

#[test]
fn receiving_webhooks() {
    run("inbound.md", &[3000, 9460, 9458]);
}

#[test]
fn auditing_the_ledger() {
    run("ledger.md", &[3000, 9460]);
}

#[test]
fn sending_email() {
    run("email.md", &[3000, 2525, 8800]);
}

#[test]
fn moving_from_svix() {
    run("moving/from-svix.md", &[3000]);
}

#[test]
fn moving_from_convoy() {
    run("moving/from-convoy.md", &[3000]);
}

#[test]
fn moving_from_outpost() {
    run("moving/from-outpost.md", &[3000]);
}

#[test]
fn moving_from_bullmq() {
    run("moving/from-bullmq.md", &[3000]);
}
