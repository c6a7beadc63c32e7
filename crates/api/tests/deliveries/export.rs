//! Exports all deliveries that match a filter, as JSON lines.

use serde_json::{Value, json};

use crate::{
    http::Reply,
    stage::{Choices, Stage, eventually, receiver},
};

fn lines(reply: &Reply) -> Vec<Value> {
    assert_eq!(reply.header("content-type"), Some("application/x-ndjson"));
    reply.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn exported(stage: &Stage) {
    let [hands, other] = [stage.tenant("m2").await, stage.tenant("other").await];
    let (_good, url) = receiver(200).await;
    let webhook = hands.webhook(&url).await;
    other.webhook(&url).await;
    // More than a page of them, a few of which are of another type.
    let many: Vec<_> = (0..230)
        .map(|n| json!({"type": if n % 50 == 0 { "b.rare" } else { "a.b" }, "data": {"n": n}}))
        .collect();
    for events in many.chunks(100) {
        hands.client.post("/v1/events/batch", &json!({"events": events})).await.is(202);
    }
    other.publish("a.b", json!({})).await;
    let all = "/v1/deliveries/export?status=delivered";
    eventually(|| async {
        (stage.operator().get(all).await.is(200).text().lines().count() == 231).then_some(())
    })
    .await;

    let found = lines(&hands.client.get(all).await.is(200));
    assert_eq!(found.len(), 230);
    let mut ids: Vec<_> = found.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert!(ids.is_sorted_by(|one, next| one > next), "newest first, each once");
    ids.dedup();
    assert_eq!(ids.len(), 230);
    let page = hands.client.get("/v1/deliveries?limit=50").await.is(200).json();
    assert_eq!(found[..50], page["data"].as_array().unwrap()[..], "as in the list");

    // With the list's filters. A page may find nothing, and the export continues.
    let of_webhook = format!("webhook_id={}", webhook["id"].as_str().unwrap());
    for (query, expected) in [
        ("event_type=b.rare", 5),
        ("event_type=b.*", 5),
        ("status=failed", 0),
        (&of_webhook, 230),
        ("since=2999-01-01T00:00:00Z", 0),
    ] {
        let reply = hands.client.get(&format!("/v1/deliveries/export?{query}")).await.is(200);
        assert_eq!(lines(&reply).len(), expected, "{query}");
    }
    // The operator sees their tenants.
    let all = lines(&stage.operator().get("/v1/deliveries/export?event_type=a.*").await.is(200));
    assert_eq!(all.iter().filter(|row| row["tenant"] == "other").count(), 1);
    let acting = stage.operator().with("x-tenant", "other");
    assert_eq!(lines(&acting.get("/v1/deliveries/export").await.is(200)).len(), 1);

    // Errors of the first page have a status.
    for (query, status, code) in
        [("status=lost", 422, "invalid_field"), ("partner=acme", 403, "operator_only")]
    {
        let path = format!("/v1/deliveries/export?{query}");
        hands.client.get(&path).await.refused(status, code);
    }
    let acts = stage.operator().get("/v1/audit?operation=exportDeliveries&outcome=done").await;
    assert!(!acts.is(200).json()["data"].as_array().unwrap().is_empty());
}

fn few_looks() -> Choices {
    Choices { max_scanned: Some(60), ..Choices::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_match_are_exported() {
    exported(&Stage::with(few_looks()).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_too() {
    exported(&Stage::postgres_with(few_looks()).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exports_of_one_tenant_are_limited() {
    let stage = Stage::new().await;
    let [hands, other] = [stage.tenant("m2").await, stage.tenant("other").await];
    let tenant = hands.id.parse().unwrap();
    let open: Vec<_> = (0..8).map(|_| stage.api.exports.take(Some(tenant)).unwrap()).collect();
    let refused = hands.client.get("/v1/deliveries/export").await.refused(429, "rate_limited");
    assert!(refused.header("retry-after").is_some());
    other.client.get("/v1/deliveries/export").await.is(200);
    drop(open);
    hands.client.get("/v1/deliveries/export").await.is(200);
}
