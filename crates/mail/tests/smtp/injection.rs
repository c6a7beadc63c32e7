//! Whatever an e-mail contains, the server reads one envelope and one message.

use gancho_mail::{EmailDraft, EmailStatus, SmtpTransport, Transport};

use crate::{
    mail_server::{address, mail_server},
    stage::{Setup, Stage, StoreKind, draft},
};

/// Everything that was ever used to end a message or a line early.
const SMUGGLED: &str = "a\r\n.\r\nMAIL FROM:<eve@example.com>\r\nRCPT TO:<eve@example.com>\r\nDATA\r\n\
     b\n.\nc\n.\r\nd\r\n.\ne\r.\rf\r\r\n.\r\r\ng\r\n..\r\n.\r\n\r\n.\r\nQUIT\r\n.";

/// The transcript, byte by byte: the commands are the gateway's, and between DATA and the only end is the
/// message, without a line that could be taken for another end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_transcript_holds_one_letter() {
    let server = mail_server();
    for (kind, is_pipelined) in [("plain", true), ("slow", false)] {
        let settings = server.settings("smtp://", kind, "?tls=none");
        let transport = std::sync::Arc::new(SmtpTransport::new(settings).unwrap());
        let stage = Stage::with(StoreKind::Sqlite, transport.clone(), Setup::default()).await;
        let to = address("ana");
        let invalid = EmailDraft {
            from: Some("\"Eve\\\" <eve@example.com>, .\" <shop@example.com>".into()),
            subject: Some(". =?utf-8?q?=0D=0ABcc:_eve@example.com?= \u{2028} ção".into()),
            text: Some(SMUGGLED.into()),
            html: Some(SMUGGLED.into()),
            headers: vec![("X-Odd".into(), ".; RCPT TO:<eve@example.com>".into())],
            ..draft(&to)
        };
        let id = stage.submit(invalid).await;
        stage.until(id, EmailStatus::Sent).await;
        let mail = server.first_mail(&to).await;
        transport.close().await;
        let transcript = server.heard(mail.session).await;

        let (commands, rest) = transcript.split_once("DATA\r\n").unwrap();
        let size = mail.content.len();
        let envelope = format!(
            "EHLO gancho.localdomain\r\nMAIL FROM:<shop@example.com> SIZE={size}\r\nRCPT TO:<{to}>\r\n"
        );
        assert_eq!(commands, envelope, "pipelined: {is_pipelined}");
        let letter = rest.strip_suffix("\r\n.\r\nQUIT\r\n").expect("it ends once, at its end");
        assert_eq!(letter.replace("\r\n", "").matches(['\r', '\n']).count(), 0, "no bare CR or LF");
        assert!(letter.is_ascii() && !letter.contains('\0'));
        assert!(letter.split("\r\n").all(|line| line != "." && line.len() <= 998), "{letter}");
        let head = letter.split("\r\n\r\n").next().unwrap();
        for name in ["From: ", "To: ", "Subject: ", "X-Odd: ", "Message-ID: ", "Date: "] {
            let lines = head.split("\r\n").filter(|line| line.starts_with(name)).count();
            assert_eq!(lines, 1, "{name} {head}");
        }
        assert!(!head.to_ascii_lowercase().contains("\r\nbcc:"), "{head}");
        assert_eq!(mail.recipients, std::slice::from_ref(&to));
        assert_eq!(
            server.told("mail").iter().filter(|mail| mail["sender"] == "eve@example.com").count(),
            0
        );
    }
}

/// Text that could break a line is refused before that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_breaks_lines_is_refused() {
    let stage = Stage::new(StoreKind::Sqlite, mail_server().plain()).await;
    let break_in = |text: &str| format!("{text}\r\nBcc: eve@example.com");
    let cases = [
        ("/from", EmailDraft { from: Some(break_in("shop@example.com")), ..draft("a@b.co") }),
        ("/from", EmailDraft { from: Some(break_in("A <shop@example.com>")), ..draft("a@b.co") }),
        ("/to", draft(&break_in("ana@example.com"))),
        ("/to", draft("\"a\r\nRCPT TO:<eve@example.com>\"@example.com")),
        ("/to", draft("ana@example.com, eve@example.com")),
        ("/to", draft(&vec!["ana@example.com"; 10_000].join(","))),
        ("/replyTo", EmailDraft { reply_to: Some(break_in("a@b.co")), ..draft("a@b.co") }),
        ("/subject", EmailDraft { subject: Some(break_in("Hello")), ..draft("a@b.co") }),
        ("/subject", EmailDraft { subject: Some("a\0b".into()), ..draft("a@b.co") }),
        ("/subject", EmailDraft { subject: Some("a".repeat(1_000)), ..draft("a@b.co") }),
        (
            "/headers/X-A",
            EmailDraft { headers: vec![("X-A".into(), break_in("a"))], ..draft("a@b.co") },
        ),
    ];
    for (pointer, invalid) in cases {
        match stage.outbox.submit(stage.scope, &stage.tenant, invalid).await {
            Err(gancho_mail::SubmitError::Faulty(errors)) => {
                assert_eq!(errors.len(), 1, "{errors:?}");
                assert_eq!(errors[0].pointer, pointer);
                assert!(!errors[0].message.contains(['\r', '\n', '\0']), "{}", errors[0]);
            }
            other => panic!("{pointer}: {other:?}"),
        }
    }
}
