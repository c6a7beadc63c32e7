//! The benchmarks run with small sizes, and print their measurements. A test cannot check the speed.

use std::process::Command;

use crate::pipe_process::GANCHO;

fn run(arguments: &[&str]) -> Vec<serde_json::Value> {
    let shown = Command::new(GANCHO).arg("bench").args(arguments).arg("--json").output().unwrap();
    assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
    String::from_utf8(shown.stdout)
        .unwrap()
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

#[test]
fn each_benchmark_measures_what_it_was_asked_to() {
    let store = run(&["store", "--deliveries", "2048", "--batch", "64"]);
    assert_eq!(store[0]["count"], 2048);
    assert!(store[0]["per_second"].as_f64().unwrap() > 0.0);
    let claim = run(&["claim", "--backlog", "3000", "--claims", "1000"]);
    assert_eq!(claim.len(), 2);
    let deliver = run(&["deliver", "--deliveries", "640"]);
    assert_eq!(deliver[0]["count"], 640);
}

#[test]
fn several_nodes_and_cells_are_measured_together() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(gancho_testkit::postgres::fresh_database()).unwrap();
    let url = database.url();
    let serve =
        ["serve", "--database-url", &url, "--nodes", "2", "--cells", "2", "--events", "500"];
    let lines = run(&serve);
    assert_eq!(lines[0]["count"], 500);
    assert!(lines[0]["database_server_cpu_us_each"].as_f64().unwrap() > 0.0);
}

#[test]
fn so_do_those_of_receiving_and_of_mail() {
    let receive =
        run(&["receive", "--webhooks", "320", "--dispatch", "--flood", "200", "--loris", "50"]);
    assert_eq!(receive[0]["count"], 320);
    assert_eq!(receive[2]["what"], "dispatched to the target");
    assert!(receive[5]["p99_ms"].as_f64().unwrap() > 0.0);
    let mail = run(&["mail", "--emails", "160"]);
    assert_eq!(mail[2]["what"], "outcomes reported by webhook");
    assert_eq!(mail[2]["count"], 160);
}
