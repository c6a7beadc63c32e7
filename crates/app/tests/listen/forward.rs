//! `gancho listen`: every published event reaches a local URL once, even after the gateway was unavailable.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use gancho_testkit::until;
use serde_json::Value;

use crate::{
    gateway::{Gateway, command},
    operator::Operator,
    receiver,
};

/// A command that runs until it is dropped, and the lines that it prints.
struct Listening {
    child: Child,
    lines: Receiver<String>,
    errors: Receiver<String>,
}

impl Listening {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = read(child.stdout.take().unwrap());
        let errors = read(child.stderr.take().unwrap());
        Self { child, lines, errors }
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(Duration::from_secs(30)).unwrap()
    }

    /// Waits for a line on standard error.
    fn said(&self, what: &str) -> String {
        loop {
            let line = self.errors.recv_timeout(Duration::from_secs(30)).unwrap();
            if line.contains(what) {
                return line;
            }
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(stream: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (send, receive) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let _ = send.send(line);
        }
    });
    receive
}

#[test]
fn events_are_forwarded_once_and_signed() {
    let at = Operator::start();
    let key = at.served.tenant("acme");
    let (address, seen) = receiver::start();
    let before = at.served.publish(&key, "invoice.old", "{}");
    let url = format!("http://{address}/hooks");
    let listening =
        Listening::start(at.command(&["listen", "--forward-to", &url, "--type", "invoice.*"]));
    let secret = listening.said("Signing secret: whsec_");
    let secret = secret.split_once(": ").unwrap().1.to_owned();
    listening.said("Press Ctrl-C");
    at.served.publish(&key, "other.thing", "{}");
    let ids: Vec<String> = (0..5)
        .map(|n| at.served.publish(&key, "invoice.paid", &format!("{{\"n\": {n}.0}}")))
        .collect();
    for id in &ids {
        let line = listening.line();
        assert!(line.contains("200") && line.contains(" ms  invoice.paid  "), "{line}");
        assert!(line.ends_with(id.as_str()), "in order: {line}");
    }
    let counts = seen.counts();
    assert_eq!(counts.len(), 5, "{counts:?}");
    assert!(
        !counts.contains_key(&before) && counts.values().all(|count| *count == 1),
        "{counts:?}"
    );

    // It verifies with the printed secret.
    let got = seen.last(&ids[0]).unwrap();
    assert!(String::from_utf8_lossy(&got.body).contains("\"data\":{\"n\": 0.0}"), "byte for byte");
    let body = at.folder.path().join("body");
    std::fs::write(&body, &got.body).unwrap();
    let headers: Vec<String> =
        got.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let file = at.folder.path().join("headers");
    std::fs::write(&file, headers.join("\n")).unwrap();
    let verify =
        ["verify", "--headers-file", file.to_str().unwrap(), "--body-file", body.to_str().unwrap()];
    at.run_with(&verify, &[("GANCHO_SECRET", &secret)], "").ok();

    // After a certain event.
    let after = ["listen", "--forward-to", &url, "--after", &ids[2], "--json"];
    let again = Listening::start(at.command(&after));
    for id in &ids[3..] {
        let line: Value = serde_json::from_str(&again.line()).unwrap();
        assert_eq!((&line["id"], &line["response_status"]), (&id.as_str().into(), &200.into()));
    }
}

#[test]
fn a_type_that_nothing_can_match_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let listen = ["listen", "--forward-to", "http://127.0.0.1:1/", "--type", "invoice*"];
    let refused = crate::operator::alone(folder.path(), &listen);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("did you mean `invoice.*`?"), "{}", refused.err);
}

#[test]
fn an_endpoint_with_a_wire_format_of_its_own_is_signed_alike() {
    let folder = tempfile::tempdir().unwrap();
    let profile = "[profiles.acme]\nenvelope = \"bare\"\nuser_agent = \"Acme/1\"\n\
        headers = [{ name = \"X-Acme-Id\", value = \"event_id\" }]\n\
        signature = { header = \"X-Acme-Signature\", scheme = \"sha256\" }\n";
    let config = folder.path().join("gancho.toml");
    std::fs::write(&config, profile).unwrap();
    let at = Operator::with(&[("GANCHO_CONFIG", config.to_str().unwrap())]);
    let key = at.served.tenant("acme");
    let (hook, delivered) = receiver::start();
    let body = format!(r#"{{"url":"http://{hook}/h","events":["*"],"profile":"acme"}}"#);
    let headers = [("x-api-key", key.as_str())];
    let made = crate::http::call(at.served.address, "POST", "/v1/webhooks", &headers, &body);
    assert_eq!(made.status, 201, "{}", made.body);
    let id = made.json()["id"].as_str().unwrap().to_owned();

    let (address, forwarded) = receiver::start();
    let url = format!("http://{address}/h");
    let listen = ["listen", "--forward-to", &url, "--endpoint", &id];
    let refused = at.run(&listen);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("with --config"), "{}", refused.err);
    let with_file = [&listen[..], &["--config", config.to_str().unwrap()]].concat();
    let listening = Listening::start(at.command(&with_file));
    listening.said("Press Ctrl-C");
    at.served.publish(&key, "a.b", r#"{"n":1}"#);
    listening.line();
    // The receivers know an id by `webhook-id` only; neither has got one.
    until("it is delivered", || !delivered.counts().is_empty());
    let [delivery, copy] = [&delivered, &forwarded].map(|seen| seen.last("").unwrap());
    assert_eq!(copy.body, delivery.body);
    for name in ["X-Acme-Id", "X-Acme-Signature", "user-agent"] {
        let of = |got: &receiver::Got| {
            got.headers.iter().find(|(one, _)| one.eq_ignore_ascii_case(name)).cloned()
        };
        assert!(of(&delivery).is_some(), "{name}");
        assert_eq!(of(&copy), of(&delivery), "{name}");
    }
}

#[test]
fn nothing_is_lost_or_repeated_while_the_gateway_is_away() {
    let folder = tempfile::tempdir().unwrap();
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let variables = [("GANCHO_API_LISTEN", port.as_str())];
    let gateway = Gateway::start(folder.path(), &variables);
    let key = gateway.tenant("acme");
    let (address, seen) = receiver::start();
    let mut listen =
        command(&["listen", "--forward-to", &format!("http://{address}/")], folder.path());
    listen.envs(variables);
    let listening = Listening::start(listen);
    listening.said("Press Ctrl-C");
    let mut ids = vec![gateway.publish(&key, "a.b", "1")];
    listening.line();
    gateway.stop();
    listening.said("reconnecting");
    let gateway = Gateway::start(folder.path(), &variables);
    ids.extend((0..3).map(|n| gateway.publish(&key, "a.b", &n.to_string())));
    for id in &ids[1..] {
        assert!(listening.line().ends_with(id.as_str()));
    }
    assert!(ids.iter().all(|id| seen.counts()[id] == 1), "{:?}", seen.counts());
}

#[test]
fn what_a_partner_sends_is_forwarded_too() {
    let at = Operator::start();
    at.receive(1);
    let (address, seen) = receiver::start();
    let arguments = ["listen", "--source", "acme", "--forward-to", &format!("http://{address}/")];
    let listening = Listening::start(at.command(&arguments));
    listening.said("Press Ctrl-C");
    let receipt = at.receive(1).remove(0);
    let line = listening.line();
    assert!(line.contains("200") && line.ends_with(&receipt), "{line}");
    until("it has arrived", || seen.last(&receipt).is_some());
    let refused = at.run(&["listen", "--forward-to", "localhost:8080"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(
        refused.err.contains("hint: for example, http://127.0.0.1:8080/hooks"),
        "{}",
        refused.err
    );
}
