//! The first of the two commands in README.md.

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use gancho_testkit::until;

use crate::{http, pipe_process::GANCHO};

/// Returns a free port with free ones after it, separate from those of other tests.
fn port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().min(65_000)
}

fn dev(folder: &Path, port: u16) -> Command {
    let mut dev = Command::new(GANCHO);
    dev.args(["dev", "--port", &port.to_string(), "--data-dir"]).arg(folder);
    // Nothing real is touched, whatever the machine's settings are.
    dev.env("GANCHO_DATABASE_URL", "postgres://nobody@127.0.0.1:1/none");
    dev.env("GANCHO_CONFIG", "/nowhere/gancho.toml");
    dev
}

#[test]
fn dev_delivers_a_first_signed_event_and_says_what_to_type() {
    let folder = tempfile::tempdir().unwrap();
    let mut keys = Vec::new();
    for _ in 0..2 {
        // The second run finds what the first has left.
        let started = Instant::now();
        let shown = dev(folder.path(), port()).arg("--once").output().unwrap();
        let text = String::from_utf8(shown.stdout).unwrap();
        assert!(shown.status.success(), "{text}{}", String::from_utf8_lossy(&shown.stderr));
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        for part in [
            "is running",
            "published",
            "attempt 1: 200 in",
            "signature verified",
            "/docs",
            "/metrics",
        ] {
            assert!(text.contains(part), "`{part}` is not in: {text}");
        }
        for gone in ["GANCHO_API_KEY", "/ui/login/"] {
            assert!(!text.contains(gone), "it has ended, and `{gone}` would not work: {text}");
        }
        assert!(!text.contains('\u{1b}'), "no colors without a terminal");
        keys.push(std::fs::read_to_string(folder.path().join("dev.key")).unwrap());
    }
    assert_eq!(keys[0], keys[1], "what was copied still works");
}

/// The ports after these are those of databases, which no endpoint may have, and there is none after the
/// last.
#[test]
fn the_receiver_of_dev_finds_a_port_that_may_get_deliveries() {
    for port in [5_431, 3_305, 6_378, u16::MAX] {
        let folder = tempfile::tempdir().unwrap();
        let shown = dev(folder.path(), port).arg("--once").output().unwrap();
        let text = String::from_utf8(shown.stdout).unwrap();
        assert!(shown.status.success(), "{port}: {}", String::from_utf8_lossy(&shown.stderr));
        assert!(text.contains("signature verified"), "{port}: {text}");
    }
}

struct Running {
    child: Child,
    stdin: ChildStdin,
    text: Arc<Mutex<String>>,
}

impl Running {
    fn start(folder: &Path, port: u16) -> Self {
        let mut child =
            dev(folder, port).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let text = Arc::new(Mutex::new(String::new()));
        let heard = text.clone();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let mut text = heard.lock().unwrap();
                text.push_str(&line);
                text.push('\n');
            }
        });
        let running = Self { child, stdin, text };
        until("it says what to type", || running.says("press Enter"));
        running
    }

    fn says(&self, part: &str) -> bool {
        self.text.lock().unwrap().contains(part)
    }

    fn count(&self, part: &str) -> usize {
        self.text.lock().unwrap().matches(part).count()
    }

    fn types(&mut self, letters: &str) {
        self.stdin.write_all(letters.as_bytes()).unwrap();
    }

    /// Returns the address in a line that begins with this name.
    fn address(&self, name: &str) -> SocketAddr {
        let text = self.text.lock().unwrap();
        let line = text.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
        let url = line.split("http://").nth(1).unwrap();
        url.split(['/', ' ']).next().unwrap().parse().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn what_is_typed_and_what_is_printed_works() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let mut dev = Running::start(&folder.path().join("it's a folder"), port);
    assert!(dev.says(&format!("port {port} is in use")), "{}", dev.text.lock().unwrap());
    let (api, receiver) = (dev.address("API"), dev.address("receiver"));
    assert_ne!(api.port(), port);

    // Runs the printed commands unchanged in a shell.
    let text = dev.text.lock().unwrap().clone();
    let commands =
        text.split("in the same directory:").nth(1).unwrap().split("Type a letter").next();
    let ran = Command::new("sh").args(["-ec", commands.unwrap()]).output().unwrap();
    let said = String::from_utf8(ran.stdout).unwrap();
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && said.contains("evt_"), "{said} {errors} {commands:?}");
    until("it arrives", || dev.says("inv_1"));

    dev.types("p\n");
    until("another arrives", || dev.count("signature verified") == 3);
    dev.types("f\n");
    until("it fails and is tried again", || {
        dev.says("attempt 1: 500 in") && dev.says("retry in 5 s") && dev.says("attempt 2: 200 in")
    });
    dev.types("w\n");
    until("a partner's webhook is forwarded", || {
        dev.says("received") && dev.count("signature verified") == 5
    });
    dev.types("e\n");
    until("an e-mail is shown", || dev.says("Subject: Order") && dev.says("Hello Ana"));
    let ingest = dev.address("partner");
    assert_eq!(http::call(ingest, "POST", "/webhooks/acme", &[], "{}").status, 403);
    until("what is rejected is shown", || dev.says("rejected"));
    let invalid = http::call(receiver, "POST", "/control", &[], r#"{"mode":"odd"}"#);
    assert_eq!(invalid.status, 422);
    for path in ["/docs", "/metrics", "/healthz", "/openapi.json"] {
        let status = http::call(api, "GET", path, &[], "").status;
        assert!(status < 400, "{path}: {status}");
    }
    // The link signs in, but only once.
    let link = text.split("/ui/login/").nth(1).unwrap().split_whitespace().next().unwrap();
    let link = format!("/ui/login/{link}");
    let first = http::call(api, "GET", &link, &[], "");
    assert_eq!(first.status, 303, "{}", first.head);
    assert!(first.head.contains("set-cookie: gancho_session="), "{}", first.head);
    let again = http::call(api, "GET", &link, &[], "");
    assert_eq!(again.status, 303);
    assert!(!again.head.contains("gancho_session") && again.head.contains("location: /ui/login"));
    dev.types("d\ns\no\ni\nx\n");
    until("it shows figures and help", || {
        dev.says("dead letters") && dev.count("press Enter") >= 2
    });
    dev.types("q\n");
    assert!(dev.child.wait().unwrap().success());
    until("it says goodbye", || dev.says("all in-flight deliveries finished"));
}

#[test]
fn keys_are_not_offered_where_nobody_can_type() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = dev(folder.path(), port());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.by_ref().any(|line| line.unwrap().ends_with("deliveries list")));
    let id = child.id().to_string();
    assert!(Command::new("kill").arg(&id).status().unwrap().success());
    let rest: String = lines.map(|line| line.unwrap() + "\n").collect();
    assert!(rest.contains("Stopped") && !rest.contains("press Enter"), "{rest}");
    assert!(child.wait().unwrap().success());
}

/// In the directory of `gancho dev`, the address alone is enough. Elsewhere the command says what is missing.
#[test]
fn commands_find_the_key_of_dev_in_its_directory_only() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Running::start(&folder.path().join(".gancho-dev"), port());
    let api = dev.address("API");
    let run = |folder: &Path, name: &str, value: String| {
        let mut command = Command::new(GANCHO);
        command.args(["tenants", "list"]).current_dir(folder).env_clear();
        command.env("HOME", folder).env(name, value).output().unwrap()
    };
    let with_url = run(folder.path(), "GANCHO_URL", format!("http://{api}"));
    assert!(with_url.status.success(), "{}", String::from_utf8_lossy(&with_url.stderr));
    assert!(String::from_utf8_lossy(&with_url.stdout).contains("demo"));

    let elsewhere = tempfile::tempdir().unwrap();
    let lost = run(elsewhere.path(), "GANCHO_API_LISTEN", api.to_string());
    let said = String::from_utf8_lossy(&lost.stderr);
    let expected = format!("there is no key here for the gateway on {api}");
    assert!(lost.status.code() == Some(5) && said.contains(&expected), "{said}");
    assert!(said.contains("hint: "), "{said}");
}

#[test]
fn the_first_screen_fits_a_terminal_and_every_key_is_one_press() {
    let folder = tempfile::tempdir().unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/dev/terminal.py");
    let ran = Command::new("python3").arg(script).arg(GANCHO).arg(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn the_picture_of_dev_is_what_a_terminal_shows() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/dev/picture.py");
    let picture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/pictures/dev.svg");
    let ran = Command::new("python3").args([script, GANCHO, "--check", picture]).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}
