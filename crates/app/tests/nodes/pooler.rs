//! Nodes behind pgbouncer in transaction mode, which is killed under load and restarted.

use std::time::{Duration, Instant};

use gancho_testkit::{pgbouncer::PgBouncer, postgres::fresh_database, until};
use tokio::runtime::Runtime;

use super::load::Load;
use crate::{gateway::Gateway, receiver, scripted_receiver::Receiver};

#[test]
fn nodes_behind_a_pooler_deliver_wake_each_other_and_outlive_it() {
    let runtime = Runtime::new().unwrap();
    let database = runtime.block_on(fresh_database()).unwrap();
    let mut pgbouncer = PgBouncer::start(database.server()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (url, direct) = (pgbouncer.url(database.name()), database.url());
    let node = |roles| {
        let variables = [
            ("GANCHO_DATABASE_URL", url.as_str()),
            ("GANCHO_DATABASE_DIRECT_URL", direct.as_str()),
            ("GANCHO_ROLES", roles),
        ];
        Gateway::start(folder.path(), &variables)
    };
    let (api, worker) = (node("api"), node("worker"));
    let (address, seen) = receiver::start();
    let key = api.tenant("acme");
    api.endpoint(&key, &format!("http://{address}/hook"));

    // The other node wakes the worker: a poll would take a second.
    let waits = (0..10).map(|n| {
        let started = Instant::now();
        let id = api.publish(&key, "a.b", &format!(r#"{{"n":{n}}}"#));
        until("it is delivered", || seen.body(&id).is_some());
        started.elapsed()
    });
    let mut waits: Vec<Duration> = waits.collect();
    waits.sort();
    println!("delivered by the other node after {:?}", waits[5]);
    assert!(waits[5] < Duration::from_millis(500), "{waits:?}");

    // A failed delivery is retried.
    let flaky = Receiver::start();
    flaky.answer(500);
    let body =
        format!(r#"{{"url":"{}","events":["c.d"],"retry":{{"schedule":["1s"]}}}}"#, flaky.url());
    let made = api.acting("acme", "POST", "/v1/webhooks", &body);
    assert_eq!(made.status, 201, "{}", made.body);
    let webhook = made.json()["id"].as_str().unwrap().to_owned();
    api.publish(&key, "c.d", "{}");
    let tries = || {
        let list = api.acting("acme", "GET", &format!("/v1/deliveries?webhook_id={webhook}"), "");
        let row = &list.json()["data"][0];
        (row["attempts"].as_u64(), row["status"].as_str().map(str::to_owned))
    };
    until("it fails once", || tries().0 == Some(1));
    flaky.answer(200);
    until("it is tried again", || tries() == (Some(2), Some("delivered".to_owned())));

    let load = Load::start(&key, vec![api.address]);
    for _ in 0..2 {
        load.goes_on();
        pgbouncer.stop_at_once();
        until("events are refused", || load.refusals().contains_key(&503));
        pgbouncer.start_again().unwrap();
    }
    load.goes_on();
    let refused = load.refusals();
    let acked = load.stop();
    until("all were delivered", || acked.iter().all(|id| seen.body(id).is_some()));
    println!("{} acknowledged, all delivered; refused: {refused:?}", acked.len());
    assert_eq!(refused.keys().copied().collect::<Vec<_>>(), [503]);
    drop((api, worker));
}
