//! Nodes, as the operator sees them.

use serde_json::json;

use crate::stage::Stage;

async fn listed(stage: &Stage) {
    let nodes = stage.operator().get("/v1/nodes").await.is(200).json();
    let [node] = nodes["data"].as_array().unwrap().as_slice() else { panic!("{nodes}") };
    assert_eq!((&node["state"], &node["is_self"]), (&json!("alive"), &json!(true)));
    assert!(node["last_seen_at"].as_str().unwrap().ends_with('Z'));
    let tenant = stage.tenant("m2").await;
    tenant.client.get("/v1/nodes").await.refused(403, "operator_only");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_node_that_answers_is_listed() {
    listed(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_too() {
    listed(&Stage::postgres().await).await;
}
