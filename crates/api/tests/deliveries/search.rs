//! Deliveries by a text in their payload.

use serde_json::json;

use crate::stage::{Stage, ids, receiver};

async fn found_by_what_the_payload_contains(stage: &Stage) {
    let [hands, other] = [stage.tenant("m2").await, stage.tenant("other").await];
    let (_receiver, url) = receiver(200).await;
    for tenant in [&hands, &other] {
        tenant.webhook(&url).await;
    }
    let event = hands.publish("a.b", json!({"customer": "Ana Souza", "rate": "5 %"})).await;
    hands.publish("a.b", json!({"customer": "Bo"})).await;
    other.publish("a.b", json!({"customer": "Ana Souza"})).await;
    let delivery = hands.delivery(&event, "delivered").await;
    for text in ["Ana%20Souza", "%22customer%22:%22Ana", "5%20%25"] {
        let found = hands.client.get(&format!("/v1/deliveries?text={text}")).await.is(200);
        assert_eq!(ids(&found), [delivery["id"].as_str().unwrap()], "{text}");
    }
    for text in ["ana%20souza", "nowhere"] {
        let found = hands.client.get(&format!("/v1/deliveries?text={text}")).await.is(200);
        assert!(ids(&found).is_empty(), "{text}");
    }
    let all = stage.operator().get("/v1/deliveries?text=Ana").await.is(200);
    assert_eq!(ids(&all).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn by_what_the_payload_contains() {
    found_by_what_the_payload_contains(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_too() {
    found_by_what_the_payload_contains(&Stage::postgres().await).await;
}
