//! The test of a webhook uses the real path.

use serde_json::json;

use crate::{
    http::Client,
    stage::{Stage, receiver},
};

async fn test_call(client: &Client, id: &str) {
    let outcome =
        client.call("POST", &format!("/v1/webhooks/{id}/test"), None).await.is(200).json();
    assert_eq!(outcome["success"], true);
    assert_eq!(
        (&outcome["response_status"], &outcome["response_body"]),
        (&json!(200), &json!("ok"))
    );
    assert!(outcome["latency_ms"].as_f64().unwrap() > 0.0);
    let body = json!({"webhook_id": id, "event_type": "agent.request.completed"});
    let outcome = client.post("/v1/webhooks/test", &body).await.is(200).json();
    assert_eq!(outcome["event_type"], "agent.request.completed");
    assert_eq!(outcome["status"], "delivered");
    let path = format!("/v1/deliveries/{}", outcome["delivery_id"].as_str().unwrap());
    assert_eq!(client.get(&path).await.is(200).json()["is_test"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_goes_the_real_way() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let (_receiver, url) = receiver(200).await;
    let webhook = hands.webhook(&url).await;
    let id = webhook["id"].as_str().unwrap();
    test_call(&hands.client, id).await;
    let path = format!("/v1/webhooks/{id}");
    hands.client.patch(&path, &json!({"is_active": false})).await.is(200);
    hands.client.post(&format!("{path}/test"), &json!({})).await.refused(409, "conflict");
    let body = json!({"webhook_id": "wh_01HZZZZZZZZZZZZZZZZZZZZZZZ"});
    hands.client.post("/v1/webhooks/test", &body).await.refused(404, "not_found");
}
