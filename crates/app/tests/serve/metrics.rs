//! Health and metrics of the running binary.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use gancho_testkit::until;

use crate::{
    gateway::{Gateway, TOKEN},
    http,
    ops::files::documented_types,
    receiver,
};

#[test]
fn health_readiness_and_metrics() {
    let folder = tempfile::tempdir().unwrap();
    let (target, seen) = receiver::start();
    let served = Gateway::start(folder.path(), &[]);
    let get = |path: &str| http::call(served.address, "GET", path, &[], "");
    assert_eq!((get("/healthz").status, &*get("/healthz").body), (200, r#"{"status":"ok"}"#));
    assert_eq!(get("/readyz").json()["status"], "ready");

    let key = served.tenant("acme");
    served.endpoint(&key, &format!("http://{target}/hook"));
    let id = served.publish(&key, "a.b", "{}");
    until("it arrives", || seen.body(&id).is_some());
    let counted = "gancho_deliveries_total{lane=\"webhook\",outcome=\"delivered\"} 1";
    let names = [
        counted,
        "retry_attempts_total{",
        "retry_backoff_delay_seconds_bucket{",
        "dlq_entries_total{",
        "dlq_size{",
        "dlq_age_seconds_bucket{",
        "tenant_jobs_processed_total{lane=\"webhook\",tenant=\"acme\"} 1",
        "tenant_last_processed_timestamp_seconds{lane=\"webhook\",tenant=\"acme\"} ",
        "tenant_current_priority{",
        "tenant_consecutive_batch{",
        "tenant_rounds_without_processing{",
        "gancho_accept_seconds_count 1",
        "gancho_time_to_first_attempt_seconds_count{lane=\"webhook\"} 1",
        "gancho_endpoint_response_seconds_count{lane=\"webhook\"} 1",
        "gancho_queue_depth{",
        "gancho_queue_age_seconds{",
        "gancho_store_used_bytes ",
        "gancho_http_requests_total{",
    ];
    // Some of them are read from the store now and then.
    until("all is counted", || {
        let metrics = get("/metrics").body;
        names.iter().all(|name| metrics.contains(name))
    });
    let metrics = get("/metrics").body;
    for hidden in [key.as_str(), TOKEN, &id] {
        assert!(!metrics.contains(hidden), "{metrics}");
    }
    let open = [("accept", "application/openmetrics-text; version=1.0.0")];
    let open = http::call(served.address, "GET", "/metrics", &open, "");
    assert!(open.head.contains("application/openmetrics-text"), "{}", open.head);
    assert!(open.body.ends_with("# EOF\n"));
    checked_by_promtool(&metrics);
    // No metric that the documentation does not list, and each of the documented type.
    let allowed = documented_types();
    let types: Vec<_> = metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    assert!(types.len() > 40, "{types:?}");
    for line in types {
        let (name, kind) = line.split_once(' ').unwrap();
        assert_eq!(allowed.get(name).map(String::as_str), Some(kind), "{name}");
    }
    served.stop();
}

/// Prometheus' own check: it requires help for every metric, and conventional names.
fn checked_by_promtool(metrics: &str) {
    let promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut promtool = promtool.expect("this test needs promtool: apt-get install prometheus");
    promtool.stdin.take().unwrap().write_all(metrics.as_bytes()).unwrap();
    let judged = promtool.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&judged.stderr).into_owned();
    assert!(judged.status.success(), "{said}{}", String::from_utf8_lossy(&judged.stdout));
}

#[test]
fn metrics_are_the_operators_where_others_can_ask() {
    let folder = tempfile::tempdir().unwrap();
    let everywhere = ("GANCHO_API_LISTEN", "0.0.0.0:0");
    let served = Gateway::start(folder.path(), &[everywhere]);
    let local = ([127, 0, 0, 1], served.address.port()).into();
    let bearer = format!("Bearer {TOKEN}");
    let get = |headers: &[(&str, &str)]| http::call(local, "GET", "/metrics", headers, "").status;
    assert_eq!(get(&[]), 401);
    assert_eq!(get(&[("authorization", "Bearer not-the-token-at-all")]), 401);
    assert_eq!(get(&[("authorization", &bearer)]), 200);
    assert_eq!(http::call(local, "GET", "/healthz", &[], "").status, 200);
    served.stop();

    let served = Gateway::start(folder.path(), &[everywhere, ("GANCHO_METRICS_PUBLIC", "true")]);
    let local = ([127, 0, 0, 1], served.address.port()).into();
    assert_eq!(http::call(local, "GET", "/metrics", &[], "").status, 200);
    served.stop();
}
