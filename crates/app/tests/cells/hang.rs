//! A gateway one of whose databases hangs: it accepts connections and never answers.

use std::{
    thread,
    time::{Duration, Instant},
};

use gancho_testkit::{
    postgres::{Postgres, fresh_database, fresh_database_on},
    until,
};
use tokio::runtime::Runtime;

use super::serve::{accepted, first_tenant, publish};
use crate::{
    gateway::Gateway,
    http::{self, Answer},
    operator::Operator,
    receiver,
};

/// What others notice of it.
const PROMPT: Duration = Duration::from_secs(2);

fn prompt<T>(what: &str, call: impl FnOnce() -> T) -> T {
    let begin = Instant::now();
    let answer = call();
    assert!(begin.elapsed() < PROMPT, "{what}: {:?}", begin.elapsed());
    answer
}

/// Publishes a hundred events.
fn batch(gateway: &Gateway, key: &str) -> Answer {
    let events = vec![r#"{"type":"a.b","data":{}}"#; 100].join(",");
    let body = format!(r#"{{"events":[{events}]}}"#);
    http::call(gateway.address, "POST", "/v1/events/batch", &[("x-api-key", key)], &body)
}

fn ids(answer: &Answer) -> Vec<String> {
    assert!((200..300).contains(&answer.status), "{}", answer.body);
    let answer = answer.json();
    let results = answer["results"].as_array().unwrap();
    results.iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_cell_that_hangs_delays_nobody_in_the_others() {
    let runtime = Runtime::new().unwrap();
    let home = runtime.block_on(fresh_database()).unwrap();
    let server = Postgres::start(&[]).unwrap();
    let away = runtime.block_on(fresh_database_on(&server.url("postgres"))).unwrap();
    let url = home.url();
    let operator = Operator::with(&[("GANCHO_DATABASE_URL", url.as_str())]);
    let gateway = &operator.served;
    let near = gateway.tenant("early");
    let added = operator.run_with(&["cells", "add", "b", "--url-file", "-"], &[], &away.url());
    added.ok();
    let later: Vec<String> =
        (0..3).map(|number| gateway.tenant(&format!("later-{number}"))).collect();
    let far = &later[runtime.block_on(first_tenant(&away))];
    let (address, seen) = receiver::start();
    for key in [&near, far] {
        gateway.endpoint(key, &format!("http://{address}/hook"));
    }
    let mut acked = ids(&batch(gateway, &near));
    acked.extend(ids(&batch(gateway, far)));
    until("all of them arrive", || acked.iter().all(|id| seen.counts().contains_key(id)));

    server.freeze().unwrap();
    let frozen_at = Instant::now();
    let address = gateway.address;
    let replay = r#"{"all":true,"rate":50}"#;
    let replayed = http::call(address, "POST", "/v1/replays", &[("x-api-key", &near)], replay);
    assert!((200..300).contains(&replayed.status), "{}", replayed.body);
    let replay = format!("/v1/replays/{}", replayed.json()["id"].as_str().unwrap());
    thread::scope(|scope| {
        let hung = scope.spawn(|| {
            let begin = Instant::now();
            let answer = batch(gateway, far);
            assert_eq!(answer.status, 503, "{}", answer.body);
            begin.elapsed()
        });
        while frozen_at.elapsed() < Duration::from_secs(8) {
            let ready = prompt("readiness", || http::call(address, "GET", "/readyz", &[], ""));
            assert_eq!(ready.status, 200, "{}", ready.body);
            acked.extend(ids(&prompt("a batch", || batch(gateway, &near))));
            let one = prompt("publishing", || publish(gateway, &near));
            let id = accepted(&one).unwrap_or_else(|| panic!("{}", one.body));
            let begin = Instant::now();
            until("it arrives", || seen.counts().contains_key(&id));
            assert!(begin.elapsed() < PROMPT, "a delivery: {:?}", begin.elapsed());
            acked.push(id);
            // Sleeps so that the gateway is watched for a while, rather than loaded.
            thread::sleep(Duration::from_millis(200));
        }
        let waited = hung.join().unwrap();
        assert!(waited < Duration::from_secs(8), "{waited:?}");
    });
    let refused = prompt("its own", || publish(gateway, far));
    assert_eq!(refused.status, 503, "{}", refused.body);
    let stranger = prompt("an unknown key", || publish(gateway, "gk_of_nobody_in_particular"));
    assert!(stranger.status == 401 || stranger.status == 503, "{}", stranger.body);
    until("the replay ends", || {
        let found = http::call(address, "GET", &replay, &[("x-api-key", &near)], "");
        found.json()["state"] == "done"
    });
    until("all of them arrive", || acked.iter().all(|id| seen.counts().contains_key(id)));

    server.unfreeze().unwrap();
    until("the cell is back", || {
        let id = accepted(&publish(gateway, far));
        acked.extend(id.clone());
        id.is_some()
    });
    until("all of them arrive", || acked.iter().all(|id| seen.counts().contains_key(id)));
}
