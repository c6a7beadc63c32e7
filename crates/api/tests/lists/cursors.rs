//! A cursor is valid only for its list, and unchanged.

use data_encoding::BASE64URL_NOPAD;
use serde_json::json;

use crate::stage::{Stage, dead_letter, ids, receiver};

async fn sealed(stage: &Stage) {
    let [own, other] = [stage.tenant("own").await, stage.tenant("other").await];
    for hands in [&own, &other] {
        for n in 0..3 {
            hands.publish("a.b", json!(n)).await;
        }
    }
    let list = "/v1/events?limit=1&event_type=a.b";
    let first = own.client.get(list).await.is(200);
    let cursor = first.json()["next_cursor"].as_str().unwrap().to_owned();
    let at = |path: &str, cursor: &str| format!("{path}&cursor={cursor}");
    let second = own.client.get(&at(list, &cursor)).await.is(200);
    assert_ne!(ids(&first), ids(&second));
    // The page may have another length, and the path the other form.
    own.client.get(&at("/events?limit=2&event_type=a.b", &cursor)).await.is(200);

    let bytes = BASE64URL_NOPAD.decode(cursor.as_bytes()).unwrap();
    for bit in 0..bytes.len() * 8 {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let changed = BASE64URL_NOPAD.encode(&changed);
        own.client.get(&at(list, &changed)).await.refused(400, "bad_cursor");
    }
    for (client, path) in [
        (&other.client, list),
        (&own.client, "/v1/events?limit=1"),
        (&own.client, "/v1/events?limit=1&event_type=c.d"),
        (&own.client, "/v1/deliveries?limit=1&event_type=a.b"),
        (&own.client, "/v1/dlq?limit=1"),
        (&own.client, "/v1/webhooks?limit=1"),
        (&own.client, "/v1/replays?limit=1"),
    ] {
        client.get(&at(path, &cursor)).await.refused(400, "bad_cursor");
    }
    for odd in ["%7B%22id%22:1%7D", "AAAA", "!!!!", &cursor[1..], &format!("{cursor}AAAA")] {
        own.client.get(&at(list, odd)).await.refused(400, "bad_cursor");
    }
    own.client.get(&at(list, &"A".repeat(2_000))).await.refused(422, "invalid_field");
}

#[tokio::test(flavor = "multi_thread")]
async fn good_where_it_was_given() {
    sealed(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_too() {
    sealed(&Stage::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operators_is_not_a_tenants() {
    let stage = Stage::new().await;
    let own = stage.tenant("own").await;
    let (_bad, url) = receiver(500).await;
    dead_letter(&own, &url).await;
    let event = own.publish("dead.letter", json!(2)).await;
    own.delivery(&event, "failed").await;
    let everyones = stage.operator().get("/v1/dlq?limit=1").await.is(200).json();
    let cursor = everyones["next_cursor"].as_str().unwrap();
    let path = format!("/v1/dlq?limit=1&cursor={cursor}");
    stage.operator().get(&path).await.is(200);
    own.client.get(&path).await.refused(400, "bad_cursor");
    stage.operator().with("x-tenant", "own").get(&path).await.refused(400, "bad_cursor");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_hold_everything_once() {
    let stage = Stage::new().await;
    let own = stage.tenant("own").await;
    let (_receiver, url) = receiver(200).await;
    own.webhook(&url).await;
    let mut made = Vec::new();
    for n in 0..23 {
        made.push(own.publish("a.b", json!(n)).await["id"].as_str().unwrap().to_owned());
    }
    made.reverse();
    let mut seen = Vec::new();
    let mut path = "/v1/deliveries?limit=5".to_owned();
    loop {
        let page = own.client.get(&path).await.is(200).json();
        let rows = page["data"].as_array().unwrap();
        seen.extend(rows.iter().map(|row| row["event_id"].as_str().unwrap().to_owned()));
        let Some(next) = page["next_cursor"].as_str() else { break };
        path = format!("/v1/deliveries?limit=5&cursor={next}");
    }
    assert_eq!(seen, made);
}
