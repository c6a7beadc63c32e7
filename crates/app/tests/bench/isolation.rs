//! `gancho bench isolation` runs each scenario with small sizes, and its exit code matches its verdicts. A
//! test build cannot check the guarantee itself.

use std::process::{Command, Output, Stdio};

use gancho_testkit::postgres::fresh_database;
use serde_json::Value;

use crate::pipe_process::GANCHO;

/// Returns its output, and its process id.
fn isolation(arguments: &[&str]) -> (Output, u32) {
    let mut command = Command::new(GANCHO);
    command.args(["bench", "isolation"]).args(arguments).env_remove("GANCHO_DATABASE_URL");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let id = child.id();
    (child.wait_with_output().unwrap(), id)
}

/// Returns the rows of a scenario, after it has compared their verdicts with the exit code.
fn rows(arguments: &[&str]) -> Vec<Value> {
    rows_and_id(arguments).0
}

fn rows_and_id(arguments: &[&str]) -> (Vec<Value>, u32) {
    let (shown, id) = isolation(&[arguments, &["--json"]].concat());
    let errors = String::from_utf8_lossy(&shown.stderr).into_owned();
    let lines = String::from_utf8(shown.stdout).unwrap();
    let mut rows: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = rows.pop().unwrap_or_else(|| panic!("nothing was measured: {errors}"));
    assert_eq!(last["scenario"], "all", "{errors}");
    let count = |word: &str| rows.iter().filter(|row| row["verdict"] == word).count();
    let broken = count("broken");
    assert_eq!(last["broken"], broken);
    assert_eq!(last["checks"], broken + count("kept"));
    let (verdict, code) = if broken == 0 { ("kept", 0) } else { ("broken", 3) };
    assert_eq!((last["verdict"].as_str(), shown.status.code()), (Some(verdict), Some(code)));
    (rows, id)
}

fn measured(rows: &[Value], what: &str) -> f64 {
    let row = rows.iter().find(|row| row["what"] == what);
    row.unwrap_or_else(|| panic!("no {what} in {rows:#?}"))["measured"].as_f64().unwrap()
}

#[test]
fn dead_endpoints_that_hang_drip_or_refuse() {
    check_dead(["hang", "drip", "refuse"]);
}

#[test]
fn dead_endpoints_that_drop_packets_or_answer_late() {
    check_dead(["blackhole", "error", "slow"]);
}

fn check_dead(kinds: [&str; 3]) {
    let rows = rows(&[
        "dead",
        "--kinds",
        &kinds.join(","),
        "--dead",
        "0,1",
        "--endpoints",
        "3",
        "--seconds",
        "1",
        "--connections",
        "4",
        "--waiting",
        "5",
    ]);
    assert_eq!(rows.len(), 3 * kinds.len());
    for (kind, steps) in kinds.iter().zip(rows.chunks(3)) {
        let dead: Vec<_> = steps.iter().map(|step| step["dead"].as_u64().unwrap()).collect();
        assert_eq!(dead, [0, 1, 0], "the quiet step comes first and last");
        for step in steps {
            assert_eq!(step["kind"], *kind);
            assert!(step["per_second"].as_f64().unwrap() > 0.0, "{step}");
            assert!(step["p99_ms"].as_f64() >= step["p50_ms"].as_f64(), "{step}");
            assert_eq!(step["verdict"].is_null(), step["dead"] == 0, "{step}");
        }
        let is_counted = !["refuse", "blackhole"].contains(kind);
        assert_eq!(steps[1]["attempts"].as_u64().unwrap() > 0, is_counted, "{}", steps[1]);
    }
}

#[test]
fn dead_endpoints_of_the_same_tenant_as_a_table() {
    let (shown, _) = isolation(&[
        "dead",
        "--same-tenant",
        "--kinds",
        "hang",
        "--dead",
        "1",
        "--endpoints",
        "2",
        "--seconds",
        "1",
        "--connections",
        "2",
    ]);
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(text.contains("hang (one tenant)"), "{text}");
    assert!(text.contains("healthy/s"), "{text}");
    assert_eq!(shown.status.success(), text.contains("The isolation guarantee is kept"), "{text}");
}

#[test]
fn a_backlog_of_others() {
    let rows =
        rows(&["backlog", "--tenants", "3", "--waiting", "20", "--rate", "50", "--seconds", "1"]);
    assert!(measured(&rows, "healthy deliveries/s") > 0.0);
    assert!(measured(&rows, "memory of the gateway, MiB") > 0.0);
    assert!(measured(&rows, "dead endpoints never tried") <= 3.0);
}

#[test]
fn slow_endpoints_beside_slower_ones() {
    let rows = rows(&[
        "slow",
        "--slower",
        "3",
        "--answer-ms",
        "120",
        "--rate",
        "20",
        "--waiting",
        "5",
        "--seconds",
        "1",
    ]);
    assert!(measured(&rows, "deliveries/s") > 0.0);
    assert_eq!(measured(&rows, "events missing") as u64, 0);
    assert!(measured(&rows, "sent to the slower ones") >= 3.0, "each is tried");
}

#[test]
fn publishing_beside_batches() {
    let arguments = ["batches", "--connections", "2", "--events", "50", "--seconds", "1"];
    let rows = rows(&arguments);
    assert!(measured(&rows, "publish, p99 ms") > 0.0);
    assert_eq!(measured(&rows, "refused") as u64, 0);
    assert_eq!(measured(&rows, "batches refused") as u64, 0);
}

#[test]
fn tenants_beside_wide_events() {
    let rows = rows(&[
        "fan-out",
        "--endpoints",
        "150",
        "--wide-rate",
        "2",
        "--rate",
        "20",
        "--seconds",
        "1",
    ]);
    assert!(measured(&rows, "publish, p99 ms") > 0.0);
    assert_eq!(measured(&rows, "refused") as u64, 0);
    let events = measured(&rows, "events for all endpoints");
    assert!(events >= 1.0);
    assert!(measured(&rows, "sent to them") >= 150.0, "each of the endpoints gets them");
}

#[test]
fn tenants_beside_changes_of_endpoints() {
    let rows = rows(&[
        "changes",
        "--endpoints",
        "30",
        "--connections",
        "2",
        "--rate",
        "20",
        "--seconds",
        "1",
    ]);
    assert!(measured(&rows, "publish, p99 ms") > 0.0);
    assert_eq!(measured(&rows, "refused") as u64, 0);
    assert_eq!(measured(&rows, "changes refused") as u64, 0);
    assert!(measured(&rows, "changes") > 2.0, "they go on");
}

#[test]
fn long_lists() {
    let rows = rows(&[
        "lists",
        "--endpoints",
        "5",
        "--deliveries",
        "100",
        "--readers",
        "4",
        "--rate",
        "20",
        "--seconds",
        "1",
    ]);
    let pages = rows.iter().filter(|row| row["what"].as_str().unwrap().starts_with("GET "));
    assert_eq!(pages.count(), 10);
    assert!(measured(&rows, "pages read beside") > 0.0);
    assert!(measured(&rows, "another tenant's deliveries/s") > 0.0);
}

#[test]
fn nothing_but_waiting() {
    let rows = rows(&[
        "idle",
        "--deliveries",
        "60",
        "--endpoints",
        "20",
        "--paused",
        "10",
        "--seconds",
        "1",
    ]);
    assert_eq!(measured(&rows, "deliveries waiting") as u64, 70);
    assert_eq!(measured(&rows, "retries ahead of time") as u64, 0);
    assert_eq!(measured(&rows, "due and not arrived") as u64, 0);
}

#[test]
fn slow_strangers() {
    let rows = rows(&["ingest", "--senders", "20", "--rate", "50", "--seconds", "1"]);
    for from in ["one address", "many addresses"] {
        assert!(measured(&rows, &format!("connections held, senders from {from}")) > 0.0);
        assert!(measured(&rows, &format!("p99 ms, senders from {from}")) > 0.0);
    }
    assert_eq!(measured(&rows, "not answered 204, alone") as u64, 0);
}

/// Each gateway gets its own database, and none of them stays.
#[tokio::test]
async fn on_postgres_no_database_stays_behind() {
    let server = fresh_database().await.unwrap();
    let url = server.url();
    let measuring = tokio::task::spawn_blocking(move || {
        rows_and_id(&[
            "dead",
            "--kinds",
            "hang",
            "--dead",
            "1",
            "--endpoints",
            "2",
            "--seconds",
            "1",
            "--connections",
            "2",
            "--database-url",
            &url,
        ])
    });
    let (rows, id) = measuring.await.unwrap();
    assert_eq!(rows.len(), 3);
    let client = server.client().await.unwrap();
    let sql = format!("select datname from pg_database where datname ~ '^gancho_bench_{id}_'");
    assert!(client.query(&sql, &[]).await.unwrap().is_empty());
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    let (refused, _) = isolation(&["dead", "--dead", "3", "--endpoints", "3"]);
    assert_eq!(refused.status.code(), Some(1));
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(text.contains("at least one of the 3 endpoints must be healthy"), "{text}");
}
