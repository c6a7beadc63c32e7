//! Runs the commands of the documents unchanged. Compares their output with the document, and checks that
//! nothing is left at the end: no job, no file, no variable. `GANCHO_WRITE_DOCS=1` writes the output into the
//! document.

use std::{
    env,
    fmt::Write,
    fs,
    net::TcpListener,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Stdio},
};

use tempfile::TempDir;

use super::blocks::{Step, is_shown, shown_as_is, steps, with_answers};

const DOCUMENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

/// Returns all steps as one script. Each prints to its own file.
fn script(steps: &[Step]) -> String {
    let mut script = String::from(
        "set -euo pipefail\nexec 3> $TO/trace\nBASH_XTRACEFD=3\nset -x\n\
         trap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n",
    );
    for (number, step) in steps.iter().enumerate() {
        write!(script, "exec > $TO/{number} 2>&1\n{}", step.commands).unwrap();
    }
    script += "exec > $TO/left 2>&1\njobs -r\ncompgen -e GANCHO_ || true\nls -A\ntrap - EXIT\n";
    script
}

/// Ports that the system gives to nobody else: one from its own range may be that of a connection when it is needed. They
/// are apart, because a gateway takes those that follow its own, too.
fn free_ports(count: usize) -> Vec<u16> {
    let first = 10_000 + (std::process::id() % 200) as u16 * 100;
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let free: Vec<u16> = (first..32_000).step_by(20).filter(is_free).take(count).collect();
    assert_eq!(free.len(), count, "no free ports from {first} on");
    free
}

/// Runs a document in an empty directory, with free ports in place of those that it names.
fn run(name: &str, ports: &[u16]) {
    let path = Path::new(DOCUMENTS).join(name);
    let document = fs::read_to_string(&path).unwrap();
    let steps = steps(&document);
    let mut script = script(&steps);
    let free: Vec<(u16, u16)> = ports.iter().copied().zip(free_ports(ports.len())).collect();
    for (port, free) in &free {
        assert!(script.contains(&format!("127.0.0.1:{port}")), "{name} does not name {port}");
        for form in ["127.0.0.1:{}", "(\"127.0.0.1\", {})", "--port {} "] {
            let with = |port: &u16| form.replace("{}", &port.to_string());
            script = script.replace(&with(port), &with(free));
        }
    }
    let (folder, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    run_script(name, &script, folder.path(), &to);

    let answers: Vec<String> = (0..steps.len())
        .map(|number| {
            let printed = fs::read(to.path().join(number.to_string())).unwrap();
            let mut printed = String::from_utf8_lossy(&printed).into_owned();
            for (port, free) in &free {
                printed = printed.replace(&format!(":{free}"), &format!(":{port}"));
            }
            printed.replace(&folder.path().display().to_string(), "~")
        })
        .collect();
    #[expect(clippy::disallowed_methods, reason = "how the documents are written")]
    if env::var_os("GANCHO_WRITE_DOCS").is_some() {
        fs::write(&path, with_answers(&document, &steps, &answers)).unwrap();
        return;
    }
    for (step, answer) in steps.iter().zip(&answers) {
        let shown = step.answer.as_deref().unwrap_or_default();
        assert!(
            is_shown(shown, answer),
            "{name}:{}: shows\n{shown}\nand the commands print\n{}",
            step.line,
            shown_as_is(answer)
        );
    }
    let left = fs::read_to_string(to.path().join("left")).unwrap();
    let left = left.replace("GANCHO_INGEST_LISTEN\n", "");
    assert_eq!(left, "gancho\n", "{name} leaves more behind");
}

fn run_script(name: &str, script: &str, folder: &Path, to: &TempDir) {
    // A link, so that the name of the program is short.
    symlink(env!("CARGO_BIN_EXE_gancho"), folder.join("gancho")).unwrap();
    // With the packages that the documents require.
    let python = gancho_testkit::python::packages("crates/mail/tests/servers/requirements.txt");
    let python = python.unwrap();
    let python = Path::new(&python).parent().unwrap().display().to_string();
    #[expect(clippy::disallowed_methods, reason = "handed on to the commands under test")]
    let path = format!("{}:{python}:{}", folder.display(), env::var("PATH").unwrap());
    // A command that never ends must not block the tests.
    let status = Command::new("timeout")
        .args(["--kill-after=5", "120", "bash", "-c", script])
        .current_dir(folder)
        .env_clear()
        .env("PATH", path)
        .env("HOME", folder)
        .env("TO", to.path())
        // Unless the document sets the address of the ingest listener.
        .env("GANCHO_INGEST_LISTEN", "127.0.0.1:0")
        .stdin(Stdio::null())
        .status()
        .unwrap();
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    let trace = read(&to.path().join("trace"));
    let last = trace.lines().rev().take(12).collect::<Vec<_>>();
    let last: Vec<_> = last.into_iter().rev().collect();
    let printed: Vec<_> = (0..99).map(|number| read(&to.path().join(number.to_string()))).collect();
    let printed = printed.iter().rev().find(|printed| !printed.is_empty());
    let log = read(&folder.join("gancho.log"));
    assert!(status.success(), "{name}: {status}\n{}\n{printed:?}\n{log}", last.join("\n"));
}

#[test]
fn the_quick_start() {
    run("quick-start.md", &[3000, 8800]);
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
