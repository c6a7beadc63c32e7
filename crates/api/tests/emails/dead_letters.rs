//! An e-mail from its submission to its dead letter and back, over the real API, with a real mail server and
//! a real webhook.

use std::sync::{Arc, OnceLock};

use gancho_mail::{SmtpTransport, Transport, smtp::SmtpSettings};
use gancho_testkit::{python::PythonServer, receiver::Request};
use serde_json::{Value, json};

use crate::stage::{Choices, Stage, eventually, receiver};

use super::submit::{email, send, until};

/// Returns a mail server that behaves as an address says.
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

/// Attempt → 421 → backoff → … → attempt 5 → dead letter with its reason. Each change is reported by webhook,
/// numbered, with its recipient masked. Then the cause is fixed, and the dead letter is replayed by hand.
#[tokio::test(flavor = "multi_thread")]
async fn from_submission_to_the_dead_letter_queue_and_back() {
    let stage = Stage::with(Choices { transport: Some(mail_server()), ..Choices::default() }).await;
    let hands = stage.tenant("m2").await;
    let (receiver, url) = receiver(200).await;
    let webhook = json!({"url": url, "events": ["email.*"], "profile": "email-gateway", "secret": "whsec_a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6"});
    hands.webhook_with(webhook).await;
    // Refused five times, and accepted the sixth.
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
