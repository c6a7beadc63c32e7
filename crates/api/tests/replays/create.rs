//! Replays that are refused.

use serde_json::json;

use crate::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_replayed() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    for (body, status) in [
        (json!({"of": "events", "all": true}), 422),
        // faults.md C4: a missing filter does not mean everything.
        (json!({}), 422),
        (json!({"filter": {}}), 422),
        (json!({"all": false}), 422),
        (json!({"rate": 10, "dry_run": true}), 422),
        (json!({"filter": {"event_ids": []}}), 422),
        (json!({"filter": {"event_ids": []}, "all": true}), 422),
        (json!({"filter": {"event_ids": ["x"]}}), 422),
        (json!({"filter": {"status": "lost"}}), 422),
        (json!({"filter": {"webhook_id": "wh_01HZZZZZZZZZZZZZZZZZZZZZZZ"}}), 404),
        (json!({"all": true, "to": "wh_01HZZZZZZZZZZZZZZZZZZZZZZZ"}), 404),
        (json!({"all": true, "rate": 0}), 422),
        (
            json!({"filter": {"since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"}}),
            422,
        ),
    ] {
        let reply = hands.client.post("/v1/replays", &body).await;
        assert_eq!(reply.status, status, "{body} {}", reply.text());
    }
    let refused = hands.client.post("/v1/replays", &json!({})).await.refused(422, "missing_field");
    assert_eq!(refused.pointers(), ["/filter"]);
    assert!(refused.text().contains("all"), "it says what to do: {}", refused.text());
}
