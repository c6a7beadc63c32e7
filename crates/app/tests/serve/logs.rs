//! The log of the running binary: each error is one line, with fields, and without secrets.

use gancho_testkit::until;
use serde_json::{Value, json};

use crate::{
    gateway::{Gateway, TOKEN, command},
    http,
    scripted_receiver::Receiver,
};

const ADDRESS: &str = "maria.canary@recipient-canary.example";

impl Gateway {
    /// Returns the lines of an event.
    pub fn logged(&self, message: &str) -> Vec<Value> {
        lines(&self.log.lock().unwrap(), message)
    }

    /// Waits for the first line with this message: the log comes through a pipe, later than a response.
    pub fn first_logged(&self, message: &str) -> Value {
        until(message, || !self.logged(message).is_empty());
        self.logged(message).remove(0)
    }
}

fn lines(log: &str, message: &str) -> Vec<Value> {
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line["message"] == message).collect()
}

fn endpoint(served: &Gateway, key: &str, url: &str, schedule: &[&str]) -> String {
    let body = json!({"url": url, "events": ["*"], "retry": {"schedule": schedule}}).to_string();
    let made = http::call(served.address, "POST", "/v1/webhooks", &[("x-api-key", key)], &body);
    assert_eq!(made.status, 201, "{}", made.body);
    made.json()["id"].as_str().unwrap().to_owned()
}

#[test]
fn failures_and_recoveries_are_logged_with_their_ids() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = Receiver::start();
    receiver.answer_with(503, "payload-canary-of-the-endpoint");
    let served = Gateway::start(folder.path(), &[]);
    let key = served.tenant("acme");
    let webhook = endpoint(&served, &key, &receiver.url(), &["200ms", "200ms", "1s", "1s", "1s"]);
    let event = served.publish(&key, "a.b", r#"{"card":"payload-canary-of-the-publisher"}"#);

    let retry = "attempt failed; retry scheduled";
    until("two attempts have failed", || served.logged(retry).len() >= 2);
    receiver.answer(200);
    let recovered = served.first_logged("delivered after a retry");
    let first = &served.logged(retry)[0];
    assert_eq!(first["level"], "WARN");
    for (field, value) in [
        ("event", json!(event)),
        ("endpoint", json!(webhook)),
        ("lane", json!("webhook")),
        ("attempt", json!(1)),
        ("max_attempts", json!(6)),
        ("error_code", json!("HTTP_503")),
        ("status", json!(503)),
        ("is_retryable", json!(true)),
    ] {
        assert_eq!(first[field], value, "{field} of {first}");
    }
    for (field, prefix) in [("tenant", "ten_"), ("delivery", "dlv_"), ("next_retry_at", "20")] {
        assert!(first[field].as_str().unwrap().starts_with(prefix), "{field} of {first}");
    }
    assert!(first["next_retry_ms"].as_u64().unwrap() <= 400, "{first}");
    assert_eq!((&recovered["event"], &recovered["level"]), (&json!(event), &json!("INFO")));

    // The last attempt makes a dead letter; a permanent refusal does so at once.
    receiver.answer(410);
    let gone = served.publish(&key, "a.b", "{}");
    let dead = "delivery failed permanently; moved to the dead letters";
    let line = served.first_logged(dead);
    assert_eq!((&line["event"], &line["is_retryable"]), (&json!(gone), &json!(false)));
    assert_eq!(served.first_logged("endpoint disabled")["endpoint"], json!(webhook));

    let log = served.stop();
    for canary in ["payload-canary", TOKEN, key.as_str(), "whsec_"] {
        assert!(!log.contains(canary), "{canary} is in the log: {log}");
    }
}

#[test]
fn a_flood_is_sampled_and_counted_and_the_breaker_is_logged() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = Receiver::start();
    receiver.answer(500);
    let served = Gateway::start(folder.path(), &[]);
    let key = served.tenant("acme");
    endpoint(&served, &key, &receiver.url(), &[]);
    for number in 0..200 {
        served.publish(&key, "a.b", &format!(r#"{{"number":{number}}}"#));
    }
    let opened = served.first_logged("circuit breaker opened");
    assert!(opened["until"].is_string());
    assert!(opened["tenant"].as_str().unwrap().starts_with("ten_"), "{opened}");
    receiver.answer(200);
    served.first_logged("circuit breaker closed");
    let log = served.stop();
    let dead = "delivery failed permanently; moved to the dead letters";
    let written = lines(&log, dead).len() as u64;
    let count = |line: &Value| (line["suppressed"] == dead).then(|| line["count"].as_u64());
    let suppressed: u64 =
        lines(&log, "log lines suppressed").iter().filter_map(count).flatten().sum();
    assert!(written <= 61, "{written} lines");
    assert!(written >= 10 && suppressed <= 190, "{written} lines, {suppressed} left out");
}

/// Deliveries that wait for a deleted endpoint end without an attempt, and are counted and logged like other
/// dead letters.
#[test]
fn what_ends_with_its_endpoint_is_logged_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = Receiver::start();
    receiver.answer(503);
    let served = Gateway::start(folder.path(), &[]);
    let key = served.tenant("acme");
    let webhook = endpoint(&served, &key, &receiver.url(), &["1h"]);
    let event = served.publish(&key, "a.b", "{}");
    served.first_logged("attempt failed; retry scheduled");
    let headers = [("x-api-key", key.as_str())];
    let path = format!("/v1/webhooks/{webhook}");
    assert_eq!(http::call(served.address, "DELETE", &path, &headers, "").status, 204);
    let line = served.first_logged("delivery failed permanently; moved to the dead letters");
    assert_eq!((&line["event"], &line["attempt"]), (&json!(event), &json!(1)), "{line}");
    assert_eq!(line["error_code"], "TARGET_GONE");
    let metrics = served.operator("GET", "/metrics", "").body;
    for counted in [
        r#"dlq_by_error_code_total{lane="webhook",code="TARGET_GONE"} 1"#,
        r#"dlq_by_company_total{lane="webhook",tenant="acme"} 1"#,
    ] {
        assert!(metrics.contains(counted), "{counted} is not in {metrics}");
    }
    served.stop();
}

#[test]
fn refused_writes_are_logged_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let limit = [("GANCHO_STORE_MAX_BYTES", "3000000")];
    let served = Gateway::start(folder.path(), &limit);
    let key = served.tenant("acme");
    let data = json!({ "filling": "x".repeat(200_000) }).to_string();
    let body = format!(r#"{{"type":"a.b","data":{data}}}"#);
    let publish =
        || http::call(served.address, "POST", "/v1/events", &[("x-api-key", &key)], &body).status;
    until("it is full", || publish() == 503);
    let refused = served.first_logged("write refused");
    assert_eq!(refused["error_code"], "storage_full", "{refused}");
    assert!(refused["tenant"].as_str().unwrap().starts_with("ten_"));
    let metrics = || http::call(served.address, "GET", "/metrics", &[], "").body;
    let counted = "gancho_refused_writes_total{reason=\"storage_full\"} ";
    until("it is counted", || {
        let metrics = metrics();
        let line = metrics.lines().find_map(|line| line.strip_prefix(counted)).map(str::to_owned);
        line.is_some_and(|count| count != "0")
    });
    served.stop();
}

/// The mail server's own text names the recipient.
#[test]
fn addresses_are_masked() {
    let folder = tempfile::tempdir().unwrap();
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("smtp://{}?tls=none", server.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in server.incoming() {
            refuse_recipients(stream.unwrap());
        }
    });
    let more = [("GANCHO_SMTP_URL", url.as_str()), ("GANCHO_LOG_LEVEL", "trace")];
    let served = Gateway::start(folder.path(), &more);
    let key = served.tenant("acme");
    let body = json!({"from": "a@example.com", "to": ADDRESS, "subject": "s", "text": "t"});
    let headers = [("x-api-key", key.as_str())];
    let path = "/v1/email/send";
    let sent = http::call(served.address, "POST", path, &headers, &body.to_string());
    assert_eq!(sent.status, 201, "{}", sent.body);
    let dead = "delivery failed permanently; moved to the dead letters";
    let line = served.first_logged(dead);
    assert!(line["event"].as_str().unwrap().starts_with("out_"), "{line}");
    assert_eq!(line["lane"], "email");
    assert!(line["error"].as_str().unwrap().contains("m***@r******ry.example"), "{line}");
    let log = served.stop();
    for part in [ADDRESS, "maria.canary", "recipient-canary"] {
        assert!(!log.contains(part), "{part} is in the log");
    }
}

fn refuse_recipients(stream: std::net::TcpStream) {
    use std::io::{BufRead, BufReader, Write};
    let mut answers = stream.try_clone().unwrap();
    let _ = answers.write_all(b"220 here\r\n");
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let answer = if line.starts_with("RCPT") {
            format!("550 5.1.1 <{ADDRESS}> unknown user\r\n")
        } else {
            "250 fine\r\n".to_owned()
        };
        if answers.write_all(answer.as_bytes()).is_err() || line == "QUIT" {
            return;
        }
    }
}

#[test]
fn a_fatal_error_is_a_line_of_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let run = |variables: &[(&str, &str)], exit_code: i32| {
        let mut serve = command(&["serve"], folder.path());
        serve.envs(variables.iter().copied());
        let output = serve.output().unwrap();
        assert_eq!(output.status.code(), Some(exit_code));
        String::from_utf8(output.stderr).unwrap()
    };
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let below_a_file = format!("sqlite:{}/gancho.db", file.display());
    for (variables, part, exit_code) in [
        (("GANCHO_RETENTION", "soon"), "`soon` is not a duration", 2),
        (("GANCHO_DATABASE_URL", below_a_file.as_str()), "cannot open the database", 1),
    ] {
        let log = run(&[variables], exit_code);
        for line in log.lines() {
            assert!(serde_json::from_str::<Value>(line).is_ok(), "not JSON: {line}");
        }
        let failed = lines(&log, "gancho failed");
        let [line] = &failed[..] else { panic!("{log}") };
        assert_eq!(line["level"], "ERROR");
        assert!(line["error"].as_str().unwrap().contains(part), "{line}");
    }
    let log = run(&[("GANCHO_RETENTION", "soon"), ("GANCHO_LOG_FORMAT", "pretty")], 2);
    assert!(log.starts_with("error: invalid configuration"), "{log}");
}
