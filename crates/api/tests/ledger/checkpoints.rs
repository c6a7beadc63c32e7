//! The status of the ledger, and requested checkpoints.

use gancho_api::{IngestSettings, Simulator};
use serde_json::{Value, json};

use crate::stage::{Choices, Stage};

async fn simulating() -> Stage {
    let simulator = Simulator::Anyone;
    let ingest = IngestSettings { simulator, ..IngestSettings::default() };
    Stage::with(Choices { ingest, ..Choices::default() }).await
}

async fn receive(stage: &Stage, count: usize) {
    for _ in 0..count {
        let sent = json!({"partner": "acme"});
        let sent = stage.partner().post("/webhooks/_simulate", &sent).await.is(200).json();
        assert_eq!(sent["answer"]["status"], 204, "{sent}");
    }
}

async fn acme(stage: &Stage) {
    let operator = stage.operator();
    operator.post("/v1/sources", &json!({"partner": "acme"})).await.is(201);
    let key = json!({"scheme": "hmac", "secret": "a secret of some length"});
    operator.call("PUT", "/v1/sources/acme/keys/k1", Some(&key)).await.is(200);
}

#[tokio::test]
async fn a_checkpoint_is_made_when_asked_for() {
    let stage = simulating().await;
    let operator = stage.operator();
    let nothing = operator.get("/v1/ledger").await.is(200).json();
    assert_eq!(nothing, json!({"size": 0, "checkpoint": null}));
    let none = operator.call("POST", "/v1/ledger/checkpoint", None).await;
    assert_eq!(none.is(200).json(), json!({"size": 0, "checkpoint": null, "is_new": false}));
    acme(&stage).await;
    receive(&stage, 3).await;
    assert_eq!(operator.get("/v1/ledger").await.is(200).json()["size"], 3);
    let first = operator.call("POST", "/v1/ledger/checkpoint", None).await.is(200).json();
    assert_eq!((&first["size"], &first["is_new"]), (&json!(3), &Value::Bool(true)));
    assert_eq!(first["checkpoint"]["size"], 3);
    assert_eq!(first["checkpoint"]["origin"], "gancho.test/ledger");
    let again = operator.call("POST", "/v1/ledger/checkpoint", None).await.is(200).json();
    assert_eq!((&again["is_new"], &again["checkpoint"]), (&json!(false), &first["checkpoint"]));
    assert_eq!(operator.get("/v1/ledger").await.json()["checkpoint"], first["checkpoint"]);
    let filed = std::fs::read_dir(stage.checkpoints.path()).unwrap().count();
    assert_eq!(filed, 1);
}
