//! The policy of sources is reloaded.

use serde_json::json;

use crate::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn the_policy_is_read_anew() {
    let stage = Stage::new().await;
    let reply = stage.operator().post("/v1/_reload", &json!({})).await.is(200).json();
    assert_eq!(reply["policy_hash"].as_str().unwrap().len(), 64);
    stage.anyone().post("/_reload", &json!({})).await.refused(401, "unauthenticated");
    let list = stage.operator().get("/v1/rejections").await.is(200).json();
    assert_eq!(list["data"], json!([]));
}
