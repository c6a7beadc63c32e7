//! Dead letters: replayed one by one and by filter.

use serde_json::json;

use crate::stage::{Stage, dead_letter, eventually, ids, receiver};

#[tokio::test(flavor = "multi_thread")]
async fn replayed_one_by_one_and_by_filter() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let (_bad, bad) = receiver(500).await;
    let (_good, good) = receiver(200).await;
    let (webhook, dead) = dead_letter(&hands, &bad).await;
    let path = format!("/v1/webhooks/{}", webhook["id"].as_str().unwrap());
    hands.client.patch(&path, &json!({"url": good})).await.is(200);
    let replay = format!("/v1/dlq/{}/replay", dead["id"].as_str().unwrap());
    let accepted = hands.client.call("POST", &replay, None).await.is(202).json();
    assert_eq!(accepted["id"], dead["id"]);
    let is_empty = || async {
        let list = hands.client.get("/v1/dlq").await.is(200);
        ids(&list).is_empty().then_some(())
    };
    eventually(is_empty).await;
    // By filter: three more become dead letters, then the webhook recovers.
    hands.client.patch(&path, &json!({"url": bad})).await.is(200);
    for n in 0..3 {
        let event = hands.publish("dead.letter", json!(n)).await;
        hands.delivery(&event, "failed").await;
    }
    hands.client.patch(&path, &json!({"url": good})).await.is(200);
    let counted =
        hands.client.post("/v1/dlq/replay", &json!({"dry_run": true})).await.is(202).json();
    assert_eq!((&counted["total"], &counted["dry_run"]), (&json!(3), &json!(true)));
    let none = hands.client.call("POST", "/v1/dlq/replay?code=TIMEOUT", None).await.is(202).json();
    assert_eq!(none["of"], "dead_letters");
    let both = hands.client.post("/v1/dlq/replay?code=TIMEOUT", &json!({"code": "X"})).await;
    both.refused(422, "invalid_field");
    let job =
        hands.client.post("/v1/dlq/replay", &json!({"code": "HTTP_500"})).await.is(202).json();
    eventually(is_empty).await;
    let path = format!("/v1/replays/{}", job["id"].as_str().unwrap());
    let done = eventually(|| async {
        Some(hands.client.get(&path).await.is(200).json()).filter(|job| job["state"] == "done")
    });
    assert_eq!(done.await["done"], 3);
}
