//! A waiting delivery says why, in the API. The webhook's own pause and rate are tested in `webhooks`;
//! circuit breaker, retry and attempt with their causes.

use std::time::Duration;

use gancho_domain::{Clock, SystemClock};
use gancho_testkit::receiver::{Receiver, Step};
use serde_json::{Value, json};

use crate::stage::{Hands, Stage, eventually, ids, receiver};

/// Creates a webhook that never answers. Its receiver counts the requests.
async fn silent(hands: &Hands, more: &Value) -> Receiver {
    let silent = Receiver::plain(|_| vec![Step::ReadRequest, Step::Hang]).await.unwrap();
    let mut draft = json!({"url": format!("http://127.0.0.1:{}/hook", silent.port())});
    for (name, value) in more.as_object().unwrap() {
        draft[name] = value.clone();
    }
    hands.webhook_with(draft).await;
    silent
}

/// Waits until the one delivery of an event waits for this reason.
async fn waits_for(hands: &Hands, event: &Value, reason: &str) -> Value {
    let path = format!("/v1/deliveries?event_id={}", event["id"].as_str().unwrap());
    eventually(|| async {
        let id = ids(&hands.client.get(&path).await).pop()?;
        let row = hands.client.get(&format!("/v1/deliveries/{id}")).await.is(200).json();
        (row["waiting_for"]["reason"] == reason).then(|| row["waiting_for"].clone())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn for_its_time_its_tenant_or_its_lane() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let (_receiver, url) = receiver(200).await;
    hands.webhook(&url).await;
    let at = (SystemClock.now() + Duration::from_secs(3_600)).to_string();
    let later = json!({"type": "a.b", "data": {}, "deliver_at": at});
    let later = hands.client.post("/v1/events", &later).await.is(202).json();
    let waits = waits_for(&hands, &later, "schedule").await;
    assert!(waits["until"].is_string(), "{waits}");

    let operator = stage.operator();
    for (what, reason) in
        [("/v1/tenants/m2", "tenant_resume"), ("/v1/queues/webhook", "lane_resume")]
    {
        operator.post(&format!("{what}/pause"), &json!({})).await.is(204);
        let event = hands.publish("a.b", json!({})).await;
        let waits = waits_for(&hands, &event, reason).await;
        assert_eq!(waits["until"], json!(null));
        operator.call("POST", &format!("{what}/resume"), None).await.is(204);
        hands.delivery(&event, "delivered").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn for_an_earlier_one_of_its_subject() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let silent = silent(&hands, &json!({"events": ["*"], "ordering": "per_subject"})).await;
    let event = json!({"type": "a.b", "data": {}, "subject": "one"});
    let first = hands.client.post("/v1/events", &event).await.is(202).json();
    eventually(|| async { (!silent.requests().is_empty()).then_some(()) }).await;
    let second = hands.client.post("/v1/events", &event).await.is(202).json();
    let waits = waits_for(&hands, &second, "earlier_delivery").await;
    assert_eq!(waits["until"], json!(null));
    waits_for(&hands, &first, "attempt").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn for_the_webhooks_own_limit_of_requests_in_flight() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let silent = silent(&hands, &json!({"events": ["*"], "max_in_flight": 1})).await;
    let first = hands.publish("a.b", json!({})).await;
    eventually(|| async { (!silent.requests().is_empty()).then_some(()) }).await;
    let second = hands.publish("a.b", json!({})).await;
    waits_for(&hands, &second, "in_flight_limit").await;
    waits_for(&hands, &first, "attempt").await;
}

/// A webhook without history gets a few requests at first, whatever it allows.
#[tokio::test(flavor = "multi_thread")]
async fn for_older_ones() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let silent = silent(&hands, &json!({"events": ["*"], "max_in_flight": 50})).await;
    for _ in 0..20 {
        hands.publish("a.b", json!({})).await;
    }
    eventually(|| async { (!silent.requests().is_empty()).then_some(()) }).await;
    let last = hands.publish("a.b", json!({})).await;
    waits_for(&hands, &last, "backlog").await;
}
