//! Callers that try keys and tokens until one is valid.

use std::time::{Duration, Instant};

use gancho_access::{ApiKey, KeyId, Rights, api_key::COLLECTION, key_text};
use gancho_api::{MetricsAccess, Settings};
use gancho_domain::{Tenant, TenantScope};
use gancho_store::{Collection, Precondition};
use serde_json::json;

use crate::stage::{Choices, Stage, eventually};

/// faults.md 20: guesses become slow however many are made at once, and are counted; known callers are
/// admitted all the while, and unknown ones soon again.
#[tokio::test(flavor = "multi_thread")]
async fn wrong_tokens_and_keys_are_slowed_down() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    hands.client.get("/v1/events").await.is(200);
    let fresh = stage.key("m2", &["read"]).await;
    let began = Instant::now();
    let guess = |number: usize| {
        let wrong = match number % 2 {
            0 => format!("Bearer operator-token-number-{number}"),
            _ => format!("Bearer gk_{number:026}_{}_000000", "a".repeat(43)),
        };
        let guesser = stage.anyone().with("authorization", &wrong);
        async move { guesser.get("/v1/tenants").await.status }
    };
    let statuses = futures_util::future::join_all((0..400).map(guess)).await;
    let checked = statuses.iter().filter(|status| **status == 401).count();
    let refused = statuses.iter().filter(|status| **status == 429).count();
    assert_eq!(checked + refused, 400);
    assert!(refused > 300, "{checked} guesses were looked at in {:?}", began.elapsed());
    // Valid ones that were used from here do not wait.
    let asked = Instant::now();
    stage.operator().get("/v1/tenants").await.is(200);
    hands.client.get("/v1/events").await.is(200);
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
    // Nor does a key that was never used from here: keys cannot be guessed.
    let asked = Instant::now();
    fresh.get("/v1/events").await.is(200);
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
    // A link to the portal that was never used from here waits for a moment.
    let made = stage.operator().post("/v1/portal-links", &json!({"tenant": "m2"})).await.is(201);
    let url = made.json()["url"].as_str().unwrap().to_owned();
    let token = url.rsplit('/').next().unwrap();
    let person = stage.anyone().with("authorization", &format!("Bearer {token}"));
    let asked = Instant::now();
    let reply = eventually(|| async {
        let reply = person.get("/v1/events").await;
        assert!(reply.status != 429 || reply.header("retry-after").is_some());
        (reply.status != 429).then_some(reply)
    });
    reply.await.is(200);
    assert!(asked.elapsed() < Duration::from_secs(10), "it is locked out");
    assert!(stage.api.meter.failed_logins() >= 10);
    let metrics = stage.operator().get("/metrics").await.is(200).text();
    assert!(metrics.contains("gancho_auth_failures_total"), "{metrics}");
}

/// faults.md 22
#[tokio::test(flavor = "multi_thread")]
async fn metrics_for_programs_on_this_machine() {
    for (metrics_for, direct, passed_on) in [
        (MetricsAccess::Anyone, 200, 200),
        (MetricsAccess::ThisMachine, 200, 401),
        (MetricsAccess::Operator, 401, 401),
    ] {
        let settings = Settings { metrics_for, ..Settings::default() };
        let stage = Stage::with(Choices { settings, ..Choices::default() }).await;
        stage.anyone().get("/metrics").await.is(direct);
        for (name, value) in [
            ("x-forwarded-for", "203.0.113.9"),
            ("forwarded", "for=203.0.113.9"),
            ("via", "1.1 proxy"),
            ("x-real-ip", "203.0.113.9"),
        ] {
            stage.anyone().with(name, value).get("/metrics").await.is(passed_on);
            stage.operator().with(name, value).get("/metrics").await.is(200);
        }
    }
}

/// faults.md B3: a key of the operator's own tenant, from before its slug was reserved, gives no access.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_the_operators_tenant_is_good_for_nothing() {
    let stage = Stage::new().await;
    let tenant = Tenant::new(stage.api.ids.make(), Tenant::OPERATOR, stage.api.clock.now());
    stage.api.store.create_tenant(tenant.clone()).await.unwrap();
    let id: KeyId = stage.api.ids.make();
    let (text, secret) = key_text::new_key(id).unwrap();
    let key = ApiKey::new(id, tenant.id, "old".into(), Rights::ALL, &secret);
    let collection = Collection::of(TenantScope::internal(tenant.id), COLLECTION);
    let body = key.to_bytes().unwrap();
    stage
        .api
        .store
        .put_document(collection, &id.to_string(), body, Precondition::Nothing)
        .await
        .unwrap();
    let old = stage.anyone().with("x-api-key", &text);
    old.get("/v1/webhooks").await.refused(401, "invalid_credentials");
    let until = stage.api.clock.now() + Duration::from_secs(60);
    let token = stage.api.access.portal.make(tenant.id, until, Rights::ALL);
    let portal = stage.anyone().with("authorization", &format!("Bearer {token}"));
    portal.get("/v1/webhooks").await.refused(401, "invalid_credentials");
}
