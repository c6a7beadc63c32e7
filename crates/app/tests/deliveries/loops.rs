//! The gateway as its own target: a loop ends at its first turn. (faults.md 31)

use gancho_testkit::until;
use serde_json::Value;

use crate::{gateway::Gateway, http, receiver};

fn deliveries(served: &Gateway, key: &str) -> Vec<Value> {
    let rows = http::call(served.address, "GET", "/v1/deliveries", &[("x-api-key", key)], "");
    rows.json()["data"].as_array().unwrap().clone()
}

#[test]
fn an_endpoint_at_the_gateways_own_api_makes_no_new_events() {
    let folder = tempfile::tempdir().unwrap();
    let served = Gateway::start(folder.path(), &[]);
    let key = served.tenant("acme");
    let (api, secret) = (served.address, format!(r#"{{"X-API-Key":"{key}"}}"#));
    let body = format!(
        r#"{{"url":"http://{api}/v1/events","events":["*"],"headers":{secret},"retry":{{"schedule":[]}}}}"#
    );
    let made = http::call(api, "POST", "/v1/webhooks", &[("x-api-key", &key)], &body);
    assert_eq!(made.status, 201, "{}", made.body);
    served.publish(&key, "a.b", "{}");
    until("it has ended", || deliveries(&served, &key)[0]["status"] == "failed");
    let rows = deliveries(&served, &key);
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(rows[0]["last_error_code"], "HTTP_508", "{rows:?}");
    let path = format!("/v1/deliveries/{}", rows[0]["id"].as_str().unwrap());
    let shown = http::call(api, "GET", &path, &[("x-api-key", &key)], "");
    assert!(shown.body.contains("loop_detected"), "{}", shown.body);
    served.stop();
}

#[test]
fn a_core_at_the_gateways_own_ingest_makes_no_new_receipts() {
    let folder = tempfile::tempdir().unwrap();
    let served = Gateway::start(folder.path(), &[]);
    // Dispatched receipts have Standard Webhooks signatures, with a secret that the source may have too.
    let secret = "whsec_naF9CTVc42DAugdYTAuWuNRDDEwowAdJ";
    let body = format!(
        r#"{{"partner":"acme","preset":"standard","dispatch_secret":"{secret}","retry":{{"schedule":[]}},
            "target_url":"http://{}/webhooks/acme"}}"#,
        served.ingest()
    );
    let made = served.operator("POST", "/v1/sources", &body);
    assert_eq!(made.status, 201, "{}", made.body);
    let key = format!(r#"{{"scheme":"hmac","secret":"{secret}"}}"#);
    let put = served.operator("PUT", "/v1/sources/acme/keys/k1", &key);
    assert!(put.status < 300, "{}", put.body);
    served.simulate("acme");
    let receipts = || {
        let page = served.operator("GET", "/v1/sources/acme/receipts", "").json();
        page["data"].as_array().unwrap().clone()
    };
    until("it is given up", || receipts()[0]["status"] == "dlq");
    let rows = receipts();
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert!(rows[0].to_string().contains("508"), "{rows:?}");
    served.stop();
}

/// Two gateways that publish to each other would multiply an event without end.
#[test]
fn an_endpoint_at_another_gateways_api_makes_no_new_events() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let (sender, other) =
        (Gateway::start(folders[0].path(), &[]), Gateway::start(folders[1].path(), &[]));
    let (key, others) = (sender.tenant("acme"), other.tenant("acme"));
    let body = format!(
        r#"{{"url":"http://{}/v1/events","events":["*"],"profile":"saas","headers":{{"X-API-Key":"{others}"}},"retry":{{"schedule":[]}}}}"#,
        other.address
    );
    let made = http::call(sender.address, "POST", "/v1/webhooks", &[("x-api-key", &key)], &body);
    assert_eq!(made.status, 201, "{}", made.body);
    sender.publish(&key, "a.b", r#"{"type":"a.b","data":{}}"#);
    until("it has ended", || deliveries(&sender, &key)[0]["status"] == "failed");
    assert_eq!(deliveries(&sender, &key)[0]["last_error_code"], "HTTP_508");
    let events = http::call(other.address, "GET", "/v1/events", &[("x-api-key", &others)], "");
    assert_eq!(events.json()["data"].as_array().map(Vec::len), Some(0), "{}", events.body);
    sender.stop();
    other.stop();
}

/// Requests of another gateway are received, and so are requests to endpoints, once.
#[test]
fn other_gateways_and_the_first_turn_are_welcome() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let (sender, taker) =
        (Gateway::start(folders[0].path(), &[]), Gateway::start(folders[1].path(), &[]));
    let (core, seen) = receiver::start();
    let secret = "whsec_naF9CTVc42DAugdYTAuWuNRDDEwowAdJ";
    let key = sender.tenant("acme");
    for served in [&sender, &taker] {
        let body = format!(
            r#"{{"partner":"acme","preset":"standard","target_url":"http://{core}/core"}}"#
        );
        let made = served.operator("POST", "/v1/sources", &body);
        assert_eq!(made.status, 201, "{}", made.body);
        let put = served.operator(
            "PUT",
            "/v1/sources/acme/keys/k1",
            &format!(r#"{{"scheme":"hmac","secret":"{secret}"}}"#),
        );
        assert!(put.status < 300, "{}", put.body);
        let url = format!("http://{}/webhooks/acme", served.ingest());
        let body = format!(r#"{{"url":"{url}","events":["*"],"secret":"{secret}"}}"#);
        let made =
            http::call(sender.address, "POST", "/v1/webhooks", &[("x-api-key", &key)], &body);
        assert_eq!(made.status, 201, "{}", made.body);
    }
    sender.publish(&key, "a.b", "{}");
    until("both are handed on", || seen.counts().len() == 2);
    until("both are delivered", || {
        deliveries(&sender, &key).iter().all(|row| row["status"] == "delivered")
    });
    sender.stop();
    taker.stop();
}
