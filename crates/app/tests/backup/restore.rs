//! A backup of a busy gateway, restored elsewhere: everything that was acknowledged before it exists, and
//! deliveries continue.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use gancho_testkit::until;
use serde_json::Value;

use crate::{
    browser::Browser,
    gateway::{Gateway, command},
    http,
    operator::{Ran, alone},
    receiver,
};

fn run(folder: &Path, arguments: &[&str]) -> Ran {
    alone(folder, arguments)
}

#[test]
fn what_was_backed_up_is_restored_and_delivered() {
    let folder = tempfile::tempdir().unwrap();
    let (target, seen) = receiver::start();
    let served = Gateway::start(folder.path(), &[]);
    let key = served.tenant("acme");
    served.endpoint(&key, &format!("http://{target}/hook"));
    served.source("partner", crate::partner::SECRET, &format!("http://{target}/core"));
    served.simulate("partner");
    // These wait: only the restored gateway delivers them.
    assert_eq!(served.operator("POST", "/v1/queues/webhook/pause", "").status, 204);
    let waiting: Vec<String> =
        (0..20).map(|number| served.publish(&key, "a.b", &format!("{number}"))).collect();

    // The gateway keeps writing during the copy.
    let is_over = Arc::new(AtomicBool::new(false));
    let (stop, address, publisher) = (is_over.clone(), served.address, key.clone());
    let busy = thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            let body = format!(r#"{{"type":"c.d","data":"{}"}}"#, "x".repeat(5_000));
            http::call(address, "POST", "/v1/events", &[("x-api-key", &publisher)], &body);
        }
    });
    let signed_in = Browser::logged_in(&served);
    let file = folder.path().join("copy.db");
    let file = file.to_str().unwrap();
    let made = run(folder.path(), &["backup", file, "--json"]).ok();
    is_over.store(true, Ordering::Relaxed);
    busy.join().unwrap();
    let told: Value = made.json();
    assert_eq!((&told["is_verified"], &told["keys"]), (&true.into(), &serde_json::json!([1])));
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    let again = run(folder.path(), &["backup", file]);
    assert!(again.code != 0 && again.err.contains("exists already\nhint: "), "{}", again.err);
    let text = folder.path().join("events.ndjson");
    fs::write(&text, "{}\n".repeat(99)).unwrap();
    let other = run(folder.path(), &["restore", text.to_str().unwrap()]);
    assert!(other.code != 0 && other.err.contains("is not a backup"), "{}", other.err);
    assert!(other.err.contains("\nhint: use a file that"), "{}", other.err);

    // Refused while the gateway is running.
    let refused = run(folder.path(), &["restore", file]);
    assert!(refused.code != 0 && refused.err.contains("in use by another"), "{}", refused.err);
    served.stop();

    // Elsewhere, without the key ring, nothing is changed.
    let other = tempfile::tempdir().unwrap();
    let refused = run(other.path(), &["restore", file]);
    assert!(refused.code != 0 && refused.err.contains("key 1 of a key ring"), "{}", refused.err);
    assert!(!other.path().join("data/gancho.db").exists());
    // Nor with another ring, whose keys have the same numbers.
    let third = tempfile::tempdir().unwrap();
    Gateway::start(third.path(), &[]).stop();
    let refused = run(third.path(), &["restore", file]);
    assert!(refused.code != 0 && refused.err.contains("key 1 of a key ring"), "{}", refused.err);
    fs::create_dir_all(other.path().join("data")).unwrap();
    let ring = "data/master.key";
    fs::copy(folder.path().join(ring), third.path().join(ring)).unwrap();
    let doctor = run(third.path(), &["doctor"]);
    assert!(doctor.out.contains("encrypted with another key ring"), "{}", doctor.out);
    fs::copy(folder.path().join(ring), other.path().join(ring)).unwrap();
    run(other.path(), &["restore", file]).ok();
    run(other.path(), &["ledger", "verify"]).ok();
    let restored = Gateway::start(other.path(), &[]);
    assert_eq!(signed_in.at(&restored).get("/ui/queues").status, 303, "who may have signed out");
    assert_eq!(restored.operator("POST", "/v1/queues/webhook/resume", "").status, 204);
    for id in &waiting {
        until("it is delivered", || seen.body(id).is_some());
    }
    let key = restored.operator("POST", "/v1/tenants/acme/api-keys", "{}").json();
    let new = restored.publish(key["key"].as_str().unwrap(), "a.b", "{}");
    until("it goes on", || seen.body(&new).is_some());
    restored.stop();

    // An existing database is kept under another name.
    let told = run(other.path(), &["restore", file, "--json"]).ok().json();
    let before = told["previous"].as_str().unwrap();
    assert!(Path::new(before).exists(), "{told}");
    // The ledger may be shorter now than its checkpoints say.
    let told = run(other.path(), &["restore", file]).ok().out;
    assert!(told.contains("move the checkpoints that are newer than the backup"), "{told}");
}

#[test]
fn a_damaged_backup_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    Gateway::start(folder.path(), &[]).stop();
    let file = folder.path().join("copy.db");
    let name = file.to_str().unwrap();
    run(folder.path(), &["backup", name]).ok();
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 8_192].fill(0xff);
    fs::write(&file, &bytes).unwrap();
    let refused = run(folder.path(), &["restore", name]);
    assert!(refused.code != 0 && refused.err.contains("damaged"), "{}", refused.err);
    fs::write(&file, "not a database").unwrap();
    let refused = run(folder.path(), &["restore", name]);
    assert!(refused.code != 0 && refused.err.contains("damaged"), "{}", refused.err);
    Gateway::start(folder.path(), &[]).stop();

    let mut postgres = command(&["backup", "x"], folder.path());
    postgres.env("GANCHO_DATABASE_URL", "postgres://nobody@127.0.0.1:1/none");
    let output = postgres.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("pg_dump"));
}
