//! The commands for events: tenants, API keys, endpoints, events, deliveries, dead letters, replays and
//! queues, at a real gateway.

use gancho_testkit::until;
use serde_json::Value;

use crate::{operator::Operator, scripted_receiver::Receiver};

fn id(value: &Value) -> String {
    value["id"].as_str().unwrap().to_owned()
}

/// From a tenant to a dead letter and back.
fn tour(at: &Operator) {
    at.run(&["tenants", "create", "acme", "--name", "Acme", "--publish-rate", "500/s"]).ok();
    assert_eq!(at.json(&["tenants", "show", "acme"])["publish_rate"]["count"], 500);
    let changed =
        at.json(&["tenants", "update", "acme", "--publish-rate", "none", "--plan", "unlimited"]);
    assert_eq!((&changed["publish_rate"], &changed["plan"]), (&Value::Null, &"unlimited".into()));
    assert_eq!(at.run(&["tenants", "update", "acme"]).code, 2);
    let keep = ["--retention-events", "14d", "--retention-dead-letters", "30d"];
    let changed = at.json(&[&["tenants", "update", "acme"][..], &keep].concat());
    assert_eq!(changed["retention"]["events"], "14d", "{changed}");
    let changed = at.json(&["tenants", "update", "acme", "--retention-events", "none"]);
    let retention = serde_json::json!({"events": null, "emails": null, "dead_letters": "30d"});
    assert_eq!(changed["retention"], retention);
    let short = at.run(&["tenants", "update", "acme", "--retention-emails", "5m"]);
    assert!(short.err.contains("between 1h and 3660d"), "{}", short.err);
    let made =
        at.run(&["api-keys", "create", "--name", "ci", "--scope", "read", "--expires", "90d"]).ok();
    assert!(made.out.starts_with("gk_") && made.out.lines().count() == 1, "{}", made.out);
    let key = at.json(&["api-keys", "list"])["data"][0].clone();
    assert_eq!(key["scopes"], serde_json::json!(["read"]));

    let receiver = Receiver::start();
    let created = at.json(&[
        "endpoints",
        "create",
        &receiver.url(),
        "--event",
        "invoice.*",
        "--name",
        "billing",
    ]);
    let endpoint = id(&created);
    at.run(&["endpoints", "test", &endpoint]).ok();
    let sent = at.run(&["publish", "invoice.paid", "{}"]).ok().out;
    let event = sent.trim();
    let of_event = ["deliveries", "list", "--event", event];
    until("it is delivered", || at.json(&of_event)["data"][0]["status"] == "delivered");
    let delivery = id(&at.json(&of_event)["data"][0]);
    let shown = at.run(&["deliveries", "show", &delivery, "--verbose"]).ok().out;
    assert!(shown.contains("> webhook-signature:") && shown.contains("200"), "{shown}");
    assert_eq!(id(&at.json(&["events", "show", event])["deliveries"][0]), delivery);

    at.run(&["endpoints", "pause", &endpoint]).ok();
    assert_eq!(at.json(&["endpoints", "show", &endpoint])["is_paused"], true);
    at.run(&["endpoints", "resume", &endpoint]).ok();
    let old = at.run(&["endpoints", "secret", &endpoint]).ok().out;
    let rotated = at.json(&["endpoints", "rotate", &endpoint, "--overlap", "1h"]);
    assert_ne!(rotated["secret"].as_str().unwrap(), old.trim());

    // A permanent refusal: the endpoint responds 410.
    receiver.answer(410);
    let event = at.run(&["publish", "invoice.lost", "{\"n\":1}"]).ok().out;
    let letters = ["dlq", "list"];
    until("it is a dead letter", || at.json(&letters)["data"].as_array().unwrap().len() == 1);
    let letter = id(&at.json(&letters)["data"][0]);
    assert_eq!(at.json(&["dlq", "stats"])["total"], 1);
    assert_eq!(at.json(&["dlq", "show", &letter])["original_data"]["n"], 1);
    let exported = at.run(&["dlq", "export"]).ok();
    assert!(exported.err.contains("1 dead letter written"), "{}", exported.err);
    assert_eq!(serde_json::from_str::<Value>(&exported.out).unwrap()["id"], letter.as_str());
    receiver.answer(200);
    at.run(&["endpoints", "enable", &endpoint]).ok();
    assert_eq!(at.run(&["dlq", "replay", "--yes"]).code, 2, "a filter or --all");
    assert_eq!(at.json(&["dlq", "replay", "--all", "--dry-run"])["total"], 1);
    assert_eq!(at.json(&letters)["data"].as_array().unwrap().len(), 1, "nothing was sent");
    let job = at.json(&["dlq", "replay", "--all", "--yes", "--wait"]);
    assert_eq!((&job["state"], &job["done"]), (&"done".into(), &1.into()), "{job}");
    let of_event = ["deliveries", "list", "--event", event.trim()];
    until("it is delivered after all", || at.json(&of_event)["data"][0]["status"] == "delivered");
    at.run(&["replays", "show", &id(&job)]).ok();
    assert_eq!(at.json(&["replays", "list"])["data"].as_array().unwrap().len(), 1);
    let dry = at.json(&["replays", "create", "--status", "delivered", "--dry-run"]);
    assert!(dry["total"].as_u64().unwrap() >= 2, "{dry}");
    assert_eq!(at.run(&["replays", "create"]).code, 2);
    assert_eq!(at.json(&["dlq", "purge", "--all", "--yes"])["purged"], 0);

    pause_with_a_reason(at, &endpoint);
    assert!(at.run(&["queues", "list"]).ok().out.contains("email     paused"));
    at.run(&["queues", "resume", "email"]).ok();
    at.run(&["deliveries", "retry", &delivery]).ok();

    export_deliveries(at, event.trim());
    cancel_delivery(at);
    at.run(&["api-keys", "revoke", &id(&key), "--yes"]).ok();
    at.run(&["endpoints", "delete", &endpoint, "--yes"]).ok();
    assert_eq!(at.run(&["endpoints", "show", &endpoint]).code, 4);
    assert_eq!(at.run(&["events", "show", "evt_00000000000000000000000000"]).code, 4);
}

fn pause_with_a_reason(at: &Operator, endpoint: &str) {
    at.run(&["queues", "pause", "email", "--reason", "moving the mail server"]).ok();
    let acts = ["audit", "--operation", "pauseQueue"];
    assert_eq!(at.json(&acts)["data"][0]["reason"], "moving the mail server");
    assert!(at.run(&acts).ok().out.contains("moving the mail server"));
    let too_long = "x".repeat(201);
    let refused = at.run(&["endpoints", "pause", endpoint, "--reason", &too_long]);
    assert!(refused.code != 0 && refused.err.contains("reason"), "{refused:?}");
}

fn export_deliveries(at: &Operator, event: &str) {
    let exported = at.run(&["deliveries", "export", "--type", "invoice.*"]).ok();
    let lines = exported.out.lines().count();
    assert!(lines > 1 && exported.err.contains(&format!("{lines} deliveries written")));
    let row: Value = serde_json::from_str(exported.out.lines().next().unwrap()).unwrap();
    assert!(row["event_type"].as_str().unwrap().starts_with("invoice."), "{row}");
    let file = at.folder.path().join("deliveries.ndjson");
    let to_file = ["deliveries", "export", "--event", event, "--output", file.to_str().unwrap()];
    at.run(&to_file).ok();
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 1);
    assert!(at.run(&to_file).code != 0, "nothing is overwritten");
}

fn cancel_delivery(at: &Operator) {
    let event = at.run(&["publish", "invoice.late", "{}", "--deliver-at", "1h"]).ok().out;
    let of_event = ["deliveries", "list", "--event", event.trim()];
    let late = id(&at.json(&of_event)["data"][0]);
    let said = at.run(&["deliveries", "cancel", &late]).ok().out;
    assert!(said.contains(&format!("{late} is canceled.")), "{said}");
    assert_eq!(at.json(&of_event)["data"][0]["last_error_code"], "CANCELED");
    let again = at.run(&["deliveries", "cancel", &late]);
    assert!(again.code != 0 && again.err.contains("ended already"), "{again:?}");
}

#[test]
fn the_whole_way_of_an_event_on_sqlite() {
    tour(&Operator::start());
}

#[test]
fn the_whole_way_of_an_event_on_postgres() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(gancho_testkit::postgres::fresh_database()).unwrap();
    tour(&Operator::with(&[("GANCHO_DATABASE_URL", &database.url())]));
}

#[test]
fn event_types_are_registered_and_changed() {
    let at = Operator::start();
    at.served.tenant("acme");
    let schema = at.folder.path().join("schema.json");
    std::fs::write(&schema, r#"{"type":"object","required":["id"]}"#).unwrap();
    let example = at.folder.path().join("example.json");
    std::fs::write(&example, r#"{"id":"inv_1"}"#).unwrap();
    let create =
        ["event-types", "create", "widget.painted", "--tenant", "acme", "--description", "Paid"];
    let files =
        ["--schema-file", schema.to_str().unwrap(), "--example-file", example.to_str().unwrap()];
    at.run(&[&create[..], &files].concat()).ok();
    at.run(&[
        "event-types",
        "update",
        "widget.painted",
        "--tenant",
        "acme",
        "--description",
        "Was paid",
    ])
    .ok();
    let shown = at.json(&["event-types", "show", "widget.painted", "--tenant", "acme"]);
    assert_eq!(shown["description"], "Was paid");
    assert_eq!(
        (&shown["schema"]["required"][0], &shown["catalog"]),
        (&"id".into(), &"tenant".into())
    );
    at.run(&["trigger", "widget.painted"]).ok();
    at.run(&["event-types", "delete", "widget.painted", "--tenant", "acme", "--yes"]).ok();
    assert_eq!(at.run(&["event-types", "show", "widget.painted", "--tenant", "acme"]).code, 4);
}
