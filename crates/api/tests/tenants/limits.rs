//! Limits of plans and rates, as a tenant sees them.

use serde_json::json;

use crate::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn plan_limits_name_the_limit_the_use_and_the_reset() {
    let stage = Stage::new().await;
    let hands = stage.tenant_with(json!({"slug": "small", "plan": "few"})).await;
    let draft = json!({"url": "http://127.0.0.1:9999/", "events": ["*"]});
    hands.client.post("/v1/webhooks", &draft).await.is(201);
    let refused = hands.client.post("/v1/webhooks", &draft).await.refused(403, "plan_limit").json();
    assert_eq!(
        (&refused["plan"], &refused["limit"], &refused["used"]),
        (&json!("few"), &json!(1), &json!(1))
    );
    for _ in 0..2 {
        hands.publish("a.b", json!({})).await;
    }
    let event = json!({"type": "a.b", "data": {}});
    let refused = hands.client.post("/v1/events", &event).await.refused(403, "plan_limit").json();
    assert_eq!((&refused["limit"], &refused["used"]), (&json!(2), &json!(2)));
    assert!(refused["resets_at"].as_str().unwrap().ends_with("-01T00:00:00.000Z"));
}

#[tokio::test(flavor = "multi_thread")]
async fn publishing_too_fast_is_answered_with_when_to_retry() {
    let stage = Stage::new().await;
    let hands =
        stage.tenant_with(json!({"slug": "fast", "publish_rate": {"count": 2, "per": "1h"}})).await;
    let event = json!({"type": "a.b", "data": {}});
    let first = hands.client.post("/v1/events", &event).await.is(202);
    assert_eq!(first.header("ratelimit-limit"), Some("2"));
    assert_eq!(first.header("ratelimit-remaining"), Some("1"));
    hands.client.post("/v1/events", &event).await.is(202);
    let refused = hands.client.post("/v1/events", &event).await.refused(429, "rate_limited");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=1_800).contains(&wait), "{wait}");
    assert_eq!(refused.header("ratelimit-remaining"), Some("0"));
}

// faults.md B10
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_is_too_fast_is_answered_with_when_to_retry() {
    let stage = Stage::new().await;
    let hands =
        stage.tenant_with(json!({"slug": "fast", "publish_rate": {"count": 3, "per": "1h"}})).await;
    let event = json!({"type": "a.b", "data": {}});
    let batch = json!({"events": [event, event]});
    let reply = hands.client.post("/v1/events/batch", &batch).await.is(202);
    assert_eq!(reply.header("ratelimit-limit"), Some("3"));
    assert_eq!(
        (reply.header("ratelimit-remaining"), reply.header("retry-after")),
        (Some("1"), None)
    );
    for (accepted, left) in [(1, "0"), (0, "0")] {
        let reply = hands.client.post("/v1/events/batch", &batch).await.is(202);
        assert_eq!(reply.json()["accepted"], accepted, "{}", reply.text());
        assert_eq!(reply.json()["results"][1]["status"], 429);
        assert_eq!(reply.header("ratelimit-limit"), Some("3"));
        assert_eq!(reply.header("ratelimit-remaining"), Some(left));
        let seconds = |name: &str| reply.header(name).unwrap().parse::<u64>().unwrap();
        assert!((1..=1_200).contains(&seconds("retry-after")), "{}", seconds("retry-after"));
        assert!((3_000..=3_600).contains(&seconds("ratelimit-reset")));
    }
}
