//! API keys: created, used and revoked.

use std::time::Duration;

use gancho_domain::{Clock, SystemClock, Time};
use serde_json::json;

use crate::stage::{Stage, eventually};

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_made_used_and_revoked() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let path = format!("/v1/tenants/{}/api-keys", hands.id);
    let body = json!({"name": "ci", "scopes": ["read", "read"]});
    let made = stage.operator().post(&path, &body).await.is(201).json();
    assert_eq!(made["scopes"], json!(["read"]));
    assert_eq!(made["tenant_id"], hands.id);
    assert_eq!(made["last_used_at"], json!(null));
    let key = made["key"].as_str().unwrap();
    for (name, value) in [("x-api-key", key.to_owned()), ("authorization", format!("Bearer {key}"))]
    {
        stage.anyone().with(name, &value).get("/v1/webhooks").await.is(200);
    }
    let id = made["id"].as_str().unwrap();
    let used = eventually(|| async {
        let all = stage.operator().get(&path).await.is(200).json();
        let own = all["data"].as_array().unwrap().iter().find(|one| one["id"] == id).cloned()?;
        own["last_used_at"].is_string().then_some(own)
    });
    assert_eq!(used.await["name"], "ci");
    let one = format!("{path}/{id}");
    stage.operator().delete(&one).await.is(204);
    stage.operator().delete(&one).await.is(204);
    stage
        .anyone()
        .with("x-api-key", key)
        .get("/v1/webhooks")
        .await
        .refused(401, "invalid_credentials");
    let all = stage.operator().get(&path).await.is(200).json();
    let own = all["data"].as_array().unwrap().iter().find(|one| one["id"] == id).cloned().unwrap();
    assert!(own["revoked_at"].is_string());

    // faults.md 14: it is removed from the list, and so is its last use.
    for (days, listed, noted) in [(89, true, true), (91, false, true), (401, false, false)] {
        let now = SystemClock.now() + Duration::from_hours(24 * days);
        while stage.api.store.prune(Time::ZERO, 100, now).await.unwrap().more {}
        let all = stage.operator().get(&path).await.is(200).json();
        let all = all["data"].as_array().unwrap();
        assert_eq!(all.iter().any(|one| one["id"] == id), listed, "after {days} days");
        let used = stage.api.store.find_document("api_key_used", id).await.unwrap();
        assert_eq!(used.is_some(), noted, "after {days} days");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_a_key() {
    let stage = Stage::new().await;
    stage.tenant("m2").await;
    let operator = stage.operator();
    let path = "/v1/tenants/m2/api-keys";
    for (body, pointer) in [
        (json!({"scopes": []}), "/scopes"),
        (json!({"scopes": ["admin"]}), "/scopes/0"),
        (json!({"scopes": "read"}), "/scopes"),
        (json!({"scopes": ["read", 1]}), "/scopes"),
        (json!({"expires_at": "2020-01-01T00:00:00Z"}), "/expires_at"),
        (json!({"name": "x".repeat(129)}), "/name"),
    ] {
        let reply = operator.post(path, &body).await.refused(422, "invalid_field");
        assert_eq!(reply.pointers(), [pointer], "{body}");
    }
    operator.post("/v1/tenants/nobody/api-keys", &json!({})).await.refused(404, "unknown_tenant");
    operator
        .delete(&format!("{path}/key_01HZZZZZZZZZZZZZZZZZZZZZZZ"))
        .await
        .refused(404, "not_found");
    operator.call("POST", path, None).await.is(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn people_of_a_tenant_make_keys_with_no_more_than_their_own_scopes() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let link = stage.operator().post("/v1/portal-links", &json!({"tenant": "m2"})).await.is(201);
    let token = link.json()["token"].as_str().unwrap().to_owned();
    let portal = stage.anyone().with("authorization", &format!("Bearer {token}"));
    let made = portal.post("/v1/api-keys", &json!({"name": "ours"})).await.is(201).json();
    assert_eq!(made["scopes"], json!(["read", "manage"]), "as the link itself");
    assert_eq!(made["tenant_id"], hands.id);
    let above = json!({"scopes": ["read", "publish"]});
    let refused = portal.post("/v1/api-keys", &above).await.refused(422, "invalid_field");
    assert_eq!(refused.json()["errors"][0]["pointer"], "/scopes/1");
    let key = stage.anyone().with("x-api-key", made["key"].as_str().unwrap());
    key.get("/v1/webhooks").await.is(200);
    // A leaked key cannot create another one that outlives it.
    key.post("/v1/api-keys", &json!({})).await.refused(403, "not_for_api_keys");
    let one = format!("/v1/api-keys/{}", made["id"].as_str().unwrap());
    key.delete(&one).await.refused(403, "not_for_api_keys");
    portal.delete(&one).await.is(204);
    // A key that publishes is the operator's: programs of the operator may publish with it.
    let all = portal.get("/v1/api-keys").await.is(200).json();
    let all = all["data"].as_array().unwrap();
    let above = all.iter().find(|one| one["scopes"][0] == "publish").unwrap();
    let above = format!("/v1/api-keys/{}", above["id"].as_str().unwrap());
    portal.delete(&above).await.refused(403, "missing_scope");
    stage.operator().with("x-tenant", "m2").delete(&above).await.is(204);
    key.get("/v1/webhooks").await.refused(401, "invalid_credentials");
}
