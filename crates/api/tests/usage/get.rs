//! A tenant's view of its plan's usage.

use serde_json::json;

use crate::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_with_limits_and_one_without() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let free = hands.client.get("/v1/usage").await.is(200).json();
    assert_eq!(free["plan"], "unlimited");
    assert_eq!(free["events"]["used"], json!(null));
    assert_eq!(free["events"]["limit"], json!(null));
    assert_eq!(free["endpoints"], json!({"used": 0, "limit": null}));
    stage.operator().patch("/v1/tenants/m2", &json!({"plan": "pro"})).await.is(200);
    hands.webhook("http://127.0.0.1:9999/hook").await;
    hands.publish("a.b", json!({})).await;
    let limited = hands.client.get("/v1/usage").await.is(200).json();
    assert_eq!(limited["plan"], "pro");
    assert_eq!(limited["events"]["used"], 1);
    assert_eq!(limited["events"]["limit"], 10_000);
    assert!(limited["events"]["resets_at"].is_string());
    assert_eq!(limited["endpoints"], json!({"used": 1, "limit": 5}));
}
