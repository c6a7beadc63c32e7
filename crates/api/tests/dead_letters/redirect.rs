//! Dead letters that are sent to another webhook of their tenant, and purges that are counted first.

use gancho_testkit::receiver::Request;
use serde_json::{Value, json};

use crate::stage::{Hands, Stage, dead_letter, eventually, receiver};

async fn total(hands: &Hands) -> Value {
    hands.client.get("/v1/dlq/stats").await.is(200).json()["total"].clone()
}

async fn redirected(stage: &Stage) {
    let [hands, other] = [stage.tenant("m2").await, stage.tenant("other").await];
    let (_bad, bad) = receiver(500).await;
    let (good, url) = receiver(200).await;
    let (_, first) = dead_letter(&hands, &bad).await;
    // The next event goes to two webhooks that fail.
    let draft = json!({"url": bad, "events": ["dead.letter"], "retry": {"schedule": []}});
    hands.webhook_with(draft).await;
    let second = hands.publish("dead.letter", json!({"n": 2})).await;
    eventually(|| async { (total(&hands).await == json!(3)).then_some(()) }).await;
    let elsewhere = hands.webhook_with(json!({"url": url, "events": ["x.y"]})).await;
    let foreign = other.webhook_with(json!({"url": url, "events": ["x.y"]})).await;
    let letters = 3;

    let one = format!("/v1/dlq/{}/replay", first["id"].as_str().unwrap());
    hands.client.post(&one, &json!({"to": foreign["id"]})).await.refused(404, "not_found");
    hands.client.post(&one, &json!({"to": elsewhere["id"]})).await.is(202);
    eventually(|| async { (good.requests().len() == 1).then_some(()) }).await;
    assert_eq!(total(&hands).await, json!(letters - 1), "it is where it was sent");
    let kept = format!("/v1/deliveries/{}", first["id"].as_str().unwrap());
    assert_eq!(hands.client.get(&kept).await.is(200).json()["status"], "failed");

    let all = json!({"to": elsewhere["id"], "dry_run": true});
    let counted = hands.client.post("/v1/dlq/replay", &all).await.is(202).json();
    assert_eq!(counted["total"], letters - 1);
    let foreign = json!({"to": foreign["id"]});
    hands.client.post("/v1/dlq/replay", &foreign).await.is(422);
    let of_all = json!({"to": elsewhere["id"]});
    stage.operator().post("/v1/dlq/replay", &of_all).await.is(422);
    let job = hands.client.post("/v1/dlq/replay", &of_all).await.is(202).json();
    let job = format!("/v1/replays/{}", job["id"].as_str().unwrap());
    let done = eventually(|| async {
        Some(hands.client.get(&job).await.json()).filter(|job| job["state"] == "done")
    })
    .await;
    assert_eq!((&done["to"], &done["failed"]), (&elsewhere["id"], &json!(0)), "{done}");
    assert_eq!(total(&hands).await, json!(0));
    // An event whose deliveries were given up at two webhooks is sent there once.
    let events = [&first["event_id"], &second["id"]];
    let arrived = eventually(|| async {
        let requests: Vec<String> = good.requests().iter().map(Request::text).collect();
        (requests.len() >= 2).then_some(requests)
    })
    .await;
    for event in events {
        let event = event.as_str().unwrap();
        let times = arrived.iter().filter(|request| request.contains(event)).count();
        assert_eq!(times, 1, "{event}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn to_another_webhook_of_the_tenant() {
    redirected(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_too() {
    redirected(&Stage::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_purge_is_counted_first() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let (_bad, url) = receiver(500).await;
    dead_letter(&hands, &url).await;
    let counted = hands.client.delete("/v1/dlq?all=true&dry_run=true").await.is(200).json();
    assert_eq!(counted, json!({"purged": 1, "has_more": false}));
    assert_eq!(total(&hands).await, json!(1));
    let none = hands.client.delete("/v1/dlq?code=TIMEOUT&dry_run=true").await.is(200).json();
    assert_eq!(none["purged"], 0);
    hands.client.delete("/v1/dlq?all=true").await.is(200);
    assert_eq!(total(&hands).await, json!(0));
}
