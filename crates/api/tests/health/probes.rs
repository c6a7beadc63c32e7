//! The probes of monitoring, and a handler that panics.

use std::sync::Arc;

use async_trait::async_trait;
use gancho_api::key_ring::{KeyRingService, KeyUse, Rotation};

use crate::stage::{Choices, Stage};

/// Panics when it is called, and only waits until the test says so.
struct Breaking;

#[async_trait]
impl KeyRingService for Breaking {
    async fn rotate(&self, new_key: bool) -> Result<Rotation, String> {
        Ok(Rotation { newest: 2, resealed: u64::from(new_key), keys: vec![1, 2] })
    }

    async fn keys(&self) -> Result<Vec<KeyUse>, String> {
        panic!("a canary in a panic")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_breaks_breaks_alone() {
    let key_keeper: Option<Arc<dyn KeyRingService>> = Some(Arc::new(Breaking));
    let stage = Stage::with(Choices { key_keeper, ..Choices::default() }).await;
    let reply = stage.operator().get("/v1/keys").await.refused(500, "internal");
    assert!(!reply.text().contains("canary"));
    assert_eq!(stage.api.meter.panics(), 1);
    let told = stage.operator().call("POST", "/v1/keys/rotate", None).await.is(200).json();
    assert_eq!(told, serde_json::json!({"newest": 2, "resealed": 1, "keys": [1, 2]}));
    Stage::new().await.operator().get("/v1/keys").await.refused(409, "conflict");
}

#[tokio::test(flavor = "multi_thread")]
async fn health_is_open_and_metrics_are_not() {
    let stage = Stage::new().await;
    stage.anyone().get("/healthz").await.is(200);
    stage.anyone().get("/readyz").await.is(200);
    stage.anyone().get("/metrics").await.refused(401, "unauthenticated");
    let hands = stage.tenant("m2").await;
    hands.client.get("/metrics").await.refused(403, "operator_only");
    stage.operator().get("/metrics").await.is(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_counted_by_route() {
    let stage = Stage::new().await;
    for _ in 0..3 {
        stage.operator().get("/v1/tenants").await.is(200);
    }
    stage.operator().get("/v1/tenants?x=1").await.is(422);
    let counted = |class: &str| {
        let all = stage.api.meter.answers();
        let own =
            all.iter().find(|one| (one.method, one.path, one.class) == ("GET", "/tenants", class));
        own.map_or(0, |one| one.count)
    };
    assert_eq!((counted("2xx"), counted("4xx")), (3, 1));
}
