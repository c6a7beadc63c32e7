//! E-mails and suppressed addresses, as a tenant works with them; and the flow of seed 004's diagram
//! over the real API, a real mail server and a real webhook.

use std::sync::{Arc, OnceLock};

use gancho_mail::{SmtpTransport, Transport, smtp::SmtpSettings};
use gancho_testkit::{python::PythonServer, receiver::Request};
use serde_json::{Value, json};

use crate::{
    http::Reply,
    stage::{Choices, Hands, Stage, eventually, receiver},
};

fn email(to: &str) -> Value {
    json!({
        "from": "Loja <shop@example.com>",
        "to": to,
        "subject": "A fatura",
        "html": "<p>Olá</p>",
        "text": "Olá",
        "externalId": "BOL-M2-2025-00123",
    })
}

async fn send(hands: &Hands, email: &Value) -> String {
    let reply = hands.client.post("/v1/email/send", email).await.is(201).json();
    assert_eq!(reply.as_object().unwrap().len(), 1, "{reply}");
    reply["outboxId"].as_str().unwrap().to_owned()
}

/// The e-mail, once it has this status.
async fn until(hands: &Hands, id: &str, status: &str) -> Value {
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
    let first = list("?limit=1").await;
    let cursor = first.json()["next_cursor"].as_str().unwrap().to_owned();
    assert_eq!(ids(&list(&format!("?limit=1&cursor={cursor}")).await), [id]);

    // They are no webhooks, and are among the deliveries only where they are asked for.
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
    // An event under the same key is another thing.
    let event = json!({"type": "a.b", "data": {}, "idempotency_key": "k"});
    hands.client.post("/v1/events", &event).await.is(202);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_told_all_at_once() {
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
        // Three bytes are four letters.
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

/// The mail server that does as an address says.
fn mail_server() -> Arc<dyn Transport> {
    static PORT: OnceLock<(PythonServer, u64)> = OnceLock::new();
    let (_, port) = PORT.get_or_init(|| {
        let server = PythonServer::start("crates/mail/tests/servers/smtp.py", &[]).unwrap();
        let ports: Value = serde_json::from_str(&server.first().unwrap()).unwrap();
        let port = ports["plain"].as_u64().unwrap();
        (server, port)
    });
    let server = format!("smtp://127.0.0.1:{port}?tls=none").parse().unwrap();
    Arc::new(SmtpTransport::new(SmtpSettings::new(server)).unwrap())
}

/// Seed 004: attempt → 421 → backoff → … → attempt 5 → dead letter with its reason; and seed 000: each
/// change is told by webhook, numbered, with its recipient masked. Then the cause is mended, and the
/// dead letter is replayed by hand.
#[tokio::test(flavor = "multi_thread")]
async fn from_submission_to_the_dead_letter_queue_and_back() {
    let stage = Stage::with(Choices { transport: Some(mail_server()), ..Choices::default() }).await;
    let hands = stage.tenant("m2").await;
    let (receiver, url) = receiver(200).await;
    let webhook = json!({"url": url, "events": ["email.*"], "profile": "email-gateway", "secret": "whsec_a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6"});
    hands.webhook_with(webhook).await;
    // Refused five times, and taken the sixth.
    let id = send(&hands, &email("flaky-421-5@example.com")).await;
    let shown = until(&hands, &id, "FAILED").await;
    assert_eq!((&shown["attempts"], &shown["sesError"]), (&json!(5), &json!("421")));
    assert_eq!(shown["attemptLog"].as_array().unwrap().len(), 5);

    let letters = hands.client.get("/v1/dlq?lane=email").await.is(200).json();
    let letter = &letters["data"][0];
    assert_eq!(letter["lane"], "email");
    assert_eq!(letter["failed_attempts"], 5);
    assert_eq!(letter["last_failure_reason"], "SMTP 421: told to refuse");
    assert_eq!(letter["last_failure_code"], "SES_ERROR");
    assert_eq!(letter["last_provider_code"], "421");
    assert_eq!(letter["original_data"]["subject"], "A fatura");
    let letter_id = letter["id"].as_str().unwrap();

    hands.client.post(&format!("/v1/dlq/{letter_id}/replay"), &json!({})).await.is(202);
    let shown = until(&hands, &id, "SENT").await;
    assert_eq!(shown["attempts"], 6);
    let letters = hands.client.get("/v1/dlq?lane=email").await.is(200).json();
    assert_eq!(letters["data"], json!([]), "a successful replay removes the entry");

    let told = eventually(|| async {
        let requests = receiver.requests();
        (requests.len() == 6).then(|| requests.iter().map(Request::text).collect::<Vec<_>>())
    });
    let mut told: Vec<Value> = told
        .await
        .iter()
        .map(|text| serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap())
        .collect();
    told.sort_by_key(|one| one["sequenceNumber"].as_u64());
    let numbers: Vec<_> = told.iter().map(|one| one["sequenceNumber"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
    let kinds: Vec<_> = told.iter().map(|one| one["eventType"].as_str().unwrap()).collect();
    let again = "email.retry_scheduled";
    assert_eq!(kinds, [again, again, again, again, "email.failed", "email.sent"]);
    for one in &told {
        assert_eq!(one["data"]["outboxId"], id);
        assert_eq!(one["data"]["recipient"], "f***@e***le.com");
    }
    assert_eq!(told[4]["data"]["failureCode"], "SES_ERROR");
    assert_eq!(told[5]["data"]["messageId"], format!("{id}@example.com"));
}

/// faults.md B5: among deliveries and dead letters an e-mail is shown as what it is, and its recipient to
/// nobody.
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
