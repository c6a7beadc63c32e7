//! `gancho erase`: what was received is gone, and the ledger still verifies.

use std::fs;

use gancho_testkit::until;

use crate::{operator::Operator, scripted_receiver::Receiver};

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

/// Neither the archive nor the database file has it any more.
#[test]
fn an_archived_letter_is_removed() {
    let at = Operator::with(&[("GANCHO_DEAD_LETTERS_PER_TENANT", "0")]);
    let receiver = Receiver::start();
    receiver.answer_with(410, "response-canary");
    let key = at.served.tenant("acme");
    at.served.endpoint(&key, &receiver.url());
    let event = at.served.publish(&key, "a.b", r#"{"name":"payload-canary"}"#);
    let archive = at.folder.path().join("data/archive/webhooks/acme");
    let letters = || {
        let days = fs::read_dir(&archive).into_iter().flatten().flatten();
        days.flat_map(|day| fs::read_dir(day.path()).into_iter().flatten().flatten()).count()
    };
    until("it is archived", || letters() == 1);
    let erased = at.json(&["erase", "event", &event, "--tenant", "acme", "--yes"]);
    assert_eq!((&erased["erased"], &erased["archived"]), (&1.into(), &1.into()), "{erased}");
    assert_eq!(letters(), 0);
    let folder = at.folder.path().join("data");
    at.served.signal("TERM");
    until("it has ended and the log is merged", || !folder.join("gancho.db-wal").exists());
    let file = fs::read(folder.join("gancho.db")).unwrap();
    for canary in ["payload-canary", "response-canary"] {
        let found = file.windows(canary.len()).any(|part| part == canary.as_bytes());
        assert!(!found, "{canary} is in the database file");
    }
}
