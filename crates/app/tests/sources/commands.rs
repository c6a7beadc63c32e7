//! `gancho sources`, at a running gateway.

use serde_json::json;

use crate::operator::{Operator, alone};

const SECRET: &str = "a-secret-that-only-the-file-has";

#[test]
fn a_source_from_its_making_to_its_end() {
    let at = Operator::start();
    let folder = at.folder.path();
    assert!(at.run(&["sources", "list"]).ok().out.contains("no sources yet"));
    std::fs::write(folder.join("schema.json"), r#"{"type":"object"}"#).unwrap();
    let made = at.json(&[
        "sources",
        "create",
        "acme",
        "--preset",
        "partner",
        "--target",
        "http://127.0.0.1:19458/core",
        "--target",
        "http://127.0.0.1:19458/other",
        "--schema",
        "schema.json",
        "--rate",
        "50/s",
        "--event-id",
        "/event_id",
    ]);
    assert_eq!(
        made["targets"],
        json!(["http://127.0.0.1:19458/core", "http://127.0.0.1:19458/other"])
    );
    assert_eq!(made["rate_limit"], json!({"count": 50, "per": "1s"}));
    assert_eq!(made["schema"], json!({"type": "object"}));
    assert!(made["dispatch_secret"].as_str().unwrap().len() > 20, "{made}");
    let listed = at.run(&["sources", "list"]).ok().out;
    assert!(listed.contains("acme") && listed.contains("active"), "{listed}");
    assert!(!listed.contains('\u{1b}'), "a pipe gets no colors: {listed:?}");

    let paused = at.json(&["sources", "change", "acme", "--pause", "--no-schema"]);
    assert_eq!((&paused["is_active"], &paused["schema"]), (&json!(false), &json!(null)));
    let shown = at.run(&["sources", "show", "acme"]).ok().out;
    assert!(shown.contains("paused") && shown.contains("It has no keys"), "{shown}");
    at.run(&["sources", "change", "acme", "--activate"]).ok();
    assert_eq!(at.run(&["sources", "change", "acme"]).code, 2, "nothing was said to change");

    let unasked = at.run(&["sources", "delete", "acme"]);
    assert_eq!(unasked.code, 2, "nobody could be asked: {}", unasked.err);
    assert!(unasked.err.contains("--yes"), "{}", unasked.err);
    at.run(&["sources", "delete", "acme", "--yes"]).ok();
    let gone = at.run(&["sources", "show", "acme"]);
    assert_eq!(gone.code, 4);
    assert!(gone.err.contains("no source with this name exists"), "{}", gone.err);
}

#[test]
fn keys_come_from_everywhere_but_the_command_line() {
    let at = Operator::start();
    let folder = at.folder.path();
    at.run(&["sources", "create", "acme"]).ok();
    let made = at.json(&["sources", "keys", "add", "acme", "k1", "--until", "90d"]);
    assert_eq!(made["secret"].as_str().unwrap().len(), 64);
    assert!(made["not_after"].is_string(), "{made}");
    std::fs::write(folder.join("secret"), format!("{SECRET}\n")).unwrap();
    at.run(&["sources", "keys", "add", "acme", "k2", "--secret-file", "secret"]).ok();
    let from_env = ["sources", "keys", "add", "acme", "k3", "--secret-env", "PARTNER_SECRET"];
    at.run_with(&from_env, &[("PARTNER_SECRET", SECRET)], "").ok();
    let from_stdin = ["sources", "keys", "add", "acme", "k4", "--secret-file", "-"];
    at.run_with(&from_stdin, &[], SECRET).ok();
    let public = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
    at.run(&["sources", "keys", "add", "acme", "k5", "--public-key", public]).ok();
    let later = ["sources", "keys", "add", "acme", "k6", "--from", "2h", "--replaces", "k1"];
    let later = at.run(&later).ok().out;
    assert!(later.contains("Key k1 expires in 24h"), "{later}");

    let listed = at.json(&["sources", "keys", "list", "acme"]);
    let of = |name: &str| {
        let rows = listed["data"].as_array().unwrap();
        rows.iter().find(|row| row["key_id"] == name).unwrap().clone()
    };
    assert_eq!(of("k5")["scheme"], "ed25519");
    assert_eq!((&of("k2")["is_valid"], &of("k6")["is_valid"]), (&json!(true), &json!(false)));
    let shown = at.run(&["sources", "keys", "list", "acme"]).ok().out;
    assert!(shown.contains("not yet") && shown.contains("until "), "{shown}");
    assert!(!shown.contains(SECRET) && !listed.to_string().contains(SECRET));

    let missing = ["sources", "keys", "add", "acme", "k7", "--secret-env", "NOT_THERE"];
    assert!(at.run(&missing).err.contains("the environment variable NOT_THERE is not set"));
    let both = ["sources", "keys", "add", "acme", "k7", "--secret-env", "A", "--secret-file", "b"];
    assert_eq!(at.run(&both).code, 2);
    at.run(&["sources", "keys", "revoke", "acme", "k2", "--yes"]).ok();
    assert_eq!(at.json(&["sources", "keys", "list", "acme"])["data"].as_array().unwrap().len(), 5);
    let invalid = at.run(&["sources", "keys", "add", "acme", "k8", "--public-key", "no key"]);
    assert_eq!(invalid.code, 4);
    assert!(invalid.err.contains("invalid publicKey: "), "the place is reported: {}", invalid.err);
}

/// Keys as a key-value store exports them, from a file and from standard input.
#[test]
fn keys_of_a_key_value_store_are_imported() {
    let at = Operator::start();
    let entries = format!(
        r#"{{"webhook:partner:acme:key:k1":{{"scheme":"hmac","algo":"sha256","secret":"{SECRET}"}},
            "webhook:partner:beta:key:k9":{{"scheme":"hmac","algo":"sha256","secret":"{SECRET}"}}}}"#
    );
    let said = at.run_with(&["sources", "import", "-"], &[], &entries).ok().out;
    assert_eq!(said, "Imported 2 keys; created 2 sources.\n");
    std::fs::write(at.folder.path().join("again.json"), &entries).unwrap();
    assert_eq!(at.json(&["sources", "import", "again.json"]), json!({"keys": 2, "sources": 0}));
    let faulty = r#"{"webhook:partner:acme":{"scheme":"hmac","secret":"hush-hush"}}"#;
    let refused = at.run_with(&["sources", "import", "-"], &[], faulty);
    assert_eq!(refused.code, 4);
    assert!(refused.err.contains("webhook:partner:<name>:key:<id>"), "{}", refused.err);
    assert!(!refused.err.contains("hush"), "{}", refused.err);
    assert!(at.run_with(&["sources", "import", "-"], &[], "{").err.contains("is not JSON"));
}

#[test]
fn a_test_event_is_kept_and_what_is_refused_is_explained() {
    let at = Operator::start();
    let receipts = at.receive(2);
    let listed = at.json(&["sources", "receipts", "acme", "--limit", "1"]);
    assert_eq!(listed["data"][0]["id"], receipts[1].as_str());
    assert_eq!(listed["has_more"], true);
    let shown = at.run(&["sources", "receipts", "acme"]).ok().out;
    assert!(receipts.iter().all(|id| shown.contains(id)) && shown.contains("(test)"), "{shown}");
    let body = r#"{"event_id":"evt-7","n":1.50}"#;
    let sent = ["sources", "simulate", "acme", "--body", "-"];
    let said = at.run_with(&sent, &[], body).ok().out;
    assert!(said.contains(r#"{"event_id":"evt-7","n":1.50}"#), "as it was given: {said}");
    let again = at.run_with(&sent, &[], body).ok().out;
    assert!(again.contains("duplicate"), "{again}");

    at.run(&["sources", "change", "acme", "--pause"]).ok();
    let refused = at.run(&["sources", "simulate", "acme"]);
    assert_eq!(refused.code, 1, "{}{}", refused.out, refused.err);
    assert!(refused.err.contains("the request was rejected"), "{}", refused.err);
    let turned = at.run(&["sources", "rejections", "acme"]).ok().out;
    assert!(turned.contains("503") && turned.contains("source_paused"), "{turned}");
    at.run(&["sources", "rejections"]).ok();
}

/// faults.md B4: a receipt can be shown and sent again.
#[test]
fn a_receipt_is_shown_and_sent_again() {
    let at = Operator::start();
    let (core, seen) = crate::receiver::start();
    let receipt = at.receive(1).remove(0);
    at.run(&["sources", "change", "acme", "--target", &format!("http://{core}/hooks")]).ok();
    let shown = || at.json(&["sources", "receipt", "acme", &receipt]);
    gancho_testkit::until("it goes to the new target", || shown()["status"] == "dispatched");
    let whole = shown();
    assert_eq!(whole["context"]["req"]["path"], "/webhooks/acme");
    assert!(whole["headers"]["x-signature"].is_string(), "{whole}");
    let told = at.run(&["sources", "receipt", "acme", &receipt]).ok().out;
    for part in ["POST /webhooks/acme", "x-key-id", "dispatched", "delivered", &core.to_string()] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let said = at.run(&["sources", "retry", "acme", &receipt]).ok().out;
    assert!(said.contains(&receipt) && said.contains(&core.to_string()), "{said}");
    gancho_testkit::until("it comes again", || seen.counts().get(&receipt) == Some(&2));
    let counted = at.json(&["sources", "retry", "acme", "--status", "dlq", "--dry-run"]);
    assert_eq!((&counted["total"], &counted["dry_run"]), (&json!(0), &json!(true)));
    assert_eq!(at.run(&["sources", "retry", "acme"]).code, 2, "everything has to be asked for");
    let job = at.json(&["sources", "retry", "acme", "--all", "--rate", "7"]);
    assert_eq!(job["rate"], 7);
    assert_eq!(at.run(&["sources", "receipt", "acme", "rcp_1"]).code, 4);
}

#[test]
fn without_a_gateway_it_says_so() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["sources", "list"][..], &["sources", "simulate", "acme"]] {
        let ran = alone(folder.path(), arguments);
        assert_eq!(ran.code, 6);
        assert!(ran.err.contains("no gateway") && ran.err.contains("gancho serve"), "{}", ran.err);
    }
}
