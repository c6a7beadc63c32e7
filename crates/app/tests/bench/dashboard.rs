//! `gancho bench dashboard` reads every page, with small sizes. A test build says nothing about their speed.

use std::process::Command;

use serde_json::Value;

use crate::pipe_process::GANCHO;

#[test]
fn every_page_and_the_cost_of_live_ones_are_measured() {
    let mut command = Command::new(GANCHO);
    command.args(["bench", "dashboard", "--deliveries", "1000", "--endpoints", "10"]);
    command.args(["--tenants", "5", "--dashboards", "3", "--rate", "100", "--seconds", "1"]);
    let shown = command.arg("--json").env_remove("GANCHO_DATABASE_URL").output().unwrap();
    let errors = String::from_utf8_lossy(&shown.stderr).into_owned();
    assert!(shown.status.success(), "{errors}");
    let lines = String::from_utf8(shown.stdout).unwrap();
    let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let pages: Vec<&str> = rows.iter().filter_map(|row| row["page"].as_str()).collect();
    for page in ["/ui/", "/ui/deliveries", "/ui/dead-letters", "/ui/nodes"] {
        assert!(pages.contains(&page), "{page} is not in {pages:?}");
    }
    let live = rows.iter().filter(|row| row["ratio"].is_number() && row["what"].is_string());
    assert_eq!(live.count(), 2, "{lines}");
}
