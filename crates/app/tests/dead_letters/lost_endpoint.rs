//! Dead letters whose endpoint is deleted or disabled are not reported as sent.

use gancho_testkit::until;
use serde_json::{Value, json};

use crate::{gateway::Gateway, http, receiver, scripted_receiver};

fn tenant(served: &Gateway, key: &str, method: &str, path: &str, body: &Value) -> http::Answer {
    http::call(served.address, method, path, &[("x-api-key", key)], &body.to_string())
}

fn endpoint(served: &Gateway, key: &str, url: &str) -> String {
    let body = json!({"url": url, "events": ["*"], "retry": {"schedule": []}});
    let made = tenant(served, key, "POST", "/v1/webhooks", &body);
    assert_eq!(made.status, 201, "{}", made.body);
    made.json()["id"].as_str().unwrap().to_owned()
}

#[test]
fn they_go_to_another_endpoint_only() {
    let folder = tempfile::tempdir().unwrap();
    let served = Gateway::start(folder.path(), &[]);
    let key = served.tenant("acme");
    let failing = scripted_receiver::Receiver::start();
    failing.answer(500);
    let [deleted, kept] = [0; 2].map(|_| endpoint(&served, &key, &failing.url()));
    served.publish(&key, "a.b", "{}");
    let letters = || served.operator("GET", "/v1/dlq", "").json()["data"].clone();
    until("both are given up", || letters().as_array().is_some_and(|rows| rows.len() == 2));
    let of = |webhook: &str| {
        let rows = letters();
        let row = rows.as_array().unwrap().iter().find(|row| row["target_id"] == webhook);
        row.unwrap()["id"].as_str().unwrap().to_owned()
    };
    let (lost, found) = (of(&deleted), of(&kept));
    let path = format!("/v1/webhooks/{deleted}");
    assert_eq!(tenant(&served, &key, "DELETE", &path, &json!({})).status, 204);

    // A dry run distinguishes them.
    let dry = json!({"dry_run": true});
    let counted = tenant(&served, &key, "POST", "/v1/dlq/replay", &dry).json();
    assert_eq!((&counted["total"], &counted["skipped"]), (&json!(1), &json!(1)), "{counted}");
    let refused = tenant(&served, &key, "POST", &format!("/v1/dlq/{lost}/replay"), &json!({}));
    assert_eq!(refused.status, 409, "{}", refused.body);
    assert!(refused.body.contains("was deleted or is disabled"), "{}", refused.body);
    let sent = tenant(&served, &key, "POST", &format!("/v1/dlq/{found}/replay"), &json!({}));
    assert_eq!(sent.status, 202, "{}", sent.body);

    failing.answer(200);
    let job = tenant(&served, &key, "POST", "/v1/dlq/replay", &json!({})).json();
    let path = format!("/v1/replays/{}", job["id"].as_str().unwrap());
    let read = || tenant(&served, &key, "GET", &path, &json!({})).json();
    until("it has ended", || read()["state"] == "done");
    // The other one may still be in flight.
    assert!(read()["skipped"].as_u64().unwrap() >= 1, "{}", read());
    let dry = r#"{"dry_run":true}"#;
    let of_all = served.operator("POST", "/v1/dlq/replay", dry).json();
    assert!(of_all["skipped"].as_u64().unwrap() >= 1, "{of_all}");
    until("the other one is delivered", || letters().as_array().unwrap().len() == 1);
    assert_eq!(letters()[0]["id"], lost, "it is still there");

    let (target, seen) = receiver::start();
    let other = endpoint(&served, &key, &format!("http://{target}/hook"));
    let to = json!({"to": other});
    let redirected = tenant(&served, &key, "POST", &format!("/v1/dlq/{lost}/replay"), &to);
    assert_eq!(redirected.status, 202, "{}", redirected.body);
    until("it arrives", || seen.counts().len() == 1);
    until("no dead letter is left", || letters() == json!([]));
    served.stop();
}
