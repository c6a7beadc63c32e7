//! Replays: canceled midway.

use serde_json::json;

use crate::stage::{Stage, receiver};

#[tokio::test(flavor = "multi_thread")]
async fn canceled_midway() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let (_receiver, url) = receiver(200).await;
    hands.webhook(&url).await;
    for n in 0..300 {
        hands.publish("a.b", json!(n)).await;
    }
    let job =
        hands.client.post("/v1/replays", &json!({"all": true, "rate": 1})).await.is(202).json();
    let path = format!("/v1/replays/{}", job["id"].as_str().unwrap());
    let stopped = hands.client.call("POST", &format!("{path}/cancel"), None).await.is(200).json();
    assert_eq!(stopped["state"], "canceled");
    assert_eq!(hands.client.get(&path).await.is(200).json()["state"], "canceled");
}
