//! `gancho serve` with variables alone: a tenant, a key, an endpoint, an event, its delivery.

use std::os::unix::fs::PermissionsExt;

use gancho_domain::{Clock, SystemClock};
use gancho_testkit::until;

use crate::{
    gateway::{Gateway, TOKEN, command},
    http,
    receiver::{self, Got},
};

fn verified(got: &Got, secret: &str) {
    let profile = gancho_wire::Profile::standard();
    let key = gancho_wire::SigningKey::for_profile(&profile, secret).unwrap().verifying_key();
    let headers: Vec<(&str, &[u8])> =
        got.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    let now = SystemClock.now();
    let tolerance = gancho_wire::DEFAULT_TOLERANCE;
    let recipe = gancho_wire::Recipe::for_profile(&profile).unwrap();
    recipe.verify(&[key], &headers, &got.body, now, tolerance).unwrap();
}

fn serves(variables: &[(&str, &str)]) {
    let folder = tempfile::tempdir().unwrap();
    let (target, seen) = receiver::start();
    let served = Gateway::start(folder.path(), variables);
    let key = served.tenant("acme");
    let endpoint = served.endpoint(&key, &format!("http://{target}/hook"));
    let secret = endpoint["secret"].as_str().unwrap().to_owned();
    let id = served.publish(&key, "invoice.paid", r#"{"n": 1.50}"#);
    until("the delivery arrives", || seen.body(&id).is_some());
    let got = seen.last(&id).unwrap();
    assert!(String::from_utf8_lossy(&got.body).contains(r#""data":{"n": 1.50}"#));
    verified(&got, &secret);

    let path = format!("/v1/deliveries?event_id={id}");
    let delivered = || {
        let rows = http::call(served.address, "GET", &path, &[("x-api-key", &key)], "").json();
        rows["data"][0]["status"] == "delivered"
    };
    until("the delivery is on record", delivered);

    // Its data exists after a restart, with the same secrets.
    let log = served.stop();
    assert!(log.contains("stopped; all in-flight deliveries finished"), "{log}");
    let served = Gateway::start(folder.path(), variables);
    let id = served.publish(&key, "invoice.paid", "{}");
    until("the next one arrives", || seen.body(&id).is_some());
    verified(&seen.last(&id).unwrap(), &secret);
    let log = served.stop();
    for hidden in [secret.as_str(), key.as_str(), TOKEN] {
        assert!(!log.contains(hidden), "a secret is in the log: {log}");
    }
}

#[test]
fn it_serves_on_sqlite() {
    serves(&[("GANCHO_LOG_LEVEL", "debug")]);
}

#[test]
fn it_serves_on_postgres() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(gancho_testkit::postgres::fresh_database()).unwrap();
    serves(&[("GANCHO_DATABASE_URL", &database.url())]);
}

#[test]
fn without_an_admin_token_one_is_made_and_kept_private() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = command(&["serve"], folder.path());
    first.env_remove("GANCHO_ADMIN_TOKEN");
    let served = Gateway::of(first);
    let path = folder.path().join("data/admin.token");
    for file in [&path, &folder.path().join("data/master.key")] {
        let mode = std::fs::metadata(file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", file.display());
    }
    let token = std::fs::read_to_string(&path).unwrap();
    let bearer = format!("Bearer {}", token.trim());
    let call = |bearer: &str| {
        let headers = [("authorization", bearer)];
        http::call(served.address, "GET", "/v1/tenants", &headers, "").status
    };
    assert_eq!((call(&bearer), call("Bearer something-else-entirely")), (200, 401));
    let log = served.log.lock().unwrap().clone();
    assert!(log.contains("admin.token") && !log.contains(token.trim()), "{log}");
    served.stop();

    // The same one the next time.
    let mut again = command(&["serve"], folder.path());
    again.env_remove("GANCHO_ADMIN_TOKEN");
    let served = Gateway::of(again);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), token);
    served.stop();
}

#[test]
fn roles_run_apart_on_one_postgres() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(gancho_testkit::postgres::fresh_database()).unwrap();
    let url = database.url();
    let folder = tempfile::tempdir().unwrap();
    let role = |role: &str| {
        let mut one = command(&["serve", "--role", role], folder.path());
        one.env("GANCHO_DATABASE_URL", &url);
        one
    };
    let api = Gateway::of(role("api"));
    let (target, seen) = receiver::start();
    let key = api.tenant("acme");
    api.endpoint(&key, &format!("http://{target}/hook"));
    let id = api.publish(&key, "a.b", "{}");
    let metrics = http::call(api.address, "GET", "/metrics", &[], "").body;
    assert!(!metrics.contains("gancho_attempts_total"), "it only takes events: {metrics}");
    assert!(seen.body(&id).is_none());
    let worker = Gateway::of(role("worker"));
    until("the worker delivers it", || seen.body(&id).is_some());
    assert_eq!(http::call(worker.address, "GET", "/readyz", &[], "").status, 200);
    let body = r#"{"type":"a.b","data":{}}"#;
    let refused = http::call(worker.address, "POST", "/v1/events", &[("x-api-key", &key)], body);
    assert_eq!(refused.status, 404, "a worker takes no events: {}", refused.body);
    worker.stop();
    api.stop();

    let ingest = Gateway::of(role("ingest"));
    let at = ingest.ingest();
    assert_eq!(http::call(at, "GET", "/webhooks/_health", &[], "").status, 200);
    assert_eq!(http::call(at, "POST", "/webhooks/nobody", &[], "{}").status, 403);
    assert_eq!(http::call(ingest.address, "GET", "/readyz", &[], "").status, 200);
    let refused = http::call(ingest.address, "POST", "/v1/events", &[("x-api-key", &key)], body);
    assert_eq!(refused.status, 404, "it takes webhooks of partners alone: {}", refused.body);
    ingest.stop();
}
