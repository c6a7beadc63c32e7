//! Stopped under load: deliveries in flight finish, and nothing acknowledged is lost.

use std::{
    net::TcpListener,
    process::{Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use gancho_testkit::until;

use crate::{
    gateway::{Gateway, command},
    http, receiver,
};

#[test]
fn sigterm_under_load_finishes_what_is_in_flight() {
    let folder = tempfile::tempdir().unwrap();
    let (target, seen) = receiver::start_slow(Duration::from_millis(50));
    let served = Gateway::start(folder.path(), &[]);
    let key = served.tenant("acme");
    served.endpoint(&key, &format!("http://{target}/hook"));

    let acked = Arc::new(Mutex::new(Vec::new()));
    let is_over = Arc::new(AtomicBool::new(false));
    let publishers: Vec<_> = (0..8)
        .map(|_| {
            let (acked, is_over) = (acked.clone(), is_over.clone());
            let (key, address) = (key.clone(), served.address);
            thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let body = r#"{"type":"a.b","data":{}}"#;
                    let headers = [("x-api-key", key.as_str())];
                    match http::try_call(address, "POST", "/v1/events", &headers, body) {
                        Some(answer) if answer.status == 202 => {
                            let id = answer.json()["id"].as_str().unwrap().to_owned();
                            acked.lock().unwrap().push(id);
                        }
                        // While it stops, a request to retry later is fine.
                        Some(answer) => assert_eq!(answer.status, 503, "{}", answer.body),
                        None => return,
                    }
                }
            })
        })
        .collect();
    until("some are acknowledged", || acked.lock().unwrap().len() > 200);
    served.signal("TERM");
    let since = Instant::now();
    let (status, log) = served.ended(Duration::from_secs(30));
    is_over.store(true, Ordering::Relaxed);
    for publisher in publishers {
        publisher.join().unwrap();
    }
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("stopped; all in-flight deliveries finished"), "{log}");
    assert!(since.elapsed() < Duration::from_secs(20));

    // Deliveries that had not been tried yet are in the store, and are delivered after the next start.
    // Nothing in flight was aborted, so nothing arrives twice.
    let served = Gateway::start(folder.path(), &[]);
    let acked = acked.lock().unwrap().clone();
    until("everything acknowledged arrives", || {
        let counts = seen.counts();
        acked.iter().all(|id| counts.contains_key(id))
    });
    let twice: Vec<_> = seen.counts().into_iter().filter(|(_, count)| *count > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    served.stop();
}

#[test]
fn a_second_signal_stops_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (target, seen) = receiver::start_slow(Duration::from_secs(60));
    let served = Gateway::start(folder.path(), &[]);
    let key = served.tenant("acme");
    served.endpoint(&key, &format!("http://{target}/hook"));
    let id = served.publish(&key, "a.b", "{}");
    until("the receiver hangs", || seen.body(&id).is_some());
    served.signal("TERM");
    let log = served.log.clone();
    until("it waits", || log.lock().unwrap().contains("finishing in-flight work"));
    let ready = http::try_call(served.address, "GET", "/readyz", &[], "");
    assert!(ready.is_none_or(|answer| answer.status == 503), "it is not ready any more");
    served.signal("INT");
    let (status, log) = served.ended(Duration::from_secs(5));
    assert!(!status.success(), "{log}");
    assert!(log.contains("after a second signal"), "{log}");
}

#[test]
fn what_does_not_finish_in_time_is_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let (slow, hung) = receiver::start_slow(Duration::from_secs(60));
    let served = Gateway::start(folder.path(), &[("GANCHO_STOP_TIMEOUT", "1s")]);
    let key = served.tenant("acme");
    let endpoint = served.endpoint(&key, &format!("http://{slow}/hook"));
    let id = served.publish(&key, "a.b", "{}");
    until("the receiver hangs", || hung.body(&id).is_some());
    served.signal("TERM");
    let (status, log) = served.ended(Duration::from_secs(10));
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("unfinished deliveries will be retried"), "{log}");

    let (quick, seen) = receiver::start();
    let served = Gateway::start(folder.path(), &[("GANCHO_STOP_TIMEOUT", "1s")]);
    let path = format!("/v1/webhooks/{}", endpoint["id"].as_str().unwrap());
    let body = format!(r#"{{"url":"http://{quick}/hook"}}"#);
    let changed = http::call(served.address, "PATCH", &path, &[("x-api-key", &key)], &body);
    assert_eq!(changed.status, 200, "{}", changed.body);
    until("it is tried again", || seen.body(&id).is_some() || hung.counts()[&id] > 1);
    served.stop();
}

#[test]
fn it_outlives_the_reader_of_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = command(&["serve"], folder.path());
    command.env("GANCHO_API_LISTEN", port.to_string()).env("GANCHO_LOG_LEVEL", "debug");
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    // As when the program that collects the log dies.
    drop(child.stderr.take());
    // Each of these calls is a line of the log too. (faults.md E5)
    let is_answered = |path: &str| http::try_call(port, "GET", path, &[], "").is_some();
    until("it has begun", || is_answered("/v1/tenants"));
    assert!(is_answered("/v1/tenants"), "it runs on");
    let id = child.id().to_string();
    assert!(Command::new("kill").arg(id).status().unwrap().success());
    assert!(child.wait().unwrap().success());
}

/// A load balancer sees 503 while requests are still served; systemd is notified when it is ready and when it
/// stops.
#[test]
fn a_lame_duck_is_not_ready_and_serves_on() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("notify");
    let notified = std::os::unix::net::UnixDatagram::bind(&socket).unwrap();
    notified.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let hear = || {
        let mut buffer = [0; 64];
        let length = notified.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    };
    let variables = [("GANCHO_LAME_DUCK", "3s"), ("NOTIFY_SOCKET", socket.to_str().unwrap())];
    let served = Gateway::start(folder.path(), &variables);
    assert_eq!(hear(), "READY=1");
    let key = served.tenant("acme");
    let get = |path: &str| http::try_call(served.address, "GET", path, &[], "");
    assert_eq!(get("/readyz").unwrap().status, 200);
    let since = Instant::now();
    served.signal("TERM");
    assert_eq!(hear(), "STOPPING=1");
    until("it is not ready", || get("/readyz").unwrap().status == 503);
    assert_eq!(get("/readyz").unwrap().json()["status"], "stopping");
    served.publish(&key, "a.b", "{}");
    assert_eq!(get("/healthz").unwrap().status, 200);
    let (status, log) = served.ended(Duration::from_secs(30));
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(since.elapsed() >= Duration::from_secs(3), "{:?}", since.elapsed());
}
