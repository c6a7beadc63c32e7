//! Deliveries: found, shown in full, and retried.

use serde_json::{Value, json};

use crate::stage::{Stage, dead_letter, eventually, receiver};

#[tokio::test(flavor = "multi_thread")]
async fn shown_in_full() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let (_receiver, url) = receiver(503).await;
    let draft = json!({"url": url, "events": ["*"], "profile": "auracore",
        "retry": {"schedule": ["1h"]}, "headers": {"X-Token": "canary"}});
    let webhook = hands.webhook_with(draft).await;
    let event = hands.publish("a.b", json!({"k": "v"})).await;
    let row = hands.delivery(&event, "retrying").await;
    assert_eq!(
        (&row["response_status"], &row["last_error_code"]),
        (&json!(503), &json!("HTTP_503"))
    );
    assert!(row["next_retry_at"].is_string());
    let id = row["id"].as_str().unwrap();
    let webhook_id = webhook["id"].as_str().unwrap();
    let detail = hands.client.get(&format!("/v1/webhooks/{webhook_id}/deliveries/{id}")).await;
    let detail = detail.is(200).json();
    assert_eq!(detail, hands.client.get(&format!("/v1/deliveries/{id}")).await.is(200).json());
    assert_eq!(detail["payload"]["id"], event["id"]);
    assert_eq!(detail["payload"]["data"], json!({"k": "v"}));
    let attempt = &detail["attempt_log"][0];
    assert_eq!((&attempt["attempt"], &attempt["response_status"]), (&json!(1), &json!(503)));
    assert_eq!(
        (&attempt["response_body"], &attempt["response_headers"]["x-seen"]),
        (&json!("ok"), &json!("yes"))
    );
    assert!(attempt["latency_ms"].as_f64().unwrap() > 0.0 && attempt["error"].is_string());
    assert!(attempt["request_headers"]["x-webhook-signature"].is_string());
    assert!(!detail.to_string().contains("canary"), "{detail}");
    // It is not found below another webhook.
    let other = hands.webhook_with(json!({"url": url, "events": ["x.y"]})).await;
    let other = other["id"].as_str().unwrap();
    hands
        .client
        .get(&format!("/v1/webhooks/{other}/deliveries/{id}"))
        .await
        .refused(404, "not_found");
    let retry = format!("/v1/webhooks/{other}/deliveries/{id}/retry");
    hands.client.call("POST", &retry, None).await.refused(404, "not_found");
}

async fn again(stage: &Stage) {
    let hands = stage.tenant("m2").await;
    let (bad, url) = receiver(500).await;
    let (webhook, dead) = dead_letter(&hands, &url).await;
    let (webhook, id) = (webhook["id"].as_str().unwrap(), dead["id"].as_str().unwrap());
    for path in [
        format!("/v1/webhooks/{webhook}/deliveries/{id}/retry"),
        format!("/v1/deliveries/{id}/retry"),
        format!("/webhooks/{webhook}/deliveries/{id}/retry"),
    ] {
        let before = bad.requests().len();
        let row = hands.client.call("POST", &path, None).await.is(202).json();
        assert_eq!(row["id"], id);
        eventually(|| async { (bad.requests().len() > before).then_some(()) }).await;
        let path = format!("/v1/deliveries/{id}");
        let ended = |row: &Value| row["status"] == "failed";
        eventually(|| async { Some(hands.client.get(&path).await.json()).filter(ended) }).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tried_again_whatever_its_state() {
    again(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_too() {
    again(&Stage::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_narrow_down() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let (_receiver, url) = receiver(200).await;
    let webhook = hands.webhook(&url).await;
    let mut events = Vec::new();
    for (n, event_type) in ["a.b", "a.b", "c.d"].iter().enumerate() {
        let event = json!({"type": event_type, "data": n, "external_id": format!("x{n}")});
        events.push(hands.client.post("/v1/events", &event).await.is(202).json());
    }
    for event in &events {
        hands.delivery(event, "delivered").await;
    }
    let count = |query: &str| {
        let (client, path) = (hands.client.clone(), format!("/v1/deliveries?{query}"));
        async move { client.get(&path).await.is(200).json()["data"].as_array().unwrap().len() }
    };
    let (id, first) = (webhook["id"].as_str().unwrap(), events[0]["id"].as_str().unwrap());
    for (query, expected) in [
        ("", 3),
        ("status=delivered", 3),
        ("status=failed", 0),
        ("event_type=a.b", 2),
        ("event_type=a.*", 2),
        ("event_type=a.b.*", 0),
        ("event_type=*", 3),
        ("event_type=no%20type", 0),
        ("external_id=x2", 1),
        (&format!("event_id={first}"), 1),
        (&format!("webhook_id={id}&event_type=c.d"), 1),
        ("since=2999-01-01T00:00:00Z", 0),
        ("until=2999-01-01T00:00:00%2B01:00", 3),
        ("limit=2", 2),
    ] {
        assert_eq!(count(query).await, expected, "{query}");
    }
    let all = stage.operator().get("/v1/deliveries?event_type=a.*").await;
    assert_eq!(all.is(200).json()["data"].as_array().unwrap().len(), 2);
    let below = hands.client.get(&format!("/v1/webhooks/{id}/deliveries?event_type=a.*")).await;
    assert_eq!(below.is(200).json()["data"].as_array().unwrap().len(), 2);
    hands
        .client
        .get("/v1/webhooks/wh_01HZZZZZZZZZZZZZZZZZZZZZZZ/deliveries")
        .await
        .refused(404, "not_found");
}

// faults.md B13
#[tokio::test(flavor = "multi_thread")]
async fn not_tried_again_where_it_cannot_be_sent() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let (bad, url) = receiver(500).await;
    let (webhook, dead) = dead_letter(&hands, &url).await;
    let (webhook, id) = (webhook["id"].as_str().unwrap(), dead["id"].as_str().unwrap());
    let path = format!("/v1/webhooks/{webhook}");
    let shown = hands.client.get(&format!("/v1/deliveries/{id}")).await.is(200).json();
    let asked = bad.requests().len();

    hands.client.patch(&path, &json!({"is_active": false})).await.is(200);
    for retry in [format!("{path}/deliveries/{id}/retry"), format!("/v1/deliveries/{id}/retry")] {
        let refused = hands.client.call("POST", &retry, None).await.refused(409, "conflict");
        assert!(refused.text().contains("disabled"), "{}", refused.text());
    }
    hands.client.call("DELETE", &path, None).await.is(204);
    let retry = format!("/v1/deliveries/{id}/retry");
    let refused = hands.client.call("POST", &retry, None).await.refused(409, "conflict");
    assert!(refused.text().contains("was deleted"), "{}", refused.text());

    let after = hands.client.get(&format!("/v1/deliveries/{id}")).await.is(200).json();
    for field in ["attempts", "status", "last_error", "attempt_log"] {
        assert_eq!(after[field], shown[field], "{field}");
    }
    assert_eq!(bad.requests().len(), asked);
}
