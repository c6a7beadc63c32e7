//! What supervisors ask, and a handler that breaks.

use crate::stage::Stage;

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
