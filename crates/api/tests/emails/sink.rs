//! E-mails that the sink has captured, as a developer sees them.

use std::sync::Arc;

use gancho_mail::{SmtpTransport, smtp::SmtpSettings};
use serde_json::{Value, json};

use crate::stage::{Choices, Stage, eventually};

#[tokio::test]
async fn what_was_caught_is_shown_whole() {
    let stage = Stage::new().await;
    let operator = stage.operator();
    assert_eq!(operator.get("/v1/dev/emails").await.is(200).json()["data"], json!([]));
    let hands = stage.tenant("m2").await;
    let email = json!({
        "from": "Loja <shop@example.com>",
        "to": "joao@example.com",
        "subject": "A fatura",
        "text": "Good morning",
    });
    let sent = hands.client.post("/v1/email/send", &email).await.is(201).json();
    let list = eventually(|| async {
        let list = operator.get("/v1/dev/emails").await.is(200).json();
        (list["data"].as_array().unwrap().len() == 1).then_some(list)
    })
    .await;
    let letter = &list["data"][0];
    assert_eq!(letter["outboxId"], sent["outboxId"]);
    assert_eq!(letter["tenantId"], Value::from(hands.id.as_str()));
    assert_eq!(
        (&letter["to"], &letter["subject"]),
        (&json!("joao@example.com"), &email["subject"])
    );
    let path = format!("/v1/dev/emails/{}", sent["outboxId"].as_str().unwrap());
    let whole = operator.get(&path).await.is(200).json();
    let raw = whole["raw"].as_str().unwrap();
    assert!(raw.contains("Subject: A fatura\r\n") && raw.contains("Good morning"), "{raw}");
    assert_eq!(whole["size"], raw.len());
    // Addresses are not masked there, so only the operator may see them.
    hands.client.get(&path).await.refused(403, "operator_only");
    operator.get("/v1/dev/emails/out_01HZZZZZZZZZZZZZZZZZZZZZZZ").await.refused(404, "not_found");

    let erasure = json!({"outbox_id": sent["outboxId"]});
    eventually(|| async {
        (hands.client.post("/v1/erasures", &erasure).await.status == 200).then_some(())
    })
    .await;
    operator.get(&path).await.refused(404, "not_found");
    let another = hands.client.post("/v1/email/send", &email).await.is(201).json();
    let path = format!("/v1/dev/emails/{}", another["outboxId"].as_str().unwrap());
    eventually(|| async { (operator.get(&path).await.status == 200).then_some(()) }).await;
    operator.delete("/v1/tenants/m2").await.is(202);
    operator.get(&path).await.refused(404, "not_found");
}

#[tokio::test]
async fn a_gateway_that_sends_catches_nothing() {
    let server = "smtp://127.0.0.1:9?tls=none".parse().unwrap();
    let post = Arc::new(SmtpTransport::new(SmtpSettings::new(server)).unwrap());
    let stage = Stage::with(Choices { transport: Some(post), ..Choices::default() }).await;
    stage.operator().get("/v1/dev/emails").await.refused(404, "no_route");
    let one = "/v1/dev/emails/out_01HZZZZZZZZZZZZZZZZZZZZZZZ";
    stage.operator().get(one).await.refused(404, "no_route");
}
