//! An e-mail among deliveries and dead letters.

use serde_json::json;

use crate::stage::Stage;

use super::submit::{email, send, until};

/// faults.md B5: among deliveries and dead letters an e-mail is shown as what it is, without its recipient.
async fn as_a_delivery(stage: &Stage) {
    let hands = stage.tenant("m2").await;
    let add = json!({"address": "maria@example.com"});
    hands.client.post("/v1/suppressions", &add).await.is(201);
    let sent = send(&hands, &email("joao@example.com")).await;
    let failed = send(&hands, &email("maria@example.com")).await;
    until(&hands, &sent, "SENT").await;
    until(&hands, &failed, "FAILED").await;
    let list = hands.client.get("/v1/deliveries?lane=email").await.is(200);
    assert!(!list.text().contains("joao@") && !list.text().contains("maria@"));
    let rows = list.json()["data"].as_array().unwrap().clone();
    assert_eq!(rows.len(), 2);
    for (row, id) in rows.iter().zip([&failed, &sent]) {
        assert_eq!((&row["lane"], &row["outbox_id"]), (&json!("email"), &json!(id)));
        assert_eq!(row["external_id"], "BOL-M2-2025-00123");
        for absent in ["webhook_id", "event_id", "event_type", "receipt_id", "partner"] {
            assert!(row.get(absent).is_none(), "{absent}");
        }
        let path = format!("/v1/deliveries/{}", row["id"].as_str().unwrap());
        let shown = hands.client.get(&path).await.is(200);
        assert!(!shown.text().contains("joao@") && !shown.text().contains("maria@"));
        assert_eq!(
            (&shown.json()["payload"], &shown.json()["outbox_id"]),
            (&json!(null), &json!(id))
        );
        // Nor is it an event.
        let event = format!("/v1/events/evt_{}", id.strip_prefix("out_").unwrap());
        hands.client.get(&event).await.refused(404, "not_found");
    }
    let letter = hands.client.get("/v1/dlq").await.is(200).json()["data"][0].clone();
    assert_eq!((&letter["subject_id"], &letter["target_id"]), (&json!(failed), &json!(null)));
    let original = &letter["original_data"];
    assert_eq!(
        (&original["to"], &original["from"]),
        (&json!("m***@e***le.com"), &json!("s***@e***le.com"))
    );
    assert_eq!(original["subject"], "A fatura");
    for path in ["/v1/dlq/export", &format!("/v1/dlq/{}", letter["id"].as_str().unwrap())] {
        let text = hands.client.get(path).await.is(200).text();
        assert!(text.contains("A fatura") && !text.contains("maria@"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_email_as_a_delivery_on_sqlite() {
    as_a_delivery(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_email_as_a_delivery_on_postgres() {
    as_a_delivery(&Stage::postgres().await).await;
}
