//! What is done at one node counts at the others, and what one has begun another carries on.

use gancho_testkit::{
    postgres::{Database, fresh_database},
    until,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    alerts::{fire::failing_endpoint, recorder::Recorder},
    emails::crash::MailServer,
    gateway::Gateway,
    http::{self, Answer},
    receiver,
    scripted_receiver::Receiver,
};

struct Fleet {
    database: Database,
    folder: TempDir,
}

impl Fleet {
    fn new() -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let database = runtime.block_on(fresh_database()).unwrap();
        Self { database, folder: tempfile::tempdir().unwrap() }
    }

    fn node(&self, variables: &[(&str, &str)]) -> Gateway {
        let url = self.database.url();
        let all = [&[("GANCHO_DATABASE_URL", url.as_str())], variables].concat();
        Gateway::start(self.folder.path(), &all)
    }
}

fn call(node: &Gateway, key: &str, method: &str, path: &str, body: &Value) -> Answer {
    http::call(node.address, method, path, &[("x-api-key", key)], &body.to_string())
}

fn publish(node: &Gateway, key: &str) -> Answer {
    call(node, key, "POST", "/v1/events", &json!({"type": "a.b", "data": {}}))
}

#[test]
fn what_is_disabled_or_revoked_at_one_node_is_so_at_the_other() {
    let fleet = Fleet::new();
    let (one, other) = (fleet.node(&[]), fleet.node(&[]));
    let (address, seen) = receiver::start();
    let key = one.tenant("acme");
    let made = one.endpoint(&key, &format!("http://{address}/hook"));
    let path = format!("/v1/webhooks/{}", made["id"].as_str().unwrap());
    for node in [&one, &other] {
        node.publish(&key, "a.b", "{}");
    }
    until("both are delivered", || seen.counts().len() == 2);

    let disabled = call(&one, &key, "PATCH", &path, &json!({"is_active": false}));
    assert_eq!(disabled.status, 200, "{}", disabled.body);
    until("the other sends nothing more there", || {
        let event = publish(&other, &key).json()["id"].as_str().unwrap().to_owned();
        let listed =
            call(&other, &key, "GET", &format!("/v1/deliveries?event_id={event}"), &json!({}));
        listed.json()["data"] == json!([])
    });

    let keys = one.operator("GET", "/v1/tenants/acme/api-keys", "").json();
    let id = keys["data"][0]["id"].as_str().unwrap();
    let revoked = one.operator("DELETE", &format!("/v1/tenants/acme/api-keys/{id}"), "");
    assert_eq!(revoked.status, 204, "{}", revoked.body);
    assert_eq!(publish(&one, &key).status, 401, "at once where it was revoked");
    until("the other refuses it", || publish(&other, &key).status == 401);
    one.stop();
    other.stop();
}

#[test]
fn a_replay_outlives_the_nodes_that_carry_it_out() {
    const COUNT: u64 = 400;
    let fleet = Fleet::new();
    let (one, other) = (fleet.node(&[]), fleet.node(&[]));
    let (address, seen) = receiver::start();
    let key = one.tenant("acme");
    one.endpoint(&key, &format!("http://{address}/hook"));
    for _ in 0..COUNT {
        one.publish(&key, "a.b", "{}");
    }
    until("all are delivered", || seen.counts().len() as u64 == COUNT);
    let body = json!({"all": true, "rate": 50});
    let made = call(&one, &key, "POST", "/v1/replays", &body);
    assert_eq!(made.status, 202, "{}", made.body);
    let path = format!("/v1/replays/{}", made.json()["id"].as_str().unwrap());
    let read = |node: &Gateway| call(node, &key, "GET", &path, &json!({})).json();
    let done = |node: &Gateway| read(node)["done"].as_u64().unwrap();

    // One of the two carries it out: each is killed in the middle of it.
    until("it has begun", || done(&other) > 20);
    one.signal("KILL");
    let third = fleet.node(&[]);
    let before = done(&third);
    until("it goes on", || done(&third) > before + 40);
    other.signal("KILL");
    until("it has ended", || read(&third)["state"] == "done");
    let job = read(&third);
    assert_eq!(
        [&job["total"], &job["done"], &job["failed"], &job["skipped"]],
        [&json!(COUNT), &json!(COUNT), &json!(0), &json!(0)],
        "{job}"
    );
    // What was on the wire when a node was killed may arrive once more.
    until("all arrived again", || seen.counts().values().all(|count| *count >= 2));
    until("all have ended", || {
        let outcomes = read(&third)["outcomes"].clone();
        outcomes["delivered"] == COUNT && outcomes["waiting"] == 0
    });
    third.stop();
}

#[test]
fn an_alert_is_sent_once_by_all_nodes_and_resolved_by_those_that_are_left() {
    let fleet = Fleet::new();
    let (hook, target) = (Recorder::start(), Receiver::start());
    target.answer(500);
    let url = hook.url();
    let variables = [
        ("GANCHO_ALERT_INTERVAL", "200ms"),
        ("GANCHO_ALERT_AFTER", "0s"),
        ("GANCHO_ALERT_DEAD_LETTERS", "4"),
        ("GANCHO_NOTIFY_URL", url.as_str()),
        ("GANCHO_NOTIFY_SECRET", "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQ="),
    ];
    let mut nodes = [0; 3].map(|_| fleet.node(&variables)).into_iter();
    let (one, two, three) = (nodes.next().unwrap(), nodes.next().unwrap(), nodes.next().unwrap());
    let key = one.tenant("acme");
    failing_endpoint(&one, &key, &target.url());
    for node in [&one, &two, &three].into_iter().cycle().take(9) {
        node.publish(&key, "a.b", "{}");
    }
    for node in [&one, &two, &three] {
        until("every node shows it", || node.is_firing("dead_letters_high"));
    }
    let count = |wanted: &str| {
        let alerts = hook.alerts();
        let of_rule = alerts.iter().filter(|(rule, ..)| rule == "dead_letters_high");
        of_rule.filter(|(.., change)| change == wanted).count()
    };
    until("it is sent", || count("fired") > 0);

    // Two of three are killed, perhaps with the one that had sent it.
    one.signal("KILL");
    two.signal("KILL");
    target.answer(200);
    let purged = three.operator("DELETE", "/v1/dlq?all=true", "");
    assert!(purged.status < 300, "{}", purged.body);
    until("it is resolved", || count("resolved") == 1);
    assert_eq!(count("fired"), 1, "no other node sent it in all that time");
    three.stop();
}

#[test]
fn an_e_mail_is_sent_once_whichever_node_takes_it_and_a_suppression_counts_at_all() {
    let fleet = Fleet::new();
    let mail = MailServer::start();
    let url = mail.url("");
    let variables = [("GANCHO_SMTP_URL", url.as_str()), ("GANCHO_EMAIL_RATE", "none")];
    let (one, other) = (fleet.node(&variables), fleet.node(&variables));
    let key = one.tenant("shop");
    let send = |node: &Gateway, to: &str, once: &str| {
        let email = json!({
            "from": "shop@example.com", "to": to, "subject": once, "text": "Hello", "idempotencyKey": once,
        });
        let answer = call(node, &key, "POST", "/v1/email/send", &email);
        assert!([200, 201].contains(&answer.status), "{}", answer.body);
        answer.json()["outboxId"].as_str().unwrap().to_owned()
    };
    let status = |node: &Gateway, id: &str| {
        let shown = call(node, &key, "GET", &format!("/v1/emails/{id}"), &json!({})).json();
        shown["status"].as_str().unwrap_or_default().to_owned()
    };
    let ids: Vec<String> = (0..40)
        .map(|number| {
            let once = format!("e{number}");
            let nodes = if number % 2 == 0 { [&one, &other] } else { [&other, &one] };
            let [first, second] = nodes.map(|node| send(node, "ana@example.com", &once));
            assert_eq!(first, second, "one e-mail for one key, at whichever node");
            first
        })
        .collect();
    for id in &ids {
        for node in [&one, &other] {
            until("it is sent", || status(node, id) == "SENT");
        }
    }
    let letters = mail.letters();
    assert_eq!(letters.len(), ids.len());
    assert!(letters.values().all(|count| *count == 1), "{letters:?}");

    let suppressed = json!({"address": "bo@example.com", "reason": "complaint"});
    assert_eq!(call(&one, &key, "POST", "/v1/suppressions", &suppressed).status, 201);
    let mut number = 0;
    until("the other does not send there", || {
        number += 1;
        let id = send(&other, "bo@example.com", &format!("s{number}"));
        until("it has ended", || ["SENT", "FAILED"].contains(&status(&one, &id).as_str()));
        status(&other, &id) == "FAILED"
    });
    one.stop();
    other.stop();
}
