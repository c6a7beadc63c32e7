//! Pausing a webhook, and deleting a paused one.

use serde_json::json;

use crate::stage::{Stage, eventually, receiver};

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_webhook_waits() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let (receiver, url) = receiver(200).await;
    let webhook = hands.webhook(&url).await;
    let path = format!("/v1/webhooks/{}", webhook["id"].as_str().unwrap());
    // faults.md C6: the pause is visible wherever the webhook is.
    let is_paused = async |expected: bool| {
        let shown = hands.client.get(&path).await.is(200).json();
        let listed = hands.client.get("/v1/webhooks").await.is(200).json();
        let name = json!({"name": "still the same"});
        let changed = hands.client.call("PATCH", &path, Some(&name)).await.is(200).json();
        for webhook in [&shown, &listed["data"][0], &changed] {
            assert_eq!(webhook["is_paused"], expected, "{webhook}");
        }
    };
    assert_eq!(webhook["is_paused"], false);
    is_paused(false).await;
    hands.client.post(&format!("{path}/pause"), &json!({})).await.is(204);
    is_paused(true).await;
    let started = std::time::Instant::now();
    let refused = hands.client.call("POST", &format!("{path}/test"), None).await;
    assert!(refused.refused(409, "conflict").text().contains("resume"));
    assert!(started.elapsed() < std::time::Duration::from_secs(5), "{:?}", started.elapsed());
    let queues = stage.operator().get("/v1/queues").await.is(200).json();
    assert_eq!(queues["paused_webhooks"], json!([webhook["id"]]));
    let event = hands.publish("a.b", json!({})).await;
    let waits = hands.delivery(&event, "pending").await;
    assert_eq!(waits["waiting_for"], json!({"reason": "webhook_resume", "until": null}));
    let of_event = format!("/v1/events/{}", event["id"].as_str().unwrap());
    let of_event = hands.client.get(&of_event).await.is(200).json();
    assert_eq!(of_event["deliveries"][0]["waiting_for"], waits["waiting_for"]);
    assert_eq!(receiver.accepted(), 0);
    hands.client.call("POST", &format!("{path}/resume"), None).await.is(204);
    is_paused(false).await;
    let ended = hands.delivery(&event, "delivered").await;
    assert_eq!(ended["waiting_for"], json!(null));
    let health = hands.client.get(&path).await.is(200).json()["health"].clone();
    assert_eq!(
        (&health["state"], &health["circuit_breaker"]),
        (&json!("prompt"), &json!("closed"))
    );
    eventually(|| async { (receiver.requests().len() == 1).then_some(()) }).await;
}

/// faults.md 3: the cost of a page does not depend on how many endpoints of all tenants are paused. Here the
/// pauses cannot be read at all.
#[tokio::test(flavor = "multi_thread")]
async fn pages_do_not_read_the_pauses_of_all_tenants() {
    let stage = Stage::postgres().await;
    let hands = stage.tenant("m2").await;
    let (_receiver, url) = receiver(200).await;
    let path = format!("/v1/webhooks/{}", hands.webhook(&url).await["id"].as_str().unwrap());
    hands.client.post(&format!("{path}/pause"), &json!({})).await.is(204);
    let event = hands.publish("a.b", json!({})).await;
    let delivery = hands.delivery(&event, "pending").await;
    let mut database = stage.place.database().unwrap().client().await.unwrap();
    let lock = database.transaction().await.unwrap();
    lock.batch_execute("lock table pauses in access exclusive mode").await.unwrap();

    let reads = async {
        for path in [path.as_str(), "/v1/webhooks"] {
            let shown = hands.client.get(path).await.is(200).text();
            assert!(shown.contains(r#""paused_by":"webhook""#), "{shown}");
        }
        let of_event = format!("/v1/events/{}", event["id"].as_str().unwrap());
        let of_delivery = format!("/v1/deliveries/{}", delivery["id"].as_str().unwrap());
        for path in [of_event.as_str(), &of_delivery, "/v1/deliveries"] {
            let shown = hands.client.get(path).await.is(200).text();
            assert!(shown.contains("webhook_resume"), "{shown}");
        }
        stage.anyone().get("/readyz").await.is(200);
    };
    tokio::time::timeout(std::time::Duration::from_mins(1), reads).await.expect("no page waits");
    lock.rollback().await.unwrap();
}

/// faults.md 8: pause, publish, delete: nothing stays pending, and nothing stays paused.
#[tokio::test(flavor = "multi_thread")]
async fn a_paused_webhook_that_is_deleted_leaves_nothing_pending() {
    for stage in [Stage::new().await, Stage::postgres().await] {
        let hands = stage.tenant("m2").await;
        let (receiver, url) = receiver(200).await;
        let webhook = hands.webhook(&url).await;
        let path = format!("/v1/webhooks/{}", webhook["id"].as_str().unwrap());
        hands.client.call("POST", &format!("{path}/pause"), None).await.is(204);
        let mut events = Vec::new();
        for n in 0..7 {
            events.push(hands.publish("a.b", json!(n)).await);
        }
        hands.client.call("DELETE", &path, None).await.is(204);
        for event in &events {
            let delivery = hands.delivery(event, "failed").await;
            assert_eq!(delivery["last_error_code"], "TARGET_GONE", "{delivery}");
        }
        let queues = stage.operator().get("/v1/queues").await.is(200).json();
        assert_eq!(queues["paused_webhooks"], json!([]));
        hands.client.call("POST", &format!("{path}/resume"), None).await.refused(404, "not_found");
        assert_eq!(receiver.accepted(), 0);
    }
}
