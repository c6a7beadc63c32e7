//! What holds back the deliveries of a webhook.

use serde_json::json;

use crate::stage::{Stage, receiver};

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_says_what_holds_its_deliveries() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let (_receiver, url) = receiver(200).await;
    let webhook = hands.webhook(&url).await;
    assert_eq!(webhook["paused_by"], json!(null));
    let path = format!("/v1/webhooks/{}", webhook["id"].as_str().unwrap());
    let operator = stage.operator();
    // The closest pause is named.
    for (what, level) in
        [("/v1/queues/webhook", "lane"), ("/v1/tenants/m2", "tenant"), (path.as_str(), "webhook")]
    {
        let by = if level == "webhook" { &hands.client } else { &operator };
        by.post(&format!("{what}/pause"), &json!({})).await.is(204);
        let shown = hands.client.get(&path).await.is(200).json();
        assert_eq!(shown["paused_by"], level);
        assert_eq!(shown["is_paused"], level == "webhook");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_a_rate_in_memory_says_so() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let (receiver, url) = receiver(200).await;
    let body = json!({"url": url, "events": ["*"], "rate_limit": {"count": 1, "per": "1h"}});
    let webhook = hands.webhook_with(body).await;
    let first = hands.publish("a.b", json!({})).await;
    hands.delivery(&first, "delivered").await;
    for _ in 0..3 {
        let event = hands.publish("a.b", json!({})).await;
        let waits = hands.delivery(&event, "pending").await;
        assert_eq!(waits["waiting_for"]["reason"], "rate_limit", "{waits}");
        assert!(waits["waiting_for"]["until"].is_string(), "{waits}");
    }
    let path = format!("/v1/webhooks/{}", webhook["id"].as_str().unwrap());
    let health = hands.client.get(&path).await.is(200).json()["health"].clone();
    assert_eq!(health["state"], "prompt", "a limited rate is not slowness: {health}");
    assert_eq!(receiver.accepted(), 1);
}
