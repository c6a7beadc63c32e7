//! Tenants by environment (`WEBHOOK_URL_<COMPANY>`) and the operator's own notices.

use std::path::Path;

use gancho_domain::{Clock, SystemClock};
use gancho_testkit::until;
use gancho_wire::{DEFAULT_TOLERANCE, Profile, Recipe, SigningKey};

use crate::{
    gateway::Gateway,
    receiver::{self, Got},
};

const FIRST: &str = "whsec_a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6";
const SECOND: &str = "whsec_q1w2e3r4t5y6u7i8o9p0a1s2d3f4g5h6";

fn is_signed_with(got: &Got, secret: &str) -> bool {
    let profile = Profile::email_gateway();
    let key = SigningKey::for_profile(&profile, secret).unwrap().verifying_key();
    let headers: Vec<(&str, &[u8])> =
        got.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    let recipe = Recipe::for_profile(&profile).unwrap();
    recipe.verify(&[key], &headers, &got.body, SystemClock.now(), DEFAULT_TOLERANCE).is_ok()
}

fn publish(served: &Gateway, tenant: &str) -> String {
    let body = r#"{"type":"email.sent","data":{"outboxId":"out_1"},"subject":"out_1"}"#;
    let made = served.acting(tenant, "POST", "/v1/events", body);
    assert_eq!(made.status, 202, "{}", made.body);
    made.json()["id"].as_str().unwrap().to_owned()
}

fn endpoints(served: &Gateway, tenant: &str) -> Vec<serde_json::Value> {
    let listed = served.acting(tenant, "GET", "/v1/webhooks", "").json();
    let mut webhooks = listed["data"].as_array().unwrap().clone();
    for webhook in &mut webhooks {
        // A node's observations are not a setting.
        webhook.as_object_mut().unwrap().remove("health");
    }
    webhooks
}

fn start(folder: &Path, url: Option<&str>, secret: Option<&str>) -> Gateway {
    let variables: Vec<(&str, &str)> = url
        .map(|url| ("WEBHOOK_URL_M2", url))
        .into_iter()
        .chain(secret.map(|secret| ("WEBHOOK_SECRET_M2", secret)))
        .collect();
    Gateway::start(folder, &variables)
}

#[test]
fn a_company_of_the_environment_is_kept_in_step() {
    let folder = tempfile::tempdir().unwrap();
    let (one, seen_by_one) = receiver::start();
    let (two, seen_by_two) = receiver::start();
    let (one, two) = (format!("http://{one}/hooks"), format!("http://{two}/hooks"));

    let served = start(folder.path(), Some(&one), Some(FIRST));
    let id = publish(&served, "m2");
    until("the first arrives", || seen_by_one.body(&id).is_some());
    let got = seen_by_one.last(&id).unwrap();
    assert!(is_signed_with(&got, FIRST));
    let body: serde_json::Value = serde_json::from_slice(&got.body).unwrap();
    assert_eq!((&body["eventType"], &body["sequenceNumber"]), (&"email.sent".into(), &1.into()));
    let first = endpoints(&served, "m2");
    assert_eq!((first.len(), &first[0]["profile"]), (1, &"email-gateway".into()));
    served.stop();

    // The same settings again change nothing.
    let served = start(folder.path(), Some(&one), Some(FIRST));
    assert_eq!(endpoints(&served, "m2"), first);
    // The tenant's own endpoints are left unchanged.
    let own = format!(r#"{{"url":"{one}","events":["other.*"]}}"#);
    assert_eq!(served.acting("m2", "POST", "/v1/webhooks", &own).status, 201);
    served.stop();

    // Another URL and another secret.
    let served = start(folder.path(), Some(&two), Some(SECOND));
    let id = publish(&served, "m2");
    until("it goes to the new URL", || seen_by_two.body(&id).is_some());
    let got = seen_by_two.last(&id).unwrap();
    assert!(is_signed_with(&got, SECOND) && !is_signed_with(&got, FIRST));
    assert!(seen_by_one.body(&id).is_none());
    let changed = endpoints(&served, "m2");
    let of_variable = |all: &[serde_json::Value]| {
        all.iter().find(|one| one["id"] == first[0]["id"]).cloned().unwrap()
    };
    assert_eq!((changed.len(), of_variable(&changed)["url"].as_str()), (2, Some(two.as_str())));
    served.stop();

    // Not declared any more: disabled. Declared again, without a secret: the previous one is kept.
    let served = start(folder.path(), None, None);
    let off = endpoints(&served, "m2");
    assert_eq!(of_variable(&off)["is_active"], false);
    assert_eq!(off.iter().filter(|one| one["is_active"] == true).count(), 1, "its own stays on");
    served.stop();
    let served = start(folder.path(), Some(&two), None);
    let id = publish(&served, "m2");
    until("it is switched on again", || seen_by_two.body(&id).is_some());
    assert!(is_signed_with(&seen_by_two.last(&id).unwrap(), SECOND));
    served.stop();
}

#[test]
fn a_company_without_a_secret_gets_one() {
    let folder = tempfile::tempdir().unwrap();
    let (target, seen) = receiver::start();
    let served = start(folder.path(), Some(&format!("http://{target}/hooks")), None);
    let id = publish(&served, "m2");
    until("it arrives", || seen.body(&id).is_some());
    let webhook = endpoints(&served, "m2")[0]["id"].as_str().unwrap().to_owned();
    let revealed = served.acting("m2", "GET", &format!("/v1/webhooks/{webhook}/secret"), "");
    assert_eq!(revealed.status, 200, "{}", revealed.body);
    let secret = revealed.json()["secret"].as_str().unwrap().to_owned();
    assert!(is_signed_with(&seen.last(&id).unwrap(), &secret));
    served.stop();
}

#[test]
fn the_operator_is_notified_of_what_was_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let (notices, told) = receiver::start();
    let variables = [("GANCHO_NOTIFY_URL", &*format!("http://{notices}/ops"))];
    let served = Gateway::start(folder.path(), &variables);
    let key = served.tenant("acme");
    // Nothing listens there: it was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let body = format!(r#"{{"url":"http://{free}/x","events":["*"],"retry":{{"schedule":[]}}}}"#);
    let headers = [("x-api-key", key.as_str())];
    let made = crate::http::call(served.address, "POST", "/v1/webhooks", &headers, &body);
    assert_eq!(made.status, 201, "{}", made.body);
    served.publish(&key, "a.b", "{}");
    let exhausted = || {
        told.counts().keys().any(|id| {
            told.body(id).is_some_and(|body| {
                String::from_utf8_lossy(&body).contains("webhook.delivery.exhausted")
            })
        })
    };
    until("the operator is notified", exhausted);
    served.stop();
}
