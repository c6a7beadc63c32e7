//! The same key is the same event.

use serde_json::json;

use crate::stage::Stage;

async fn keys(stage: &Stage) {
    let hands = stage.tenant("m2").await;
    let event = json!({"type": "a.b", "data": {"n": 1}});
    let keyed = hands.client.with("idempotency-key", "k1");
    let first = keyed.post("/v1/events", &event).await.is(202);
    assert_eq!(first.header("idempotent-replayed"), None);
    let again = keyed.post("/v1/events", &event).await.is(202);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.json(), first.json());
    // As a field it is the same key.
    let mut by_field = event.clone();
    by_field["idempotency_key"] = json!("k1");
    assert_eq!(hands.client.post("/v1/events", &by_field).await.is(202).json(), first.json());
    assert_eq!(keyed.post("/v1/events", &by_field).await.is(202).json(), first.json());
    by_field["idempotency_key"] = json!("k2");
    let differ = keyed.post("/v1/events", &by_field).await.refused(422, "invalid_field");
    assert_eq!(differ.pointers(), ["/idempotency_key"]);
    for other in [
        json!({"type": "a.c", "data": {"n": 1}}),
        json!({"type": "a.b", "data": {"n": 2}}),
        json!({"type": "a.b", "data": {"n": 1}, "subject": "s"}),
        json!({"type": "a.b", "data": {"n": 1}, "external_id": "s"}),
        json!({"type": "a.b", "data": {"n": 1}, "deliver_at": "2020-01-01T00:00:00Z"}),
    ] {
        keyed.post("/v1/events", &other).await.refused(422, "idempotency_mismatch");
    }
    // Another tenant's key is separate.
    let other = stage.tenant("other").await;
    let theirs =
        other.client.with("idempotency-key", "k1").post("/v1/events", &event).await.is(202);
    assert_ne!(theirs.json()["id"], first.json()["id"]);
    assert_eq!(hands.client.get("/v1/events").await.json()["data"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_stands_for_one_event() {
    keys(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_too() {
    keys(&Stage::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_the_same_moment_make_one() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let keyed = hands.client.with("idempotency-key", "once");
    let event = json!({"type": "a.b", "data": 1});
    let calls = (0..16).map(|_| async { keyed.post("/v1/events", &event).await.is(202).json() });
    let answers = futures_util::future::join_all(calls).await;
    assert!(answers.iter().all(|answer| answer == &answers[0]), "{answers:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn batches() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let keyed = hands.client.with("idempotency-key", "batch-1");
    let events = json!({"events": [
        {"type": "a.b", "data": 1}, {"type": "a.b", "data": 1, "idempotency_key": "own"},
        {"type": "a.b", "data": 1, "idempotency_key": "own"},
    ]});
    let first = keyed.post("/v1/events/batch", &events).await.is(202).json();
    let results = first["results"].as_array().unwrap();
    assert_ne!(results[0]["id"], results[1]["id"]);
    assert_eq!(results[1]["id"], results[2]["id"], "the same key twice in one batch");
    let again = keyed.post("/v1/events/batch", &events).await.is(202).json();
    for (before, now) in results.iter().zip(again["results"].as_array().unwrap()) {
        assert_eq!(before["id"], now["id"]);
        assert_eq!(now["replayed"], true);
    }
    let single = json!({"type": "a.b", "data": 1, "idempotency_key": "own"});
    let single = hands.client.post("/v1/events", &single).await.is(202).json();
    assert_eq!(single["id"], results[1]["id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_none() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let event = json!({"type": "a.b", "data": 1});
    let long = "k".repeat(257);
    for key in ["", long.as_str()] {
        hands.client.with("idempotency-key", key).post("/v1/events", &event).await.is(422);
    }
    let twice = hands.client.with("idempotency-key", "a").with("idempotency-key", "b");
    twice.post("/v1/events", &event).await.is(422);
    let null = json!({"type": "a.b", "data": 1, "idempotency_key": null, "subject": null});
    hands.client.post("/v1/events", &null).await.is(202);
}
