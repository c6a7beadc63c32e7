//! E-mails that reach the server.

use data_encoding::BASE64;
use gancho_mail::{AttachmentDraft, EmailDraft, EmailStatus, SmtpTransport};
use gancho_testkit::wait_for;
use serde_json::json;

use crate::{
    mail_server::{address, mail_server},
    stage::{Stage, StoreKind, draft},
};

on_both! { an_email_is_sent_and_reported_by_webhook over_many_connections }

async fn an_email_is_sent_and_reported_by_webhook(on: StoreKind) {
    let server = mail_server();
    let stage = Stage::new(on, server.plain()).await;
    let receiver = stage.receiver().await;
    let to = address("joao");
    let id = stage.submit(draft(&format!("João <{to}>"))).await;
    let view = stage.until(id, EmailStatus::Sent).await;
    let message_id = format!("{id}@example.com");
    assert_eq!(view.message_id.as_deref(), Some(message_id.as_str()));
    assert_eq!((view.row.attempts, view.attempts[0].response_status), (1, Some(250)));

    server.first_mail(&to).await;
    let mails = server.mails(&to);
    assert_eq!(mails.len(), 1);
    assert_eq!((mails[0].sender.as_str(), mails[0].recipients.len()), ("shop@example.com", 1));
    assert_eq!(mails[0].header("Message-ID"), Some(format!("<{message_id}>")));

    let request = wait_for("a webhook", || async { receiver.requests().into_iter().next() }).await;
    let text = request.text();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("x-signature: sha256="), "{head}");
    let told: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!((&told["eventType"], &told["sequenceNumber"]), (&json!("email.sent"), &json!(1)));
    let data = &told["data"];
    assert_eq!(data["outboxId"], id.to_string());
    assert_eq!(data["companyId"], "m2");
    assert_eq!(data["recipient"], "j***@e***le.com");
    assert_eq!(data["status"], "SENT");
    assert_eq!(data["messageId"], message_id);
    assert_eq!(data["attempts"], 1);
    let fields: Vec<_> = data.as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected = [
        "outboxId",
        "externalId",
        "companyId",
        "recipient",
        "status",
        "messageId",
        "sentAt",
        "attempts",
        "processingTimeMs",
    ];
    expected.sort_unstable();
    let mut fields = fields;
    fields.sort_unstable();
    assert_eq!(fields, expected);
}

/// One connection carries message after message, even if one was refused in between.
async fn over_many_connections(on: StoreKind) {
    let server = mail_server();
    for kind in ["plain", "slow"] {
        let transport = SmtpTransport::new(server.settings("smtp://", kind, "?tls=none")).unwrap();
        let stage = Stage::new(on, transport).await;
        let mut sessions = Vec::new();
        for script in ["a", "b", "rcpt-550", "c", "data-554", "d", "bye", "e"] {
            let to = address(script);
            let id = stage.submit(draft(&to)).await;
            if script.len() > 1 {
                let status =
                    if script == "bye" { EmailStatus::RetryScheduled } else { EmailStatus::Failed };
                stage.until(id, status).await;
                continue;
            }
            stage.until(id, EmailStatus::Sent).await;
            sessions.push(server.first_mail(&to).await.session);
        }
        let first = sessions[0];
        assert_eq!(sessions[..4], [first; 4], "{kind}: one connection serves them all");
        assert_ne!(sessions[4], first, "{kind}: one that was closed is not used again");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_all_that_an_email_may_have() {
    let server = mail_server();
    let stage = Stage::new(StoreKind::Sqlite, server.plain()).await;
    let to = address("ana");
    let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let file = |name: &str, content_id: Option<&str>| AttachmentDraft {
        filename: name.into(),
        content_type: Some("application/pdf".into()),
        content: BASE64.encode(&bytes),
        content_id: content_id.map(Into::into),
    };
    let whole = EmailDraft {
        html: Some("<p>Olá <img src=\"cid:logo\"></p>".into()),
        reply_to: Some("Ajuda <help@example.com>".into()),
        headers: vec![("List-Unsubscribe".into(), "<https://example.com/u>".into())],
        attachments: vec![file("fatura nº 1.pdf", None), file("logo.png", Some("logo"))],
        ..draft(&to)
    };
    let id = stage.submit(whole).await;
    stage.until(id, EmailStatus::Sent).await;
    let mail = &server.first_mail(&to).await;
    assert_eq!(mail.header("Reply-To").as_deref(), Some("Ajuda <help@example.com>"));
    assert_eq!(mail.header("List-Unsubscribe").as_deref(), Some("<https://example.com/u>"));
    let sent: String = mail.content.split_whitespace().collect();
    assert_eq!(sent.matches(&BASE64.encode(&bytes)).count(), 2, "both files came as they were");
}
