//! Causes the incidents of the runbook and runs the commands of its pages against them.

use std::{collections::BTreeMap, fmt::Write, fs, path::Path, process::Command, time::Duration};

use gancho_testkit::until;
use serde_json::{Value, json};

use crate::{
    docs::blocks::blocks,
    gateway::{Gateway, TOKEN},
    http, partner, receiver,
    scripted_receiver::Receiver,
};

/// Returns the commands of a page.
fn commands(page: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/runbook");
    let text = fs::read_to_string(folder.join(format!("{page}.md"))).unwrap();
    let shell = blocks(&text).into_iter().filter(|block| block.language == "sh");
    shell.map(|block| block.text).collect()
}

/// Returns the commands of a page in one script, after those of the README with the names of this incident.
fn script(page: &str, names: &BTreeMap<&str, String>) -> String {
    let mut script = format!("set -euo pipefail\nshopt -s expand_aliases\n{}", commands("README"));
    for (name, value) in names {
        writeln!(script, "export {name}='{value}'").unwrap();
    }
    script + &commands(page)
}

struct Incident<'a> {
    served: &'a Gateway,
    folder: &'a Path,
    names: BTreeMap<&'static str, String>,
}

impl Incident<'_> {
    /// Runs a page and returns its output.
    fn run(&self, page: &str) -> String {
        let mut bash = Command::new("bash");
        let mut names = self.names.clone();
        names.insert("GANCHO", format!("http://{}", self.served.address));
        names.insert("TOKEN", TOKEN.to_owned());
        bash.arg("-c").arg(script(page, &names)).current_dir(self.folder);
        let ran = bash.output().unwrap();
        let (out, err) =
            (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert!(ran.status.success(), "{page}: {out}{err}");
        out.into_owned()
    }

    fn has(&self, page: &str, parts: &[&str]) {
        let said = self.run(page);
        for part in parts {
            assert!(said.contains(part), "{page} does not show `{part}`: {said}");
        }
    }
}

fn endpoint(served: &Gateway, key: &str, url: &str) -> String {
    let retry = json!({"schedule": ["1h"]});
    let body = json!({"url": url, "events": ["*"], "timeout": "1s", "retry": retry}).to_string();
    let made = http::call(served.address, "POST", "/v1/webhooks", &[("x-api-key", key)], &body);
    assert_eq!(made.status, 201, "{}", made.body);
    made.json()["id"].as_str().unwrap().to_owned()
}

fn delivery_of(served: &Gateway, tenant: &str, event: &str, code: &str) -> String {
    let path = format!("/v1/deliveries?event_id={event}");
    let mut id = String::new();
    until("it has failed", || {
        let rows = served.acting(tenant, "GET", &path, "").json();
        let row = &rows["data"][0];
        row["id"].as_str().unwrap_or_default().clone_into(&mut id);
        row.to_string().contains(code)
    });
    id
}

#[test]
fn endpoints_that_fail() {
    let folder = tempfile::tempdir().unwrap();
    let served = Gateway::start(folder.path(), &[]);
    let refusing = Receiver::start();
    refusing.answer(401);
    let (slow, _) = receiver::start_slow(Duration::from_secs(3));
    let mut incident = Incident { served: &served, folder: folder.path(), names: BTreeMap::new() };

    let key = served.tenant("refused");
    let id = endpoint(&served, &key, &refusing.url());
    let event = served.publish(&key, "a.b", "{}");
    let delivery = delivery_of(&served, "refused", &event, "401");
    incident.names.extend([
        ("TENANT", "refused".to_owned()),
        ("EVENT", event),
        ("ENDPOINT", id),
        ("DELIVERY", delivery),
    ]);
    incident.has("endpoint-responds-401", &["401", "whsec_"]);
    incident.has("webhook-does-not-arrive", &["HTTP_401", "\"response_status\":401"]);
    incident.has("events-out-of-order", &["per_subject"]);
    incident.has("tenant-takes-all", &["tenant_jobs_processed_total"]);

    let key = served.tenant("slow");
    let id = endpoint(&served, &key, &format!("http://{slow}/hook"));
    let event = served.publish(&key, "a.b", "{}");
    delivery_of(&served, "slow", &event, "TIMEOUT");
    incident.names.extend([("TENANT", "slow".to_owned()), ("ENDPOINT", id)]);
    incident.has("endpoint-times-out", &["failed_attempts", "\"timeout\":\"20s\""]);
    served.stop();
}

#[test]
fn dead_letters_storage_and_queues() {
    let folder = tempfile::tempdir().unwrap();
    let served = Gateway::start(folder.path(), &[("GANCHO_STORE_MAX_BYTES", "100MiB")]);
    let gone = Receiver::start();
    gone.answer(400);
    let key = served.tenant("acme");
    let body = json!({"url": gone.url(), "events": ["*"], "retry": {"schedule": []}}).to_string();
    let made = http::call(served.address, "POST", "/v1/webhooks", &[("x-api-key", &key)], &body);
    let id = made.json()["id"].as_str().unwrap().to_owned();
    for _ in 0..3 {
        served.publish(&key, "a.b", "{}");
    }
    until("they are dead letters", || {
        served.operator("GET", "/v1/dlq/stats", "").json()["total"] == 3
    });
    let names = BTreeMap::from([("TENANT", "acme".to_owned()), ("ENDPOINT", id)]);
    let incident = Incident { served: &served, folder: folder.path(), names };
    incident.has("storage-full", &["gancho_store_limit_bytes 1", "gancho_disk_free_bytes"]);
    incident.has("deliveries-late", &["\"lane\":\"webhook\"", "dead_letters"]);
    incident.has("node-lost", &["\"data\":[]"]);
    incident.has("database-unavailable", &["\"status\":\"ready\""]);
    incident.has("dead-letters-growing", &["HTTP_400", "\"total\":3"]);
    let exported = fs::read_to_string(folder.path().join("dead-letters.ndjson")).unwrap();
    assert_eq!(exported.lines().filter(|line| line.starts_with('{')).count(), 3, "{exported}");
    assert_eq!(served.operator("GET", "/v1/dlq/stats", "").json()["total"], 0);
    served.stop();
}

#[test]
fn partners_that_are_refused_or_stuck() {
    let folder = tempfile::tempdir().unwrap();
    let served = Gateway::start(folder.path(), &[]);
    let core = Receiver::start();
    core.answer(503);
    served.source("acme", partner::SECRET, &core.url());
    served.simulate("acme");
    let forged = http::call(
        served.ingest(),
        "POST",
        "/webhooks/acme",
        &[("x-timestamp", "1700000000"), ("x-key-id", "k1"), ("x-signature", "hmac-sha256=AAAA")],
        "{}",
    );
    assert_eq!(forged.status, 403, "{}", forged.body);
    until("the core was tried", || {
        let path = "/v1/sources/acme/receipts";
        let rows: Value = served.operator("GET", path, "").json();
        rows["data"][0]["attempts"].as_u64().is_some_and(|attempts| attempts > 0)
    });
    let names = BTreeMap::from([("PARTNER", "acme".to_owned())]);
    let incident = Incident { served: &served, folder: folder.path(), names };
    incident.has("partner-gets-403", &["\"reason\"", "k1", "policy"]);
    incident.has("receipts-retry-loop", &["503", "\"attempts\""]);
    incident.has("partner-changes-key", &["k2", "\"key_id\":\"k1\""]);
    served.stop();
}
