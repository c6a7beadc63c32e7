//! Nodes whose clocks are minutes apart use the clock of the database.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use gancho_domain::{Clock, SystemClock};
use gancho_testkit::{postgres::fresh_database, until};
use serde_json::Value;

use crate::{
    gateway::{Gateway, command},
    partner::{self, SECRET},
    receiver,
    scripted_receiver::Receiver,
};

/// Overrides the C library, and shows a wrong wall clock.
const WRONG_CLOCK: &str = "
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *time) {
    long failed = syscall(SYS_clock_gettime, id, time);
    if (!failed && id == CLOCK_REALTIME) time->tv_sec += OFFSET;
    return (int)failed;
}
";

fn wrong_clock(folder: &Path, offset: i64) -> PathBuf {
    let (source, library) = (folder.join("clock.c"), folder.join(format!("clock{offset}.so")));
    std::fs::write(&source, WRONG_CLOCK).unwrap();
    let mut compile = Command::new("cc");
    compile.args(["-shared", "-fPIC", &format!("-DOFFSET={offset}"), "-o"]);
    assert!(compile.arg(&library).arg(&source).status().unwrap().success());
    library
}

#[test]
fn nodes_whose_clocks_are_ten_minutes_apart_behave() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(fresh_database()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let node = |roles, offset| {
        let mut command = command(&["serve"], folder.path());
        command.env("GANCHO_DATABASE_URL", database.url()).env("GANCHO_ROLES", roles);
        command.env("LD_PRELOAD", wrong_clock(folder.path(), offset));
        Gateway::of(command)
    };
    let nodes = [node("api,ingest", 300), node("api,worker", -300), node("api,worker", 300)];
    let [front, behind, _] = &nodes;

    // What one node accepts is due for the others at once, and receivers accept the signatures as current.
    let (address, seen) = receiver::start();
    let key = front.tenant("acme");
    front.endpoint(&key, &format!("http://{address}/"));
    for node in [front, behind] {
        let id = node.publish(&key, "a.b", "{}");
        until("it is delivered", || seen.body(&id).is_some());
        let sent = seen.last(&id).unwrap();
        let mut headers = sent.headers.iter();
        let signed_at = headers.find(|(name, _)| name.eq_ignore_ascii_case("webhook-timestamp"));
        let signed_at: i64 = signed_at.unwrap().1.parse().unwrap();
        assert!((SystemClock.now().secs() - signed_at).abs() < 120, "{signed_at}");
    }
    front.source("acme", SECRET, &format!("http://{address}/core"));
    assert_eq!(partner::post(front.ingest(), r#"{"event_id":"e1"}"#).status, 204);

    // A retry waits for its time, whichever node makes it.
    let failing = Receiver::start();
    failing.answer(500);
    let retry = r#"{"schedule":["3s","3s","3s"]}"#;
    let endpoint = format!(r#"{{"url":"{}","events":["c.d"],"retry":{retry}}}"#, failing.url());
    let made = front.acting("acme", "POST", "/v1/webhooks", &endpoint);
    assert_eq!(made.status, 201, "{}", made.body);
    let webhook = made.json()["id"].as_str().unwrap().to_owned();
    for _ in 0..4 {
        front.publish(&key, "c.d", "{}");
    }
    let dead = format!("/v1/deliveries?webhook_id={webhook}&status=failed");
    let list = || front.acting("acme", "GET", &dead, "").json()["data"].clone();
    until("all have failed", || list().as_array().is_some_and(|all| all.len() == 4));
    for delivery in list().as_array().unwrap() {
        let path = format!("/v1/deliveries/{}", delivery["id"].as_str().unwrap());
        let shown = front.acting("acme", "GET", &path, "").json();
        let mut times = starts(&shown["attempt_log"]);
        times.sort_unstable();
        assert_eq!(times.len(), 4, "{shown}");
        for pair in times.windows(2) {
            assert!(pair[1] - pair[0] > 2_000, "a retry came early: {shown}");
        }
    }

    for node in &nodes {
        let listed = node.operator("GET", "/v1/nodes", "").json();
        let all = listed["data"].as_array().unwrap();
        assert!(all.len() == 3 && all.iter().all(|one| one["state"] == "alive"), "{listed}");
        // The warning is about the machine's clock.
        until("it is reported", || {
            let log = node.log.lock().unwrap();
            log.contains("clock differs from the database's")
        });
    }
    until("an alert names it", || front.alerts().iter().any(|alert| alert["rule"] == "clock_off"));
    for node in nodes {
        node.stop();
    }
}

/// Returns the start times in milliseconds.
fn starts(attempts: &Value) -> Vec<i64> {
    let attempts = attempts.as_array().unwrap().iter();
    let times = attempts.map(|attempt| attempt["started_at"].as_str().unwrap());
    times.map(|time| time.parse::<jiff::Timestamp>().unwrap().as_millisecond()).collect()
}
