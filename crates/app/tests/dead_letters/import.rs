//! `gancho dlq import`: archived and exported dead letters are restored.

use std::{fmt::Write, fs, sync::Arc, time::Duration};

use gancho_domain::{Clock, DeliveryId, EventId, IdMaker, ManualClock, SeededRandom, SystemClock};
use gancho_testkit::until;
use serde_json::{Value, json};

use crate::{http, operator::Operator, scripted_receiver::Receiver};

const MANY: usize = 10_000;

fn total(at: &Operator) -> u64 {
    at.json(&["dlq", "stats"])["total"].as_u64().unwrap()
}

/// Creates a tenant with an endpoint whose deliveries fail at once.
fn failing(at: &Operator, target: &Receiver) -> String {
    target.answer(500);
    let key = at.served.tenant("acme");
    let body = json!({"url": target.url(), "events": ["*"], "retry": {"schedule": []}});
    let headers = [("x-api-key", key.as_str())];
    let path = "/v1/webhooks";
    let made = http::call(at.served.address, "POST", path, &headers, &body.to_string());
    assert_eq!(made.status, 201, "{}", made.body);
    key
}

/// Makes a dead letter invalid.
type Change<'a> = &'a dyn Fn(&mut Value);

/// Returns many copies of the same dead letter, each of its own event, forty days ago.
fn copies(template: &Value, count: usize) -> String {
    let clock = Arc::new(ManualClock::default());
    clock.set(SystemClock.now() - Duration::from_hours(40 * 24));
    let ids = IdMaker::new(clock.clone(), Arc::new(SeededRandom::new(7)));
    let mut lines = String::new();
    for number in 0..count {
        clock.advance(Duration::from_millis(1));
        let mut letter = template.clone();
        letter["id"] = json!(DeliveryId::to_string(&ids.make()));
        letter["subject_id"] = json!(EventId::to_string(&ids.make()));
        letter["original_data"] = json!({ "number": number });
        writeln!(lines, "{letter}").unwrap();
    }
    lines
}

fn comes_back(database: Option<&str>) {
    let target = Receiver::start();
    let mut variables = vec![("GANCHO_DEAD_LETTERS_PER_TENANT", "100000")];
    variables.extend(database.map(|url| ("GANCHO_DATABASE_URL", url)));
    let at = Operator::with(&variables);
    let key = failing(&at, &target);
    at.served.publish(&key, "a.b", r#"{"price": 9.90}"#);
    until("it is given up", || total(&at) == 1);
    let exported = at.run(&["dlq", "export"]).ok().out;
    let template: Value = serde_json::from_str(exported.trim()).unwrap();
    assert_eq!(template["event_type"], "a.b");

    let file = at.folder.path().join("letters.ndjson");
    let lines = copies(&template, MANY);
    fs::write(&file, &lines).unwrap();
    let path = file.to_str().unwrap();
    let began = std::time::Instant::now();
    let imported = at.json(&["dlq", "import", path]);
    eprintln!("{MANY} dead letters imported in {:?}", began.elapsed());
    assert_eq!((&imported["imported"], &imported["present"]), (&json!(MANY), &json!(0)));
    assert_eq!(total(&at), MANY as u64 + 1);
    let again = at.json(&["dlq", "import", path]);
    assert_eq!((&again["imported"], &again["present"]), (&json!(0), &json!(MANY)));
    assert_eq!(total(&at), MANY as u64 + 1, "nothing is there twice");

    // One of them is replayed, delivered, and not restored again.
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    let id = first["id"].as_str().unwrap();
    let shown = at.json(&["dlq", "show", id]);
    assert_eq!(shown["original_data"], json!({ "number": 0 }));
    assert_eq!(shown["moved_to_dlq_at"], template["moved_to_dlq_at"]);
    target.answer(200);
    at.run(&["dlq", "replay", id]).ok();
    until("it is delivered", || total(&at) == MANY as u64);
    let one = at.run_with(&["dlq", "import", "-"], &[], lines.lines().next().unwrap()).ok();
    assert!(one.out.contains("Imported 0 dead letters") && one.out.contains(id), "{}", one.out);
    assert!(one.out.contains("was delivered"), "{}", one.out);
    at.stop();
}

#[test]
fn ten_thousand_come_back_once_to_sqlite() {
    comes_back(None);
}

#[test]
fn ten_thousand_come_back_once_to_postgres() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(gancho_testkit::postgres::fresh_database()).unwrap();
    comes_back(Some(&database.url()));
}

/// Archived by a restart with a low limit, and restored with the usual one.
#[test]
fn what_was_archived_comes_back_as_it_was() {
    let (target, folder) = (Receiver::start(), tempfile::tempdir().unwrap());
    let at = Operator::start();
    let key = failing(&at, &target);
    for number in 1..=3 {
        at.served.publish(&key, "a.b", r#"{ "price": 9.90 }"#);
        until("it is given up", || total(&at) == number);
    }
    let before: Vec<Value> = at.json(&["dlq", "list"])["data"].as_array().unwrap().clone();
    let data = at.stop();
    let archive = folder.path().join("archive");
    let low = crate::gateway::Gateway::start(
        data.path(),
        &[
            ("GANCHO_ARCHIVE_DIR", archive.to_str().unwrap()),
            ("GANCHO_DEAD_LETTERS_PER_TENANT", "1"),
        ],
    );
    until("two are archived", || low.operator("GET", "/v1/dlq/stats", "").json()["total"] == 1);
    low.stop();
    let served = crate::gateway::Gateway::start(data.path(), &[]);
    let run = |arguments: &[&str]| {
        let mut command = crate::gateway::command(arguments, data.path());
        command.env("GANCHO_API_LISTEN", served.address.to_string());
        let ran = command.output().unwrap();
        let err = String::from_utf8(ran.stderr).unwrap();
        (ran.status.code().unwrap(), String::from_utf8(ran.stdout).unwrap(), err)
    };
    let (code, out, err) = run(&["dlq", "import", archive.to_str().unwrap(), "--json"]);
    assert_eq!(code, 0, "{out}{err}");
    let imported: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(imported["imported"], 2, "{imported}");
    let listed = served.operator("GET", "/v1/dlq", "").json();
    let after = listed["data"].as_array().unwrap();
    for (one, was) in after.iter().zip(&before) {
        for field in [
            "id",
            "subject_id",
            "original_data",
            "last_failure_code",
            "last_provider_code",
            "moved_to_dlq_at",
        ] {
            assert_eq!(one[field], was[field], "{field}");
        }
        let id = one["id"].as_str().unwrap();
        let delivery = served.operator("GET", &format!("/v1/deliveries/{id}"), "").json();
        assert_eq!(delivery["attempt_log"].as_array().map(Vec::len), Some(1), "{delivery}");
    }
    served.stop();
}

#[test]
fn a_bad_line_is_named() {
    let at = Operator::start();
    let target = Receiver::start();
    let key = failing(&at, &target);
    at.served.publish(&key, "a.b", "{}");
    until("it is given up", || total(&at) == 1);
    let exported = at.run(&["dlq", "export"]).ok().out;
    let template: Value = serde_json::from_str(exported.trim()).unwrap();
    let lines = copies(&template, 4);
    let with = |change: &dyn Fn(&mut Value)| {
        let mut all: Vec<Value> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        change(&mut all[2]);
        let text: Vec<String> = all.iter().map(Value::to_string).collect();
        at.run_with(&["dlq", "import", "-"], &[], &text.join("\n"))
    };
    let cases: [(Change, &str); 5] = [
        (&|letter| letter["lane"] = json!("post"), "lane"),
        (
            &|letter| letter["tenant_id"] = json!("ten_01ARZ3NDEKTSV4RRFFQ69G5FAV"),
            "no tenant has the id",
        ),
        (&|letter| letter["subject_id"] = json!("out_01ARZ3NDEKTSV4RRFFQ69G5FAV"), "subject_id"),
        (&|letter| letter["moved_to_dlq_at"] = json!("2999-01-01T00:00:00Z"), "in the future"),
        (&|letter| drop(letter.as_object_mut().unwrap().remove("event_type")), "event_type"),
    ];
    for (change, said) in cases {
        let ran = with(change);
        assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
        assert!(ran.err.contains("line 3") && ran.err.contains(said), "{said}: {}", ran.err);
        assert_eq!(total(&at), 1, "nothing of the batch");
    }
    for (text, said) in
        [("{\"a\":", "line 1: not JSON"), ("", "no dead letter"), ("[1]\n", "line 1")]
    {
        let ran = at.run_with(&["dlq", "import", "-"], &[], text);
        assert!(ran.code == 2 && ran.err.contains(said), "{text}: {}", ran.err);
    }
    // Exports of other lanes have masked data, and do not prevent the import of the rest.
    let masked = with(&|letter| {
        letter["lane"] = json!("email");
        letter["target_id"] = Value::Null;
    });
    assert_eq!(masked.code, 0, "{}{}", masked.out, masked.err);
    assert!(masked.out.contains("Imported 3 dead letters"), "{}", masked.out);
    assert!(masked.out.contains("import the archived dead letter"), "{}", masked.out);
    assert_eq!(total(&at), 4);
    let receipt = with(&|letter| {
        letter["lane"] = json!("dispatch");
        letter["tenant_id"] = Value::Null;
    });
    assert_eq!(receipt.code, 0, "{}{}", receipt.out, receipt.err);
    assert!(receipt.out.contains("import the archived dead letter"), "{}", receipt.out);
    let nobodys = with(&|letter| letter["tenant_id"] = Value::Null);
    assert!(nobodys.code == 2 && nobodys.err.contains("tenant_id"), "{}", nobodys.err);
    let missing = at.run(&["dlq", "import", "nowhere.json"]);
    assert!(
        missing.code == 2 && missing.err.contains("cannot read nowhere.json"),
        "{}",
        missing.err
    );
    at.stop();
}
