//! Suppressed addresses.

use serde_json::json;

use crate::stage::Stage;

use super::submit::{email, send, until};

#[tokio::test(flavor = "multi_thread")]
async fn suppressed_addresses() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let add = json!({"address": "Ana@Example.com", "reason": "complaint"});
    let added = hands.client.post("/v1/suppressions", &add).await.is(201).json();
    assert_eq!(
        (&added["address"], &added["reason"]),
        (&json!("ana@example.com"), &json!("complaint"))
    );
    let many = json!({"addresses": ["b@example.com", "ana@example.com"], "reason": "bounce"});
    let imported = hands.client.post("/v1/suppressions/import", &many).await.is(200).json();
    assert_eq!(imported, json!({"added": 1, "given": 2}));
    let odd = json!({"addresses": ["c@example.com", "nonsense"]});
    let reply = hands.client.post("/v1/suppressions/import", &odd).await;
    assert_eq!(reply.refused(422, "invalid_field").pointers(), ["/addresses/1"]);
    let first = hands.client.get("/v1/suppressions?limit=1").await.is(200).json();
    assert_eq!(first["data"][0]["address"], "ana@example.com");
    let cursor = first["next_cursor"].as_str().unwrap();
    let next = hands.client.get(&format!("/v1/suppressions?limit=1&cursor={cursor}")).await;
    let next = next.is(200).json();
    assert_eq!(
        (&next["data"][0]["address"], &next["next_cursor"]),
        (&json!("b@example.com"), &json!(null))
    );

    let id = send(&hands, &email("ana@example.com")).await;
    let shown = until(&hands, &id, "FAILED").await;
    assert_eq!(shown["failureCode"], "COMPLAINT");
    hands.client.delete("/v1/suppressions/ANA%40example.com").await.is(204);
    hands.client.delete("/v1/suppressions/ana@example.com").await.refused(404, "not_found");
    let id = send(&hands, &email("ana@example.com")).await;
    until(&hands, &id, "SENT").await;
}
