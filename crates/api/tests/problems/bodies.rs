//! The body of every refusal, as callers read it: `snapshots/` has all of them on one page.

use std::collections::BTreeMap;

use gancho_api::codes;
use serde_json::json;

use crate::{
    http::{Client, Reply, exchange, read},
    stage::{Choices, Stage},
};

/// Codes that need more than one request, and the tests that cause them.
const ELSEWHERE: [&str; 10] = [
    "internal",          // health/probes.rs
    "ledger_broken",     // app: ledger/commands.rs
    "loop_detected",     // app: deliveries/loops.rs
    "slow_body",         // listener/hostile_clients.rs
    "storage_full",      // app: listener/slow_clients.rs
    "missing_role",      // access/roles.rs
    "source_paused",     // app: receipts/receive.rs
    "tenant_moving",     // app: cells/moving.rs
    "too_many_failures", // access/throttle.rs
    "unavailable",       // listener/capacity.rs
];

#[tokio::test(flavor = "multi_thread")]
async fn every_refusal_as_it_is_read() {
    let stage = Stage::new().await;
    let mut bodies = BTreeMap::new();
    let mut keep = |reply: Reply| {
        assert_eq!(reply.header("content-type"), Some("application/problem+json"));
        let body = reply.json();
        let before = bodies.insert(body["code"].as_str().unwrap().to_owned(), reply.json());
        assert!(before.is_none(), "one is enough: {body}");
    };
    for reply in about_the_caller(&stage).await {
        keep(reply);
    }
    for reply in about_the_request(&stage).await {
        keep(reply);
    }
    for reply in about_events(&stage).await {
        keep(reply);
    }
    let known: Vec<_> = codes::ALL.iter().map(|code| code.code).collect();
    let missing =
        known.iter().filter(|code| bodies.contains_key(**code) == ELSEWHERE.contains(code));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&&str>::new(), "each once: here, or elsewhere");

    let page: Vec<_> = bodies.values().map(|body| format!("{body:#}")).collect();
    insta::with_settings!({omit_expression => true, prepend_module_to_snapshot => false, filters => vec![
        (r#""request_id": "[^"]+""#, r#""request_id": "[request id]""#),
        (r"\bevt_[0-9A-Z]{26}\b", "evt_[id]"),
        (r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "[time]"),
    ]}, { insta::assert_snapshot!("problems", page.join("\n\n")) });
}

async fn about_the_caller(stage: &Stage) -> Vec<Reply> {
    let hands = stage.tenant("acme").await;
    let reader = stage.key("acme", &["read"]).await;
    let (operator, event) = (stage.operator(), json!({"type": "a.b", "data": {}}));
    let bare = Stage::with(Choices { is_bare: true, ..Choices::default() }).await;
    let bare_tenant = bare.tenant("acme").await;
    vec![
        stage.anyone().get("/v1/events").await,
        stage.anyone().with("x-api-key", "gk_wrong").get("/v1/events").await,
        reader.post("/v1/events", &event).await,
        hands.client.get("/v1/tenants").await,
        hands.client.post("/v1/api-keys", &json!({})).await,
        operator.post("/v1/events", &event).await,
        operator.with("x-tenant", "nobody").get("/v1/events").await,
        stage.partner().post("/webhooks/nobody", &json!({})).await,
        operator.post("/v1/tenants", &json!({"slug": "acme"})).await,
        bare.operator().get("/v1/sources").await,
        bare_tenant.client.get("/v1/emails").await,
        bare.operator().get("/v1/keys").await,
    ]
}

async fn about_the_request(stage: &Stage) -> Vec<Reply> {
    let operator = stage.operator();
    let long = json!({"x": "y".repeat(20_000)});
    let as_text = [("content-type", "text/plain")];
    vec![
        operator.get("/v1/nothing").await,
        operator.delete("/v1/tenants").await,
        operator.get("/v1/sources/nobody").await,
        operator.get("/v1/alerts").await,
        operator.get("/v1/tenants?cursor=made-up").await,
        operator.call("GET", "/v1/tenants", Some(&long)).await,
        operator.send("POST", "/v1/tenants", &as_text, Some(b"{}")).await,
        operator
            .send(
                "POST",
                "/v1/tenants",
                &[("content-type", "application/json")],
                Some(b"{\"slug\": a}"),
            )
            .await,
        operator.post("/v1/tenants", &json!({"slug": "A"})).await,
        operator.post("/v1/tenants", &json!({"slug": "b", "plans": "pro"})).await,
        operator.post("/v1/tenants", &json!({})).await,
        raw(stage, "GET /v1/tenants HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n")
            .await,
        operator.with("x-tenant", "a").with("x-tenant", "b").get("/v1/events").await,
    ]
}

async fn about_events(stage: &Stage) -> Vec<Reply> {
    let strict = json!({"slug": "strict", "strict_event_types": true});
    let strict = stage.tenant_with(strict).await.client;
    let schema = json!({"type": "object", "required": ["n"]});
    strict
        .post("/v1/webhooks/events", &json!({"name": "own.thing", "schema": schema}))
        .await
        .is(201);
    let publish = |client: &Client, event_type: &str| {
        let (client, event) = (client.clone(), json!({"type": event_type, "data": {}}));
        async move { client.post("/v1/events", &event).await }
    };
    let rate = json!({"count": 1, "per": "1h"});
    let limited = stage.tenant_with(json!({"slug": "limited", "publish_rate": rate})).await.client;
    publish(&limited, "a.b").await.is(202);
    let small = stage.tenant_with(json!({"slug": "small", "plan": "few"})).await.client;
    for _ in 0..2 {
        publish(&small, "a.b").await.is(202);
    }
    let keyed = stage.tenant("keyed").await.client.with("idempotency-key", "k");
    publish(&keyed, "a.b").await.is(202);
    vec![
        publish(&strict, "no.such").await,
        publish(&strict, "webhook.delivery.exhausted").await,
        publish(&strict, "own.thing").await,
        publish(&limited, "a.b").await,
        publish(&keyed, "a.c").await,
        publish(&small, "a.b").await,
    ]
}

async fn raw(stage: &Stage, request: &str) -> Reply {
    read(&exchange(stage.address, request.as_bytes()).await).unwrap()
}
