//! Callers that never finish a request, and a full store, with the real binary.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use gancho_testkit::until;

use crate::{gateway::Gateway, http, receiver};

/// What a slow caller sends before it stops.
const BEGINNINGS: [&str; 3] = [
    "",
    "POST /v1/events HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: 1",
    "POST /v1/events HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 900\r\nx-api-key: KEY\r\n\r\n{\"ty",
];

#[test]
fn a_thousand_slow_callers_hold_nobody_up_and_are_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let (target, seen) = receiver::start();
    let served = Gateway::start(folder.path(), &[]);
    let key = served.tenant("acme");
    served.endpoint(&key, &format!("http://{target}/hook"));
    let began = Instant::now();
    let mut slow: Vec<TcpStream> = (0..999)
        .map(|number| {
            let mut stream = TcpStream::connect(served.address).unwrap();
            let beginning = BEGINNINGS[number % BEGINNINGS.len()].replace("KEY", &key);
            stream.write_all(beginning.as_bytes()).unwrap();
            stream
        })
        .collect();

    // Meanwhile others are served as usual.
    let mut longest = Duration::ZERO;
    for _ in 0..100 {
        let asked = Instant::now();
        let id = served.publish(&key, "invoice.paid", "{}");
        longest = longest.max(asked.elapsed());
        until("it arrives", || seen.body(&id).is_some());
    }
    assert!(longest < Duration::from_secs(2), "the longest answer took {longest:?}");

    // Each is answered or disconnected; none stays longer than the deadlines allow.
    for stream in &mut slow {
        let left = Duration::from_secs(60).saturating_sub(began.elapsed());
        stream.set_read_timeout(Some(left.max(Duration::from_millis(1)))).unwrap();
        let mut answer = Vec::new();
        let ended = stream.read_to_end(&mut answer);
        let is_reset =
            ended.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset);
        assert!(ended.is_ok() || is_reset, "a slow caller is still connected: {ended:?}");
        assert!(!answer.starts_with(b"HTTP/1.1 2"), "{}", String::from_utf8_lossy(&answer));
    }
    served.publish(&key, "invoice.paid", "{}");
    served.stop();
}

/// Strangers start logins, and a tenant starts calls of Svix's clients, on more connections than there are, and
/// send a byte of each body: others are served.
#[test]
fn slow_logins_and_slow_svix_calls_keep_nobody_out() {
    let folder = tempfile::tempdir().unwrap();
    let served = Gateway::start(folder.path(), &[("GANCHO_MAX_CONNECTIONS", "40")]);
    let key = served.tenant("acme");
    let same_origin =
        "sec-fetch-site: same-origin\r\ncontent-type: application/x-www-form-urlencoded";
    let login = format!("POST /ui/login HTTP/1.1\r\nhost: {}\r\n{same_origin}", served.address);
    let svix = format!(
        "POST /api/v1/app HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}",
        served.address,
        crate::gateway::TOKEN
    );
    for head in [&login, &svix] {
        let mut slow = Vec::new();
        for _ in 0..100 {
            let mut stream = TcpStream::connect(served.address).unwrap();
            stream
                .write_all(format!("{head}\r\ncontent-length: 9000\r\n\r\n{{").as_bytes())
                .unwrap();
            slow.push(stream);
        }
        for _ in 0..20 {
            served.publish(&key, "invoice.paid", "{}");
        }
        drop(slow);
    }
    // A login needs few bytes.
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream.write_all(format!("{login}\r\ncontent-length: 20000\r\n\r\n").as_bytes()).unwrap();
    let mut first = [0; 12];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 413");
    served.stop();
}

#[test]
fn a_full_store_refuses_events_and_goes_on_delivering() {
    let folder = tempfile::tempdir().unwrap();
    let (target, seen) = receiver::start();
    let served = Gateway::start(folder.path(), &[("GANCHO_STORE_MAX_BYTES", "3000000")]);
    let key = served.tenant("acme");
    served.endpoint(&key, &format!("http://{target}/hook"));
    let body = format!(r#"{{"type":"invoice.paid","data":{{"text":"{}"}}}}"#, "x".repeat(100_000));
    let mut accepted = Vec::new();
    let refused = loop {
        let answer =
            http::call(served.address, "POST", "/v1/events", &[("x-api-key", &key)], &body);
        match answer.status {
            202 => accepted.push(answer.json()["id"].as_str().unwrap().to_owned()),
            _ => break answer,
        }
        assert!(accepted.len() < 1_000, "it never fills up");
    };
    assert!(!accepted.is_empty());
    assert_eq!(
        (refused.status, &refused.json()["code"]),
        (503, &"storage_full".into()),
        "{}",
        refused.body
    );
    assert!(refused.head.to_ascii_lowercase().contains("\r\nretry-after: "), "{}", refused.head);
    until("all that was accepted has arrived", || {
        accepted.iter().all(|id| seen.body(id).is_some())
    });
    let path = format!("/v1/deliveries?event_id={}", accepted[accepted.len() - 1]);
    until("its delivery is on record", || {
        let rows = http::call(served.address, "GET", &path, &[("x-api-key", &key)], "").json();
        rows["data"][0]["status"] == "delivered"
    });
    served.stop();
}
