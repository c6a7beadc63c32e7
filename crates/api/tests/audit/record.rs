//! Administrative actions are recorded: the actor, the action, the resource and the outcome. Frequent calls
//! of tenants' programs are not.

use gancho_access::{NewUser, Principal, Role};
use gancho_api::InProcessApi;
use gancho_domain::AddressBlock;
use gancho_vault::Secret;
use http::Request;
use serde_json::{Value, json};

use crate::{
    http::Client,
    stage::{Stage, receiver},
};

async fn acts(client: &Client, query: &str) -> Vec<Value> {
    let reply = client.get(&format!("/v1/audit?limit=500&{query}")).await.is(200).json();
    reply["data"].as_array().unwrap().clone()
}

async fn acts_are_recorded(stage: &Stage) {
    let (_receiver, url) = receiver(200).await;
    let hands = stage.tenant("m2").await;
    let operator = stage.operator();
    let webhook = hands.webhook(&url).await;
    let id = webhook["id"].as_str().unwrap();
    let event = hands.publish("a.b", json!({"secret": "canary-in-an-event"})).await;
    let delivery = hands.delivery(&event, "delivered").await;
    let delivery = delivery["id"].as_str().unwrap();
    hands.client.post(&format!("/v1/deliveries/{delivery}/retry"), &json!({})).await.is(202);
    let made = acts(&operator, "").await;
    let operations: Vec<_> = made.iter().map(|act| act["operation"].as_str().unwrap()).collect();
    assert_eq!(
        operations,
        ["createWebhook", "createTenantApiKey", "createTenant"],
        "publishing and the tenant's own retry are not among them"
    );
    let create = &made[0];
    assert_eq!(create["actor"]["kind"], "api_key");
    assert!(create["actor"]["name"].as_str().unwrap().starts_with("key_"));
    assert_eq!(create["tenant_id"], hands.id);
    assert_eq!(create["resource"], id);
    assert_eq!((&create["outcome"], &create["status"]), (&json!("done"), &json!(201)));
    assert_eq!(create["summary"], "Create a webhook");
    assert_eq!(create["address"], "127.0.0.1");
    assert!(create["request_id"].as_str().unwrap().starts_with("req_"));
    // The tenant of a path or of what was created is recorded too.
    assert!(made.iter().all(|act| act["tenant_id"] == hands.id), "{made:?}");
    assert!(made[1]["resource"].as_str().unwrap().starts_with("key_"), "{made:?}");
    assert_eq!(made[2]["resource"], hands.id);
    assert_eq!(made[2]["actor"], json!({"kind": "operator", "name": null}));

    // A user of the portal is a person, not a program.
    let link = operator.post("/v1/portal-links", &json!({"tenant": "m2"})).await.is(201).json();
    let token = link["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let person = stage.anyone().with("authorization", &format!("Bearer {token}"));
    person.post(&format!("/v1/deliveries/{delivery}/retry"), &json!({})).await.is(202);
    let retried = &acts(&operator, "actor_kind=portal").await[0];
    assert_eq!(retried["operation"], "retryDelivery");

    let acting = operator.with("x-tenant", "m2").with("x-request-id", "my-own-id");
    acting.get(&format!("/v1/webhooks/{id}/secret")).await.is(200);
    acting.post(&format!("/v1/deliveries/{delivery}/retry"), &json!({})).await.is(202);
    acting.delete("/v1/webhooks/wh_01HZZZZZZZZZZZZZZZZZZZZZZZ").await.is(404);
    let later = acts(&operator, "actor_kind=operator").await;
    let shown: Vec<_> = later[..3]
        .iter()
        .map(|act| (act["operation"].as_str().unwrap(), act["status"].as_u64().unwrap()))
        .collect();
    let expected = [("deleteWebhook", 404), ("retryDelivery", 202), ("getWebhookSecret", 200)];
    assert_eq!(shown, expected);
    assert_eq!(later[0]["code"], "not_found");
    assert_eq!(later[0]["request_id"], "my-own-id");
    assert_eq!(acts(&operator, "outcome=refused").await, [later[0].clone()]);
    assert_eq!(acts(&operator, "operation=getWebhookSecret").await.len(), 1);
    assert_eq!(acts(&operator, &format!("resource={id}")).await.len(), 2);
    assert_eq!(acts(&operator, "until=2020-01-01T00:00:00Z").await.len(), 0);

    // A dry run did nothing, so there is no entry for it.
    let before = acts(&operator, "").await.len();
    operator.delete("/v1/dlq?all=true&dry_run=true").await.is(200);
    operator.post("/v1/dlq/replay", &json!({"dry_run": true})).await.is(202);
    acting.post("/v1/replays", &json!({"all": true, "dry_run": true})).await.is(202);
    assert_eq!(acts(&operator, "").await.len(), before);

    // No entry has a secret, a body or a key.
    let all = operator.get("/v1/audit?limit=500").await.is(200).text();
    for secret in ["whsec_", "gk_", "canary", &url, "gancho-test"] {
        assert!(!all.contains(secret), "{secret} in {all}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn acts_are_recorded_with_who_what_and_outcome() {
    acts_are_recorded(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn also_on_postgres() {
    acts_are_recorded(&Stage::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_sees_acts_on_its_own_data_and_no_names_of_the_operator() {
    let stage = Stage::new().await;
    let (own, other) = (stage.tenant("own").await, stage.tenant("other").await);
    other.client.post("/v1/webhooks/events", &json!({"name": "their.type"})).await.is(201);
    own.client.post("/v1/webhooks/events", &json!({"name": "own.type"})).await.is(201);
    let user = NewUser {
        name: "secret-name".to_owned(),
        role: Role::Operator,
        password: Secret::new("correct horse battery".to_owned()),
    };
    stage.api.access.users.create(user).await.unwrap();
    let api = InProcessApi::new(&stage.api);
    let from: AddressBlock = std::net::IpAddr::from([192, 0, 2, 7]).into();
    let password = Secret::new("correct horse battery".to_owned());
    let (_, operator) = api.log_in_user(from, "secret-name", password).await.unwrap();
    let tenant = stage.api.access.tenants.find("own").await.unwrap().unwrap();
    let mut request = Request::builder().method("DELETE").uri("/v1/webhooks/events/own.type");
    request.extensions_mut().unwrap().insert(from);
    let request = request.body(bytes::Bytes::new()).unwrap();
    let done = api.call(Principal::Tenant(operator.act_for(tenant)), request).await;
    assert_eq!(done.status(), 204);

    let seen = own.client.get("/v1/audit").await.is(200);
    for hidden in ["secret-name", "192.0.2.7", "their.type", &other.id, "log_in"] {
        assert!(!seen.text().contains(hidden), "{hidden} in {}", seen.text());
    }
    let seen = seen.json();
    assert_eq!(seen["data"][0]["operation"], "deleteEventType");
    assert_eq!(seen["data"][0]["actor"], json!({"kind": "operator", "name": null}));
    assert_eq!(seen["data"][1]["actor"]["kind"], "api_key");
    own.client.get("/v1/audit?actor=secret-name").await.refused(403, "operator_only");

    let all = acts(&stage.operator(), "actor=secret-name").await;
    assert_eq!(all[0]["address"], "192.0.2.7");
    assert_eq!(all[1]["operation"], "log_in");
    let of_tenant = acts(&stage.operator().with("x-tenant", "other"), "").await;
    assert!(of_tenant.iter().all(|act| act["tenant_id"] == other.id));
}

#[tokio::test(flavor = "multi_thread")]
async fn logins_are_recorded_and_what_was_typed_is_not() {
    let stage = Stage::new().await;
    let api = InProcessApi::new(&stage.api);
    let from: AddressBlock = std::net::IpAddr::from([192, 0, 2, 7]).into();
    let user = json!({"name": "ana", "role": "support", "password": "correct horse battery"});
    stage.operator().post("/v1/users", &user).await.is(201);
    for name in ["ana", "my-password-by-mistake"] {
        let password = Secret::new("wrong-canary".to_owned());
        assert!(api.log_in_user(from, name, password).await.is_err());
    }
    assert!(api.log_in(from, "not-the-token-canary").await.is_err());
    api.log_in(from, crate::stage::ADMIN).await.unwrap();
    let logins = acts(&stage.operator(), "operation=log_in").await;
    let shown: Vec<_> = logins
        .iter()
        .map(|act| (act["actor"]["kind"].as_str().unwrap(), act["resource"].as_str().unwrap_or("")))
        .collect();
    let expected = [("operator", ""), ("anonymous", ""), ("anonymous", ""), ("anonymous", "ana")];
    assert_eq!(shown, expected);
    let text = stage.operator().get("/v1/audit").await.is(200).text();
    assert!(!text.contains("canary") && !text.contains("my-password"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_refusals_does_not_fill_the_store() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    for _ in 0..200 {
        hands.client.delete("/v1/webhooks/wh_01HZZZZZZZZZZZZZZZZZZZZZZZ").await.is(404);
        stage.anyone().delete("/v1/webhooks/wh_01HZZZZZZZZZZZZZZZZZZZZZZZ").await.is(401);
    }
    let refused = acts(&stage.operator(), "outcome=refused").await;
    assert_eq!(refused.len(), 60, "as many as the rate allows, and none of strangers");
    assert_eq!(stage.api.meter.unrecorded_acts(), 140);
    // Completed actions are recorded nevertheless.
    hands.client.post("/v1/webhooks/events", &json!({"name": "own.type"})).await.is(201);
    assert_eq!(acts(&stage.operator(), "operation=createEventType").await.len(), 1);
}
