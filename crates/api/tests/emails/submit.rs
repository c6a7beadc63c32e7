//! E-mails as a tenant submits and finds them.

use serde_json::{Value, json};

use crate::{
    http::Reply,
    stage::{Hands, Stage, eventually},
};

pub fn email(to: &str) -> Value {
    json!({
        "from": "Loja <shop@example.com>",
        "to": to,
        "subject": "A fatura",
        "html": "<p>Olá</p>",
        "text": "Olá",
        "externalId": "BOL-M2-2025-00123",
    })
}

pub async fn send(hands: &Hands, email: &Value) -> String {
    let reply = hands.client.post("/v1/email/send", email).await.is(201).json();
    assert_eq!(reply.as_object().unwrap().len(), 1, "{reply}");
    reply["outboxId"].as_str().unwrap().to_owned()
}

/// Waits until the e-mail has this status.
pub async fn until(hands: &Hands, id: &str, status: &str) -> Value {
    eventually(|| async {
        let shown = hands.client.get(&format!("/v1/emails/{id}")).await.is(200).json();
        (shown["status"] == status).then_some(shown)
    })
    .await
}

async fn flow(stage: &Stage) {
    let hands = stage.tenant("m2").await;
    let id = send(&hands, &email("joao@example.com")).await;
    assert!(id.starts_with("out_"), "{id}");
    let shown = until(&hands, &id, "SENT").await;
    for (name, value) in [
        ("outboxId", json!(id)),
        ("externalId", json!("BOL-M2-2025-00123")),
        ("companyId", json!("m2")),
        ("recipient", json!("j***@e***le.com")),
        ("messageId", json!(format!("{id}@example.com"))),
        ("attempts", json!(1)),
        ("failureCode", json!(null)),
        ("failureReason", json!(null)),
    ] {
        assert_eq!(shown[name], value, "{name}");
    }
    assert!(shown["sentAt"].as_str().unwrap() >= shown["createdAt"].as_str().unwrap());
    assert!(!shown.to_string().contains("joao@"), "{shown}");

    let other = send(
        &hands,
        &json!({"from": "a@example.com", "to": "b@example.com", "subject": "", "text": ""}),
    )
    .await;
    until(&hands, &other, "SENT").await;
    let list = |query: &str| {
        let path = format!("/v1/emails{query}");
        let client = hands.client.clone();
        async move { client.get(&path).await.is(200) }
    };
    let ids = |reply: &Reply| -> Vec<String> {
        let rows = reply.json()["data"].as_array().unwrap().clone();
        rows.iter().map(|row| row["outboxId"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&list("").await), [other.clone(), id.clone()]);
    assert_eq!(ids(&list("?externalId=BOL-M2-2025-00123").await), std::slice::from_ref(&id));
    assert_eq!(ids(&list("?status=FAILED").await), [""; 0]);
    // By the whole address of the recipient, which is masked in the response. A sender or a text does not
    // match.
    let to_joao = list("?recipient=Joao@Example.com").await;
    assert_eq!(ids(&to_joao), std::slice::from_ref(&id));
    assert!(!to_joao.text().to_lowercase().contains("joao@"), "{}", to_joao.text());
    for nobody in ["a@example.com", "shop@example.com", "oao@example.com", "joao@example.co"] {
        assert_eq!(ids(&list(&format!("?recipient={nobody}")).await), [""; 0], "{nobody}");
    }
    let of_all = stage.operator().get("/v1/emails?recipient=joao@example.com").await.is(200);
    assert_eq!(ids(&of_all), std::slice::from_ref(&id));
    let wrong = hands.client.get("/v1/emails?recipient=nobody").await;
    assert!(wrong.is(422).text().contains("`recipient` is not a valid e-mail address"));
    let first = list("?limit=1").await;
    let cursor = first.json()["next_cursor"].as_str().unwrap().to_owned();
    assert_eq!(ids(&list(&format!("?limit=1&cursor={cursor}")).await), [id]);

    // They are not webhooks, and are listed among the deliveries only on request.
    let deliveries = |query: &str| {
        let (client, path) = (hands.client.clone(), format!("/v1/deliveries{query}"));
        async move { client.get(&path).await.is(200).json()["data"].as_array().unwrap().clone() }
    };
    for query in ["", "?lane=webhook", "?lane=dispatch", "?status=delivered"] {
        assert_eq!(deliveries(query).await, [json!(null); 0], "{query}");
    }
    let sent = deliveries("?lane=email&status=delivered").await;
    assert_eq!(sent.iter().map(|row| &row["lane"]).collect::<Vec<_>>(), ["email", "email"]);
    hands.client.get("/v1/deliveries?lane=mail").await.refused(422, "invalid_field");
}

#[tokio::test(flavor = "multi_thread")]
async fn sent_shown_and_found() {
    flow(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_too() {
    flow(&Stage::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_used_once() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let mut keyed = email("ana@example.com");
    keyed["idempotencyKey"] = json!("k");
    let first = send(&hands, &keyed).await;
    let again = hands.client.post("/v1/email/send", &keyed).await.is(201);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.json()["outboxId"], first);
    keyed["subject"] = json!("another");
    hands.client.post("/v1/email/send", &keyed).await.refused(422, "idempotency_mismatch");
    keyed["subject"] = json!("A fatura");
    keyed.as_object_mut().unwrap().remove("idempotencyKey");
    let by_header = hands.client.with("idempotency-key", "k").post("/v1/email/send", &keyed).await;
    assert_eq!(by_header.is(201).json()["outboxId"], first);
    keyed["idempotencyKey"] = json!("j");
    let both = hands.client.with("idempotency-key", "k").post("/v1/email/send", &keyed).await;
    assert_eq!(both.refused(422, "invalid_field").pointers(), ["/idempotencyKey"]);
    keyed["attachments"] = json!([{"filename": "a.pdf"}]);
    let more = hands.client.with("idempotency-key", "k").post("/v1/email/send", &keyed).await;
    let pointers = ["/idempotencyKey", "/attachments/0/content"];
    assert_eq!(more.refused(422, "invalid_field").pointers(), pointers);
    keyed.as_object_mut().unwrap().remove("attachments");
    // An event under the same key is separate.
    let event = json!({"type": "a.b", "data": {}, "idempotency_key": "k"});
    hands.client.post("/v1/events", &event).await.is(202);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_reported_all_at_once() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let mut odd = email("ana@example.com, eve@example.com");
    odd["from"] = json!("nobody");
    odd["replyTo"] = json!("x@");
    odd["headers"] = json!({"Bcc": "eve@example.com", "X-A": "a\r\nBcc: eve@example.com"});
    odd["attachments"] = json!([{"filename": "a", "content": "!"}]);
    let reply = hands.client.post("/v1/email/send", &odd).await.refused(422, "invalid_field");
    assert_eq!(
        reply.pointers(),
        ["/from", "/to", "/replyTo", "/headers/Bcc", "/headers/X-A", "/attachments/0/content"]
    );
    let mut empty = email("ana@example.com");
    for name in ["html", "text"] {
        empty.as_object_mut().unwrap().remove(name);
    }
    let reply = hands.client.post("/v1/email/send", &empty).await.refused(422, "missing_field");
    assert_eq!(reply.pointers(), ["/text"]);
    let mut unknown = email("ana@example.com");
    unknown["attachments"] = json!([{"filename": "a", "content": "", "mimeType": "a/b"}]);
    let reply = hands.client.post("/v1/email/send", &unknown).await.refused(422, "unknown_field");
    assert_eq!(reply.pointers(), ["/attachments/0/mimeType"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_mebibytes_of_files() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let file = |bytes: usize| {
        // Three bytes are four characters.
        assert_eq!(bytes % 3, 0);
        json!({"filename": "a.bin", "content": "QUJD".repeat(bytes / 3)})
    };
    let most = 10 * 1024 * 1024 / 3 * 3;
    let mut large = email("ana@example.com");
    large["attachments"] = json!([file(most)]);
    let id = send(&hands, &large).await;
    until(&hands, &id, "SENT").await;
    large["attachments"] = json!([file(most), file(3)]);
    let reply = hands.client.post("/v1/email/send", &large).await.refused(422, "invalid_field");
    assert_eq!(reply.pointers(), ["/attachments"]);
    large["attachments"] = json!([file(most), file(most)]);
    hands.client.post("/v1/email/send", &large).await.refused(413, "too_large");
}
