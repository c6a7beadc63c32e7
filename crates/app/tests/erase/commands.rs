//! `gancho erase`: received content is erased, and the ledger still verifies.

use std::fs;

use gancho_testkit::until;

use crate::{http, operator::Operator, scripted_receiver::Receiver};

#[test]
fn the_ledger_verifies_after_receipts_were_erased() {
    let at = Operator::start();
    let receipts = at.receive(3);
    at.run(&["ledger", "checkpoint"]).ok();
    let refused = at.run(&["erase", "receipt", &receipts[1]]);
    assert_ne!(refused.code, 0, "it asks first: {refused:?}");
    let erased = at.json(&["erase", "receipt", &receipts[1], "--yes"]);
    assert_eq!(erased["erased"], 1, "{erased}");
    let verified = at.run(&["ledger", "verify"]);
    assert_eq!(verified.code, 0, "{verified:?}");
    assert!(verified.out.contains('3'), "{verified:?}");
    let again = at.json(&["erase", "receipt", &receipts[1], "--yes"]);
    assert_eq!((&again["erased"], &again["already_erased"]), (&0.into(), &1.into()));
    let unknown = at.run(&["erase", "event", "evt_01HZZZZZZZZZZZZZZZZZZZZZZZ", "--yes"]);
    assert_ne!(unknown.code, 0, "{unknown:?}");
}

/// The database file does not contain it any more.
#[test]
fn the_bytes_are_gone_from_the_file() {
    let at = Operator::start();
    let receiver = Receiver::start();
    receiver.answer_with(410, "response-canary");
    let key = at.served.tenant("acme");
    at.served.endpoint(&key, &receiver.url());
    let body = r#"{"type":"a.b","subject":"subject-canary","data":{"name":"payload-canary"}}"#;
    let headers = [("x-api-key", key.as_str())];
    let sent = http::call(at.served.address, "POST", "/v1/events", &headers, body);
    let event = sent.json()["id"].as_str().unwrap().to_owned();
    let dead = || at.json(&["dlq", "list"])["data"].as_array().unwrap().len();
    until("it is a dead letter", || dead() == 1);
    let erased = at.json(&["erase", "event", &event, "--tenant", "acme", "--yes"]);
    assert_eq!(erased["erased"], 1, "{erased}");
    assert_eq!(dead(), 0);
    // The same for the data of a deleted tenant.
    let gone = at.served.tenant("gone");
    at.served.publish(&gone, "a.b", r#"{"name":"tenant-canary"}"#);
    at.run(&["tenants", "delete", "gone", "--yes"]).ok();
    until("it is erased", || !at.served.logged("tenant erased").is_empty());
    let folder = at.stop();
    let data = folder.path().join("data");
    let mut files = Vec::new();
    for name in ["gancho.db", "gancho.db-wal"] {
        files.extend(fs::read(data.join(name)).unwrap_or_default());
    }
    assert!(!files.is_empty());
    for canary in ["payload-canary", "subject-canary", "response-canary", "tenant-canary"] {
        let found = files.windows(canary.len()).any(|part| part == canary.as_bytes());
        assert!(!found, "{canary} is in the database file");
    }
}
