//! The files in `ops`: Prometheus rules and the Grafana dashboard use metrics that exist, and the unit is
//! valid.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// Returns the metrics that the documentation lists, which `cargo xtask tidy` compares with the code, and
/// their types.
pub fn documented_types() -> BTreeMap<String, String> {
    let page = read("docs/observability.md");
    let metrics = page.split("## Metrics").nth(1).unwrap();
    let rows = metrics.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    let named = cells.flat_map(|cells| {
        let names = cells[1].split('`').skip(1).step_by(2);
        names.map(|name| (name.to_owned(), cells[2].to_owned())).collect::<Vec<_>>()
    });
    named.collect()
}

fn documented() -> BTreeSet<String> {
    documented_types().into_keys().collect()
}

/// Returns the names in a query that look like the gateway's metrics.
fn names_in(query: &str) -> impl Iterator<Item = String> + '_ {
    let words = query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let prefixes = ["gancho_", "dlq_", "retry_", "tenant_", "webhook_", "policy_", "process_"];
    let is_metric = move |word: &&str| prefixes.iter().any(|prefix| word.starts_with(prefix));
    words.filter(is_metric).map(ToOwned::to_owned)
}

fn assert_known(place: &str, query: &str, known: &BTreeSet<String>) {
    for name in names_in(query) {
        let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
        let is_known = known.contains(&name) || base.is_some_and(|base| known.contains(base));
        assert!(is_known, "{place} uses `{name}`, which is not a metric: {query}");
    }
}

#[test]
fn dashboards_and_rules_use_metrics_that_exist() {
    let known = documented();
    assert!(known.len() > 40, "{known:?}");
    let dashboard: Value = serde_json::from_str(&read("ops/grafana/gancho.json")).unwrap();
    let mut queries = 0;
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            assert_known("the dashboard", target["expr"].as_str().unwrap(), &known);
            queries += 1;
        }
    }
    assert!(queries > 25, "{queries}");
    let rules = read("ops/prometheus/rules.yml");
    let expressions = rules.lines().filter(|line| !line.trim_start().starts_with("description:"));
    let labels = ["tenant_dead_letters_high"];
    for line in expressions.filter(|line| !labels.iter().any(|label| line.contains(label))) {
        assert_known("rules.yml", line, &known);
    }
    for page in rules.split("See ").skip(1).filter_map(|rest| rest.split(".md").next()) {
        assert!(root().join(format!("{page}.md")).exists(), "{page}.md is missing");
    }
}

/// Every rule that the gateway evaluates is in the file, except those without a metric.
#[test]
fn the_rules_are_those_of_the_gateway() {
    let rules = read("ops/prometheus/rules.yml");
    let internal = [
        "ledger_check_failed",
        "clock_off",
        "source_key_expiring",
        "api_key_expiring",
        "archive_failing",
    ];
    for name in gancho_alerts_rules() {
        let is_there = rules.contains(&format!("rule: {name} "));
        assert_eq!(is_there, !internal.contains(&name.as_str()), "{name}");
    }
}

fn gancho_alerts_rules() -> Vec<String> {
    let source = read("crates/alerts/src/rule.rs");
    let names = source.split("NAMES: &'static [&'static str] = &[").nth(1).unwrap();
    let names = names.split("];").next().unwrap().split('"').skip(1).step_by(2);
    names.map(ToOwned::to_owned).collect()
}

fn run(program: &str, arguments: &[&str]) {
    let ran = Command::new(program).args(arguments).current_dir(root()).output();
    let ran = ran.unwrap_or_else(|_| panic!("this test needs {program}; `./test` installs it"));
    let said = [ran.stdout, ran.stderr].concat();
    assert!(ran.status.success(), "{program}: {}", String::from_utf8_lossy(&said));
}

#[test]
fn prometheus_accepts_the_rules_and_they_do_what_they_say() {
    run("promtool", &["check", "rules", "ops/prometheus/rules.yml"]);
    run("promtool", &["check", "config", "ops/prometheus/prometheus.yml"]);
    run("promtool", &["test", "rules", "ops/prometheus/rules_test.yml"]);
}

/// Linted and rendered by helm itself.
#[test]
fn the_chart_renders_what_it_should() {
    let check = root().join("ops/helm/check");
    let done = Command::new(check).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Verified with an existing binary, because the unit names the one of a package.
#[test]
fn systemd_accepts_the_unit() {
    let folder = tempfile::tempdir().unwrap();
    let unit = folder.path().join("gancho.service");
    let text = read("ops/systemd/gancho.service").replace("/usr/bin/gancho", "/bin/true");
    fs::write(&unit, text).unwrap();
    run("systemd-analyze", &["verify", unit.to_str().unwrap()]);
}
