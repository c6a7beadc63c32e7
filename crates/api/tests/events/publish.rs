//! Publishing: one event, many, and what is stored of them.

use std::time::Duration;

use serde_json::{Value, json};

use crate::stage::{Hands, Stage, receiver};

async fn flow(stage: &Stage) {
    let hands = stage.tenant("m2").await;
    let (receiver, url) = receiver(200).await;
    let webhook = hands.webhook_with(json!({"url": url, "events": ["invoice.*"]})).await;
    let event =
        json!({"type": "invoice.paid", "data": {"n": 1}, "external_id": "ext-1", "subject": "s"});
    let reply = hands.client.post("/v1/events", &event).await.is(202);
    let published = reply.json();
    assert_eq!((&published["type"], &published["deliveries"]), (&json!("invoice.paid"), &json!(1)));
    assert_eq!(reply.header("idempotent-replayed"), None);
    let row = hands.delivery(&published, "delivered").await;
    for (name, value) in [
        ("webhook_id", &webhook["id"]),
        ("event_id", &published["id"]),
        ("event_type", &json!("invoice.paid")),
        ("attempts", &json!(1)),
        ("response_status", &json!(200)),
        ("last_error", &json!(null)),
        ("next_retry_at", &json!(null)),
        ("external_id", &json!("ext-1")),
    ] {
        assert_eq!(&row[name], value, "{name}");
    }
    assert!(row["delivered_at"].as_str().unwrap() >= row["created_at"].as_str().unwrap());
    let shown =
        hands.client.get(&format!("/v1/events/{}", published["id"].as_str().unwrap())).await;
    let shown = shown.is(200).json();
    assert_eq!((&shown["data"], &shown["sequence_number"]), (&json!({"n": 1}), &json!(1)));
    assert_eq!(shown["deliveries"][0]["id"], row["id"]);
    assert!(receiver.requests()[0].text().ends_with(",\"data\":{\"n\":1}}"));
    unmatched(&hands).await;
}

async fn unmatched(hands: &Hands) {
    let lost = hands.publish("user.created", json!({})).await;
    assert_eq!(lost["deliveries"], 0);
    let found = hands.client.get("/v1/events?unmatched=true").await.is(200).json();
    assert_eq!(found["data"][0]["id"], lost["id"]);
    assert_eq!(found["data"].as_array().unwrap().len(), 1);
    let found = hands.client.get("/v1/events?external_id=ext-1&event_type=invoice.paid").await;
    assert_eq!(found.is(200).json()["data"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_reaches_its_webhook_and_is_found_again() {
    flow(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_too() {
    flow(&Stage::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_form_without_a_prefix_and_other_charsets_of_json() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let body = br#"{"type":"a.b","data":null}"#;
    for kind in [
        "application/json",
        "application/json; charset=utf-8",
        "Application/JSON;charset=\"UTF-8\"",
    ] {
        let reply =
            hands.client.send("POST", "/events", &[("content-type", kind)], Some(body)).await;
        assert_eq!(reply.status, 202, "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn types_are_checked() {
    let stage = Stage::new().await;
    let hands = stage.tenant_with(json!({"slug": "strict", "strict_event_types": true})).await;
    let publish = |event: Value| {
        let client = hands.client.clone();
        async move { client.post("/v1/events", &event).await }
    };
    publish(json!({"type": "invoice.paid", "data": 1})).await.is(202);
    let unknown = publish(json!({"type": "no.such", "data": 1})).await;
    assert_eq!(unknown.refused(422, "unknown_event_type").pointers(), ["/type"]);
    publish(json!({"type": "webhook.delivery.exhausted", "data": 1}))
        .await
        .refused(422, "reserved_event_type");
    publish(json!({"type": "a b", "data": 1})).await.refused(422, "invalid_field");
    let schema =
        json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
    let own = json!({"name": "own.thing", "schema": schema});
    hands.client.post("/v1/webhooks/events", &own).await.is(201);
    publish(json!({"type": "own.thing", "data": {"n": 1}})).await.is(202);
    let unfit = publish(json!({"type": "own.thing", "data": {"n": "x"}})).await;
    assert_eq!(unfit.refused(422, "schema_mismatch").pointers(), ["/data/n"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_a_batch_on_its_own() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let text = r#"{"events": [
        {"type": "a.b", "data": 1},
        {"type": "a b", "data": 1},
        {"data": 1},
        7,
        {"type": "a.b", "data": 1, "typo": 2},
        {"type": "webhook.x", "data": 1},
        {"type": "c.d", "data": {"x": [1.0, 1e400]}}
    ]}"#;
    let json = [("content-type", "application/json")];
    let reply = hands.client.send("POST", "/v1/events/batch", &json, Some(text.as_bytes())).await;
    let outcome = reply.is(202).json();
    assert_eq!((&outcome["accepted"], &outcome["refused"]), (&json!(2), &json!(5)));
    let results = outcome["results"].as_array().unwrap();
    let statuses: Vec<_> = results.iter().map(|one| one["status"].as_u64().unwrap()).collect();
    assert_eq!(statuses, [202, 422, 422, 422, 422, 422, 202]);
    assert_eq!(results[4]["error"]["errors"][0]["pointer"], "/events/4/typo");
    assert_eq!(results[5]["error"]["errors"][0]["pointer"], "/events/5/type");
    for (index, one) in results.iter().enumerate() {
        assert_eq!(one["index"], index);
        assert_eq!(one["id"].is_string(), one["status"] == 202);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_that_are_too_long_or_empty() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let many = |count: usize| json!({"events": vec![json!({"type": "a.b", "data": 1}); count]});
    hands.client.post("/v1/events/batch", &many(1_000)).await.is(202);
    for count in [0, 1_001, 10_000] {
        let reply = hands.client.post("/v1/events/batch", &many(count)).await.is(422);
        assert_eq!(reply.pointers(), ["/events"]);
    }
    hands.client.post("/v1/events/batch", &json!([])).await.refused(422, "invalid_field");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_with_deliver_at_is_delivered_then() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let (receiver, url) = receiver(200).await;
    hands.webhook(&url).await;
    let event = json!({"type": "a.b", "data": 1, "deliver_at": "2999-01-01T00:00:00Z"});
    let reply = hands.client.post("/v1/events", &event).await.refused(422, "invalid_field");
    assert_eq!(reply.pointers(), ["/deliver_at"]);
    let soon = gancho_domain::Clock::now(&gancho_domain::SystemClock) + Duration::from_secs(3_600);
    let event = json!({"type": "a.b", "data": 1, "deliver_at": soon.to_string()});
    let published = hands.client.post("/v1/events", &event).await.is(202).json();
    // A later one that is due shows that the gateway was running meanwhile.
    let event = json!({"type": "a.b", "data": 2});
    let prompt = hands.client.post("/v1/events", &event).await.is(202).json();
    hands.delivery(&prompt, "delivered").await;
    hands.delivery(&published, "pending").await;
    assert_eq!(receiver.accepted(), 1);
}

async fn cancel(stage: &Stage) {
    let (acme, globex) = (stage.tenant("acme").await, stage.tenant("globex").await);
    let (hooks, url) = receiver(200).await;
    acme.webhook(&url).await;
    let in_an_hour = stage.api.clock.now() + Duration::from_secs(3_600);
    let draft = json!({"type": "order.paid", "data": 1, "deliver_at": in_an_hour.to_string()});
    let event = acme.client.post("/v1/events", &draft).await.is(202).json();
    let path = format!("/v1/events/{}/cancel", event["id"].as_str().unwrap());

    globex.client.post(&path, &json!({})).await.refused(404, "not_found");
    let canceled = acme.client.post(&path, &json!({})).await.is(200).json();
    assert_eq!((&canceled["canceled"], &canceled["in_flight"]), (&json!(1), &json!(0)));
    let delivery = acme.delivery(&event, "failed").await;
    assert_eq!(delivery["last_error_code"], "CANCELED");
    acme.client.post(&path, &json!({})).await.refused(409, "conflict");
    stage.operator().post(&path, &json!({})).await.refused(409, "conflict");

    // It can be sent after all.
    let replay = format!("/v1/dlq/{}/replay", delivery["id"].as_str().unwrap());
    acme.client.post(&replay, &json!({})).await.is(202);
    acme.delivery(&event, "delivered").await;
    assert_eq!(hooks.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduled_event_is_canceled() {
    cancel(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduled_event_is_canceled_on_postgres() {
    cancel(&Stage::postgres().await).await;
}
