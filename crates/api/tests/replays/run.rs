//! Replays: counted, run and watched.

use serde_json::json;

use crate::stage::{Hands, Stage, eventually, receiver};

async fn to_a_later_webhook(stage: &Stage) {
    let hands = stage.tenant("m2").await;
    for n in 0..5 {
        hands.publish("a.b", json!(n)).await;
    }
    let (receiver, url) = receiver(200).await;
    let webhook = hands.webhook(&url).await;
    let dry = json!({"of": "events", "to": webhook["id"], "all": true, "dry_run": true});
    let counted = hands.client.post("/v1/replays", &dry).await.is(202).json();
    assert_eq!((&counted["total"], &counted["state"]), (&json!(5), &json!("done")));
    let run = json!({"of": "events", "to": webhook["id"], "all": true, "rate": 1_000});
    let job = hands.client.post("/v1/replays", &run).await.is(202).json();
    assert_eq!(job["tenant_id"], hands.id);
    eventually(|| async { (receiver.requests().len() == 5).then_some(()) }).await;
    let path = format!("/v1/replays/{}", job["id"].as_str().unwrap());
    let done = eventually(|| async {
        Some(hands.client.get(&path).await.is(200).json()).filter(|job| job["state"] == "done")
    });
    assert_eq!(done.await["done"], 5);
    let outcomes = eventually(|| async {
        let outcomes = hands.client.get(&path).await.is(200).json()["outcomes"].clone();
        (outcomes["waiting"] == 0).then_some(outcomes)
    });
    assert_eq!(outcomes.await, json!({"delivered": 5, "failed": 0, "waiting": 0, "of": 5}));
    outcomes_of_deliveries_that_fail_again(&hands).await;
    let list = hands.client.get("/v1/replays").await.is(200).json();
    assert!(list["data"].as_array().unwrap().iter().any(|one| one["id"] == job["id"]), "{list}");
    assert_eq!(list["data"][0]["outcomes"], json!(null), "counting takes a lookup for each");
    hands.client.call("POST", &format!("{path}/cancel"), None).await.refused(409, "conflict");
}

/// Dead letters whose endpoint still fails, and one whose endpoint does not.
async fn outcomes_of_deliveries_that_fail_again(hands: &Hands) {
    let [(_failing, failing), (_healed, healed)] = [receiver(500).await, receiver(200).await];
    let draft = json!({"url": failing, "events": ["c.d"], "retry": {"schedule": []}});
    hands.webhook_with(draft.clone()).await;
    let webhook = hands.webhook_with(draft).await;
    for n in 0..3 {
        hands.publish("c.d", json!(n)).await;
    }
    let dead = async |count: usize| {
        eventually(|| async {
            let letters = hands.client.get("/v1/dlq").await.is(200).json();
            (letters["data"].as_array().unwrap().len() == count).then_some(())
        })
        .await;
    };
    dead(6).await;
    let path = format!("/v1/webhooks/{}", webhook["id"].as_str().unwrap());
    hands.client.patch(&path, &json!({"url": healed})).await.is(200);
    let run = json!({"rate": 1_000});
    let job = hands.client.post("/v1/dlq/replay", &run).await.is(202).json();
    let path = format!("/v1/replays/{}", job["id"].as_str().unwrap());
    let ended = eventually(|| async {
        let job = hands.client.get(&path).await.is(200).json();
        let is_over = job["state"] == "done" && job["outcomes"]["waiting"] == 0;
        is_over.then_some(job["outcomes"].clone())
    });
    assert_eq!(ended.await, json!({"delivered": 3, "failed": 3, "waiting": 0, "of": 6}));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_past_reaches_a_webhook_that_came_later() {
    to_a_later_webhook(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_too() {
    to_a_later_webhook(&Stage::postgres().await).await;
}
