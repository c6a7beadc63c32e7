//! Secrets are shown only when they are created, and an invalid key reveals nothing.

use gancho_access::{KeyId, key_text};
use serde_json::json;

use crate::stage::{Stage, receiver};

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_shown_when_it_is_made_and_when_asked_for() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let (_receiver, url) = receiver(200).await;
    let draft = json!({
        "url": url, "events": ["*"], "secret": "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
        "headers": {"Authorization": "Bearer canary-in-a-header"},
    });
    let made = hands.webhook_with(draft).await;
    assert_eq!(made["secret"], "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD");
    assert_eq!(made["secret_format"], "base64");
    let id = made["id"].as_str().unwrap();
    hands.publish("a.b", json!({})).await;
    for path in [
        format!("/v1/webhooks/{id}"),
        "/v1/webhooks".to_owned(),
        format!("/v1/webhooks/{id}/deliveries"),
    ] {
        let text = hands.client.get(&path).await.is(200).text();
        assert!(!text.contains("C2FVs") && !text.contains("canary-in-a-header"), "{path} {text}");
    }
    let changed = hands.client.patch(&format!("/v1/webhooks/{id}"), &json!({"name": "n"})).await;
    assert!(!changed.is(200).text().contains("C2FVs"));
    let revealed = hands.client.get(&format!("/v1/webhooks/{id}/secret")).await.is(200);
    assert_eq!(revealed.json()["secret"], "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD");
    assert_eq!(revealed.header("cache-control"), Some("no-store"));
    let reader = stage.key("m2", &["read"]).await;
    reader.get(&format!("/v1/webhooks/{id}/secret")).await.refused(403, "missing_scope");
    // A refusal does not repeat a secret either.
    let short = json!({"url": url, "events": ["*"], "secret": "short-canary"});
    let refused = hands.client.post("/v1/webhooks", &short).await.is(422);
    assert!(!refused.text().contains("short-canary"), "{}", refused.text());
    assert_eq!(refused.pointers(), ["/secret"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_itself_is_shown_once() {
    let stage = Stage::new().await;
    stage.tenant("m2").await;
    let path = "/v1/tenants/m2/api-keys";
    let made = stage.operator().post(path, &json!({"name": "ci"})).await.is(201).json();
    let key = made["key"].as_str().unwrap();
    assert!(key.starts_with("gk_"));
    let listed = stage.operator().get(path).await.is(200).text();
    assert!(listed.contains(made["id"].as_str().unwrap()));
    assert!(!listed.contains(key) && !listed.contains("\"hash\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_keys_are_answered_alike() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let path = "/v1/tenants/m2/api-keys";
    let make = |body| {
        let operator = stage.operator();
        async move { operator.post(path, &body).await.is(201).json() }
    };
    let good = make(json!({})).await;
    let revoked = make(json!({})).await;
    stage.operator().delete(&format!("{path}/{}", revoked["id"].as_str().unwrap())).await.is(204);
    let good = good["key"].as_str().unwrap();
    let (unknown, _) = key_text::new_key(KeyId::from_bits(77 << 80)).unwrap();
    // The right id with another secret, and a valid checksum.
    let (id, _) = key_text::parse(good).unwrap();
    let (wrong, _) = key_text::new_key(id).unwrap();
    let mut mistyped = good.to_owned();
    mistyped.pop();
    let answers =
        [unknown.as_str(), &wrong, revoked["key"].as_str().unwrap(), &mistyped, "gk_", "x", "gp_x"];
    let mut seen = Vec::new();
    for key in answers {
        let reply = stage.anyone().with("x-api-key", key).get("/v1/webhooks").await;
        let reply = reply.refused(401, "invalid_credentials");
        let mut headers: Vec<_> = reply.headers.iter().map(|(name, _)| name.clone()).collect();
        headers.sort();
        seen.push((reply.without_request_id(), headers));
    }
    assert!(seen.iter().all(|one| *one == seen[0]), "{seen:?}");
    stage.anyone().with("x-api-key", good).get("/v1/webhooks").await.is(200);
    hands
        .client
        .with("authorization", "Bearer x")
        .get("/v1/webhooks")
        .await
        .refused(401, "invalid_credentials");
}
