//! Any node shows the circuit breakers that another has opened.

use gancho_testkit::{postgres::fresh_database, until};

use crate::{gateway::Gateway, http, scripted_receiver::Receiver};

#[test]
fn a_node_that_delivers_nothing_shows_why_deliveries_wait() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(fresh_database()).unwrap();
    let (folder, receiver) = (tempfile::tempdir().unwrap(), Receiver::start());
    let url = database.url();
    let node = |roles| {
        let variables = [("GANCHO_DATABASE_URL", url.as_str()), ("GANCHO_ROLES", roles)];
        Gateway::start(folder.path(), &variables)
    };
    let [front, back] = [node("api"), node("worker")];
    let key = front.tenant("acme");
    let endpoint = front.endpoint(&key, &receiver.url())["id"].as_str().unwrap().to_owned();
    receiver.answer(503);
    let get = |path: &str| {
        let headers = [("x-api-key", key.as_str())];
        http::call(front.address, "GET", path, &headers, "").json()
    };
    let path = format!("/v1/webhooks/{endpoint}");
    until("the breaker is shown as open", || {
        front.publish(&key, "a.b", "{}");
        get(&path)["health"]["circuit_breaker"] == "open"
    });
    let health = get(&path)["health"].clone();
    assert_eq!(health["state"], "failing", "{health}");
    assert!(health["circuit_open_until"].is_string(), "{health}");
    until("a delivery says that it waits for it", || {
        let waiting = get("/v1/deliveries?status=pending")["data"].clone();
        let waiting = waiting.as_array().unwrap().iter();
        waiting
            .map(|one| &one["waiting_for"])
            .any(|why| why["reason"] == "circuit_breaker" && why["until"].is_string())
    });
    // A node that stops takes its breakers with it.
    back.stop();
    until("nobody holds it back any more", || get(&path)["health"]["circuit_breaker"] == "closed");
    front.stop();
}
