//! The catalog, and additions to it.

use serde_json::{Value, json};

use crate::stage::Stage;

fn names(page: &Value) -> Vec<&str> {
    page["data"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect()
}

async fn catalog(stage: &Stage) {
    let [own, other] = [stage.tenant("own").await, stage.tenant("other").await];
    let built_in = own.client.get("/webhooks/events").await.is(200).json();
    for known in ["email.sent", "agent.request.completed", "invoice.paid"] {
        assert!(names(&built_in).contains(&known), "{known}");
    }
    for one in built_in["data"].as_array().unwrap() {
        assert!(
            !one["description"].as_str().unwrap().is_empty() && !one["example"].is_null(),
            "{one}"
        );
    }
    let only = own.client.get("/v1/webhooks/events?catalog=email").await.is(200).json();
    assert!(names(&only).iter().all(|name| name.starts_with("email.")));
    assert_eq!(only["next_cursor"], json!(null));

    let made = json!({"name": "order.shipped", "description": "It left.", "example": {"id": 1.0}});
    let made = own.client.post("/v1/webhooks/events", &made).await.is(201).json();
    assert_eq!((&made["catalog"], &made["example"]), (&json!("tenant"), &json!({"id": 1.0})));
    own.client
        .post("/v1/webhooks/events", &json!({"name": "order.shipped"}))
        .await
        .refused(409, "taken");
    let one = "/v1/webhooks/events/order.shipped";
    assert_eq!(own.client.get(one).await.is(200).json(), made);
    other.client.get(one).await.refused(404, "not_found");
    let put =
        json!({"description": "It left again.", "schema": {"type": "object"}, "is_archived": true});
    let changed = own.client.put(one, &put).await.is(200).json();
    assert_eq!((&changed["schema"], &changed["is_archived"]), (&put["schema"], &json!(true)));
    own.client.delete(one).await.is(204);
    own.client.delete(one).await.refused(404, "not_found");
    own.client.delete("/v1/webhooks/events/invoice.paid").await.refused(409, "conflict");
    // The operator's types are available to all tenants.
    stage.operator().put("/v1/webhooks/events/all.of.us", &json!({})).await.is(200);
    let seen = other.client.get("/v1/webhooks/events/all.of.us").await.is(200).json();
    assert_eq!(seen["catalog"], "operator");
    other.client.delete("/v1/webhooks/events/all.of.us").await.refused(404, "not_found");
    let all = stage.operator().get("/v1/webhooks/events").await.is(200).json();
    assert!(names(&all).contains(&"all.of.us"));
}

/// If many callers create an event type at once, one of them gets the response that it did.
async fn created_once(stage: &Stage) {
    let own = stage.tenant("racer").await;
    let body = |number: usize| json!({"name": "race.won", "description": number.to_string()});
    let calls = (0..16).map(|number| {
        let client = &own.client;
        async move { client.post("/v1/webhooks/events", &body(number)).await }
    });
    let replies = futures_util::future::join_all(calls).await;
    let won: Vec<_> = replies.iter().filter(|reply| reply.status == 201).collect();
    assert_eq!((won.len(), replies.len()), (1, 16));
    for reply in replies.iter().filter(|reply| reply.status != 201) {
        reply.clone().refused(409, "taken");
    }
    let stored = own.client.get("/v1/webhooks/events/race.won").await.is(200).json();
    assert_eq!(stored, won[0].clone().json());
}

#[tokio::test(flavor = "multi_thread")]
async fn built_in_and_own() {
    let stage = Stage::new().await;
    catalog(&stage).await;
    created_once(&stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_too() {
    let stage = Stage::postgres().await;
    catalog(&stage).await;
    created_once(&stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_registered() {
    let stage = Stage::new().await;
    let own = stage.tenant("own").await;
    for (body, pointer) in [
        (json!({"name": "webhook.mine"}), "/name"),
        (json!({"name": "a b"}), "/name"),
        (json!({"name": "a", "schema": {"type": "nonsense"}}), "/schema"),
        (json!({"name": "a", "schema": {"$ref": "http://169.254.169.254/"}}), "/schema"),
        (json!({"name": "a", "schema": "x"}), "/schema"),
    ] {
        let reply = own.client.post("/v1/webhooks/events", &body).await.is(422);
        assert!(reply.pointers()[0].starts_with(pointer), "{body} {}", reply.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_follow_each_other() {
    let stage = Stage::new().await;
    let own = stage.tenant("own").await;
    let whole = own.client.get("/v1/webhooks/events").await.is(200).json();
    let mut seen = Vec::new();
    let mut path = "/v1/webhooks/events?limit=7".to_owned();
    loop {
        let page = own.client.get(&path).await.is(200).json();
        seen.extend(page["data"].as_array().unwrap().clone());
        let Some(next) = page["next_cursor"].as_str() else { break };
        path = format!("/v1/webhooks/events?limit=7&cursor={next}");
    }
    assert_eq!(&seen, whole["data"].as_array().unwrap());
}
