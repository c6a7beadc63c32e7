//! Queues: what waits, and pausing it.

use serde_json::json;

use crate::stage::{Stage, receiver};

async fn held_back(stage: &Stage) {
    let hands = stage.tenant("m2").await;
    let (receiver, url) = receiver(200).await;
    hands.webhook(&url).await;
    let operator = stage.operator();
    for what in ["/v1/queues/webhook", "/v1/tenants/m2"] {
        let before = receiver.requests().len();
        operator.call("POST", &format!("{what}/pause"), None).await.is(204);
        let event = hands.publish("a.b", json!({})).await;
        hands.delivery(&event, "pending").await;
        let queues = operator.get("/v1/queues").await.is(200).json();
        let lane = &queues["data"][0];
        assert_eq!((&lane["lane"], &lane["depth"]), (&json!("webhook"), &json!(1)), "{queues}");
        assert_eq!(lane["is_paused"], what.ends_with("webhook"));
        assert_eq!(
            queues["paused_tenants"].as_array().unwrap().len(),
            usize::from(what.ends_with("m2"))
        );
        assert_eq!(receiver.requests().len(), before);
        operator.call("POST", &format!("{what}/resume"), None).await.is(204);
        hands.delivery(&event, "delivered").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lane_and_a_tenant() {
    held_back(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_too() {
    held_back(&Stage::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_lanes_that_there_are() {
    let stage = Stage::new().await;
    for lane in ["fax", "WEBHOOK", "%00", ".."] {
        let reply = stage.operator().call("POST", &format!("/v1/queues/{lane}/pause"), None).await;
        assert_eq!(reply.status, 404, "{lane}");
    }
}
