//! A deleted tenant is removed with all its data; others are not affected.

use serde_json::json;

use crate::stage::{Stage, dead_letter, eventually, ids, receiver};

async fn delete(stage: &Stage) {
    let operator = stage.operator();
    let (acme, globex) = (stage.tenant("acme").await, stage.tenant("globex").await);
    let (_hooks, url) = receiver(200).await;
    let (_broken, broken) = receiver(500).await;
    for hands in [&acme, &globex] {
        hands.webhook_with(json!({"url": url, "events": ["order.*"]})).await;
        let event = hands.publish("order.paid", json!({"id": 1})).await;
        hands.delivery(&event, "delivered").await;
        dead_letter(hands, &broken).await;
        let later = json!({"type": "order.paid", "data": 1, "deliver_at": "2099-01-01T00:00:00Z"});
        let refused = hands.client.post("/v1/events", &later).await.status;
        assert!(refused == 202 || refused == 422, "{refused}");
    }
    let id = operator.get("/v1/tenants/acme").await.is(200).json()["id"].clone();

    let deleted = operator.delete("/v1/tenants/acme").await.is(202).json();
    assert_eq!((&deleted["id"], &deleted["slug"]), (&id, &json!("acme")));
    operator.get("/v1/tenants/acme").await.refused(404, "unknown_tenant");
    operator.delete("/v1/tenants/acme").await.refused(404, "unknown_tenant");
    acme.client.get("/v1/webhooks").await.refused(401, "invalid_credentials");
    acme.client.post("/v1/events", &json!({"type": "order.paid", "data": 1})).await.is(401);

    // The rest of its data is removed; the other tenant keeps everything.
    let all = async || {
        stage.api.engine.erase_once().await.unwrap();
        let rows = operator.get("/v1/deliveries").await.is(200).json();
        let rows = rows["data"].as_array().unwrap().clone();
        rows.iter().all(|row| row["tenant"] == "globex").then_some(rows)
    };
    let left = eventually(all).await;
    assert!(left.len() >= 2, "{left:?}");
    let dead = operator.get("/v1/dlq").await.is(200);
    assert_eq!(ids(&dead).len(), 1);
    assert_eq!(stage.api.store.deleted_tenants(10).await.unwrap().len(), 1);
    let acts = operator.get("/v1/audit?operation=deleteTenant").await.is(200).json();
    assert_eq!(acts["data"].as_array().unwrap().len(), 2, "the refused one, too: {acts}");

    // The slug is free, and a new tenant has nothing of the old one.
    let again = stage.tenant("acme").await;
    assert_ne!(operator.get("/v1/tenants/acme").await.is(200).json()["id"], id);
    assert_eq!(ids(&again.client.get("/v1/webhooks").await.is(200)), Vec::<String>::new());
    assert_eq!(ids(&again.client.get("/v1/events").await.is(200)), Vec::<String>::new());
    globex.client.get("/v1/webhooks").await.is(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_it_is_left() {
    delete(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_it_is_left_on_postgres() {
    delete(&Stage::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_operator_deletes_tenants() {
    let stage = Stage::new().await;
    let acme = stage.tenant("acme").await;
    acme.client.delete("/v1/tenants/acme").await.refused(403, "operator_only");
    stage.anyone().delete("/v1/tenants/acme").await.is(401);
    stage.operator().get("/v1/tenants/acme").await.is(200);
}
