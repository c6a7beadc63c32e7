//! The policy of sources is reloaded.

use serde_json::{Value, json};

use crate::stage::{Choices, Stage};

#[tokio::test(flavor = "multi_thread")]
async fn the_policy_is_reloaded_by_the_operator_alone() {
    let stage = Stage::new().await;
    let reply = stage.operator().post("/v1/_reload", &json!({})).await.is(200).json();
    assert_eq!(reply["policy_hash"].as_str().unwrap().len(), 64);
    stage.anyone().post("/_reload", &json!({})).await.refused(401, "unauthenticated");
    let list = stage.operator().get("/v1/rejections").await.is(200).json();
    assert_eq!(list["data"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_receives_nothing_reloads_its_settings() {
    let stage = Stage::with(Choices { is_bare: true, ..Choices::default() }).await;
    let reply = stage.operator().post("/v1/_reload", &json!({})).await.is(200).json();
    assert_eq!(reply["policy_hash"], Value::Null);
}
