//! An endpoint that never works is reported, whatever the endpoints of others do.

use gancho_testkit::until;
use serde_json::json;

use super::recorder::Recorder;
use crate::{gateway::Gateway, http, partner, scripted_receiver::Receiver};

const QUICK: [(&str, &str); 2] = [("GANCHO_ALERT_INTERVAL", "200ms"), ("GANCHO_ALERT_AFTER", "0s")];

fn endpoint(served: &Gateway, key: &str, url: &str) -> String {
    let body = json!({"url": url, "events": ["*"], "retry": {"schedule": []}}).to_string();
    let made = http::call(served.address, "POST", "/v1/webhooks", &[("x-api-key", key)], &body);
    assert_eq!(made.status, 201, "{}", made.body);
    made.json()["id"].as_str().unwrap().to_owned()
}

fn is_failing(served: &Gateway, subject: &str) -> bool {
    let alerts = served.alerts();
    alerts.iter().any(|one| one["rule"] == "endpoint_failing" && one["subject"] == subject)
}

#[test]
fn a_dead_endpoint_is_reported_although_others_fail_more_often() {
    let folder = tempfile::tempdir().unwrap();
    let (slack, dead, busy) = (Recorder::start(), Receiver::start(), Receiver::start());
    let slack_url = slack.url();
    let more = [("GANCHO_NOTIFY_SLACK_URL", slack_url.as_str())];
    let served = Gateway::start(folder.path(), &[&QUICK[..], &more].concat());
    dead.answer(500);
    let victim = served.tenant("victim");
    let first = endpoint(&served, &victim, &dead.url());
    for _ in 0..6 {
        served.publish(&victim, "a.b", "{}");
    }
    until("it fires", || is_failing(&served, &first));
    let line = format!("attempts to {first} (127.0.0.1) of victim failed");
    until("the line names it", || slack.texts().contains(&line));

    // Endpoints that fail more often, but also work.
    let key = served.tenant("busy");
    for number in 0..22 {
        endpoint(&served, &key, &format!("{}/{number}", busy.url()));
    }
    let headers = [("x-api-key", key.as_str())];
    for round in 0..16 {
        busy.answer(if round % 2 == 0 { 200 } else { 500 });
        let path = format!("/v1/deliveries?event_id={}", served.publish(&key, "a.b", "{}"));
        until("all have ended", || {
            let listed = http::call(served.address, "GET", &path, &headers, "").json();
            let listed = listed["data"].as_array().unwrap().clone();
            listed.len() == 22 && listed.iter().all(|one| one["status"] != "pending")
        });
    }
    let second = endpoint(&served, &victim, &format!("{}/second", dead.url()));
    for _ in 0..6 {
        served.publish(&victim, "a.b", "{}");
    }
    until("a new one fires as well", || is_failing(&served, &second));
    assert!(is_failing(&served, &first), "it still fails");
    assert!(!slack.texts().contains("[resolved] An endpoint fails every attempt"));
    served.stop();
}

/// A target of a partner's source is an endpoint as well.
#[test]
fn a_dead_target_of_a_partner_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let core = Receiver::start();
    core.answer(500);
    let served = Gateway::start(folder.path(), &QUICK);
    served.source("acme", partner::SECRET, &core.url());
    for _ in 0..6 {
        served.simulate("acme");
    }
    until("it fires", || {
        let alerts = served.alerts();
        let is_it = |one: &serde_json::Value| {
            one["rule"] == "endpoint_failing"
                && one["subject"].as_str().is_some_and(|subject| subject.starts_with("acme/"))
        };
        alerts.iter().any(is_it)
    });
    served.stop();
}

#[test]
fn deleting_a_tenant_makes_no_dead_letters() {
    let folder = tempfile::tempdir().unwrap();
    let target = Receiver::start();
    let served = Gateway::start(folder.path(), &QUICK);
    let [gone, stays] = [served.tenant("gone"), served.tenant("stays")];
    for key in [&gone, &stays] {
        served.endpoint(key, &target.url());
    }
    assert_eq!(served.operator("POST", "/v1/queues/webhook/pause", "").status, 204);
    for _ in 0..60 {
        served.publish(&gone, "a.b", "{}");
    }
    let deleted = served.operator("DELETE", "/v1/tenants/gone", "");
    assert_eq!(deleted.status, 202, "{}", deleted.body);
    assert_eq!(served.operator("POST", "/v1/queues/webhook/resume", "").status, 204);
    until("nothing waits", || {
        let queues = served.operator("GET", "/v1/queues", "").json();
        let all = queues["data"].as_array().unwrap().clone();
        all.iter().all(|queue| queue["depth"] == 0)
    });
    // Counts within a moment are written together.
    served.publish(&stays, "a.b", "{}");
    let totals = || served.operator("GET", "/v1/stats", "").json()["totals"].clone();
    until("the next is counted", || totals()["delivered"] == 1);
    assert_eq!(totals()["dead_letters"], 0, "{}", totals());
    served.stop();
}
