//! `gancho publish` and `gancho trigger`.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    process::{Command, Stdio},
    thread,
};

use gancho_testkit::until;

use crate::{gateway::command, operator::Operator, receiver};

#[test]
fn one_event_from_an_argument_a_file_or_standard_input() {
    let at = Operator::start();
    at.served.tenant("acme");
    let (address, seen) = receiver::start();
    at.run(&["endpoints", "create", &format!("http://{address}/")]).ok();

    let sent = at.run(&["publish", "invoice.paid", r#"{"b": 1.0, "a": 2}"#]).ok();
    let id = sent.out.trim();
    assert!(id.starts_with("evt_") && sent.err.contains("to 1 endpoint."), "{sent:?}");
    until("it has arrived", || seen.body(id).is_some());
    let body = String::from_utf8(seen.body(id).unwrap()).unwrap();
    assert!(body.contains(r#""data":{"b": 1.0, "a": 2}"#), "byte for byte: {body}");

    let piped =
        at.run_with(&["publish", "a.b", "--subject", "s", "--json"], &[], "[1]\n").ok().json();
    assert_eq!(piped["deliveries"], 1);
    let path = at.folder.path().join("data.json");
    fs::write(&path, "7").unwrap();
    let again = ["publish", "a.b", "--data-file", path.to_str().unwrap(), "--idempotency-key", "k"];
    assert_eq!(at.run(&again).ok().out, at.run(&again).ok().out);

    let wrong = at.run(&["publish", "a.b", "{"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.starts_with("error: the data is not JSON"), "{}", wrong.err);
    let missing = at.run(&["publish", "a.b", "--data-file", "nowhere.json"]);
    assert_eq!(missing.code, 2, "{}", missing.err);
    assert!(missing.err.contains("hint: check the path"), "{}", missing.err);
    assert_eq!(at.run(&["publish", "Not a type!", "1"]).code, 4);
    let nothing = at.run(&["publish"]);
    assert_eq!(nothing.code, 2, "{}", nothing.err);
    assert!(nothing.err.contains("--file events.ndjson"), "{}", nothing.err);

    let shown = at.json(&["event-types", "list"]);
    let name = shown["data"][0]["name"].as_str().unwrap();
    let id = at.run(&["trigger", name, "--set", "extra.note=hello"]).ok().out;
    let event = at.json(&["events", "show", id.trim()]);
    assert_eq!(event["data"]["extra"]["note"], "hello", "{event}");
    assert_eq!(at.run(&["trigger", "no.such.type"]).code, 4);
}

#[test]
fn a_file_is_published_once_and_says_exactly_what_was_accepted() {
    let at = Operator::start();
    at.served.tenant("acme");
    let path = at.folder.path().join("events.ndjson");
    let mut lines: Vec<String> =
        (0..2_500).map(|n| format!(r#"{{"type":"a.b","data":{{"n":{n}}}}}"#)).collect();
    lines[3] = "not json".to_owned();
    lines[7] = r#"{"type":"Not a type!","data":1}"#.to_owned();
    lines.insert(5, String::new());
    fs::write(&path, lines.join("\n")).unwrap();
    let file = path.to_str().unwrap();

    let first = at.run(&["publish", "--file", file, "--batch", "700"]);
    assert_eq!(first.code, 8, "{}", first.err);
    assert!(first.err.contains("line 4 not accepted: not valid JSON"), "{}", first.err);
    assert!(first.err.contains("line 9 not accepted: "), "{}", first.err);
    assert!(first.err.contains("2,498 events published\n"), "{}", first.err);
    assert!(first.err.contains("error: 2 lines were not accepted"), "{}", first.err);

    // With other batches, the same lines are the same events.
    let second = at.run(&["publish", "--file", file, "--in-flight", "2", "--json"]);
    let counts: serde_json::Value = serde_json::from_str(&second.out).unwrap();
    assert_eq!(
        (&counts["accepted"], &counts["repeated"]),
        (&2_498.into(), &2_498.into()),
        "{counts}"
    );
    assert_eq!(counts["refusals"][0]["line"], 4);

    fs::write(&path, lines[10..20].join("\n")).unwrap();
    let run = ["publish", "--file", file, "--run", "again", "--ids"];
    let ids = at.run(&run).ok().out;
    assert_eq!(ids.lines().count(), 10, "{ids}");
    assert!(ids.starts_with("1\tevt_"), "{ids}");
    let data_alone = at.run_with(&["publish", "c.d", "--file", "-"], &[], "{\"x\":1}\n[2]\n").ok();
    assert!(data_alone.err.contains("2 events published"), "{}", data_alone.err);
    assert_eq!(at.json(&["events", "list", "--type", "c.d"])["data"].as_array().unwrap().len(), 2);
}

#[test]
fn a_server_that_goes_away_leaves_an_exact_report() {
    let at = Operator::start();
    let key = at.served.tenant("acme");
    let lines: Vec<_> = (0..10).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    let input = lines.concat();
    let url = format!("http://{}", at.served.address);
    let variables = [("GANCHO_API_KEY", key.as_str()), ("GANCHO_URL", url.as_str())];
    let arguments = ["publish", "a.b", "--file", "-", "--batch", "4"];
    at.run_with(&arguments, &variables, &input).ok();
    // The key of the first batch is the key of all, so the hint is that of any command.
    let wrong = [("GANCHO_API_KEY", "gk_wrong"), ("GANCHO_URL", url.as_str())];
    let ran = at.run_with(&arguments, &wrong, &input);
    assert_eq!(ran.code, 5, "{}", ran.err);
    assert!(ran.err.starts_with("error: nothing was published: "), "{}", ran.err);
    assert!(ran.err.contains("hint: check the key"), "{}", ran.err);
    let as_json = at.run_with(&[&arguments[..], &["--json"]].concat(), &wrong, &input);
    assert_eq!((as_json.code, as_json.json()["not_sent_from_line"].as_u64()), (5, Some(1)));

    // If nothing has ever responded, there is nothing to wait for.
    let nowhere = [("GANCHO_API_KEY", key.as_str()), ("GANCHO_URL", "http://127.0.0.1:1")];
    let ran = at.run_with(&arguments, &nowhere, &input);
    assert_eq!(ran.code, 6, "{}", ran.err);
    assert!(ran.err.starts_with("error: nothing was published: cannot reach"), "{}", ran.err);
    assert!(!ran.err.contains("retrying") && !ran.err.contains("unknown"), "{}", ran.err);
}

/// A server that accepts the first batch and never responds again.
#[test]
fn a_server_that_stops_is_waited_for_and_what_it_never_got_is_not_in_doubt() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        drop(listener);
        let mut read = Vec::new();
        while !read.ends_with(b"]}") {
            let mut part = [0; 4096];
            let count = stream.read(&mut part).unwrap();
            read.extend_from_slice(&part[..count]);
        }
        let body = r#"{"results":[{"id":"evt_1","status":202},{"id":"evt_2","status":202}]}"#;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
        write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    });
    let mut command = command(&["publish", "a.b", "--file", "-", "--batch", "2"], folder.path());
    command.env("GANCHO_URL", &url).env("GANCHO_API_KEY", "gk_any");
    command.stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"1\n2\n3\n4\n").unwrap();
    server.join().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut first = String::new();
    said.read_line(&mut first).unwrap();
    assert!(first.ends_with("; retrying\n"), "{first}");
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(8), "{rest}");
    assert!(rest.contains("2 events published"), "{rest}");
    assert!(rest.contains("error: interrupted; line 3 and later ones were not sent"), "{rest}");
}
