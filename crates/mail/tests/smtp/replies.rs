//! Unexpected replies of mail servers: the client sends nothing that could be misread, and does not use the
//! connection again.

use gancho_mail::{EmailStatus, FailureCode, SmtpTransport};

use crate::{
    mail_server::{address, mail_server},
    stage::{Stage, StoreKind, draft},
};

/// 250 to DATA: the server would read the lines of the message as commands. A 354 in other places means that
/// nothing was accepted either.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_answer_than_the_one_that_is_due() {
    let server = mail_server();
    // A server with pipelining, and one without.
    for kind in ["plain", "slow"] {
        for (script, answer, due) in [
            ("swap-354-250", "250", "354"),
            ("swap-354-220", "220", "354"),
            ("rcpt-354", "354", "250, 251, 252"),
            ("rcpt-220", "220", "250, 251, 252"),
            ("data-354", "354", "250, 251, 252"),
            ("data-334", "334", "250, 251, 252"),
        ] {
            let settings = server.settings("smtp://", kind, "?tls=none");
            let stage = Stage::new(StoreKind::Sqlite, SmtpTransport::new(settings).unwrap()).await;
            let (before, invalid, after) = (address("ana"), address(script), address("ana"));
            let first = stage.submit(draft(&before)).await;
            stage.until(first, EmailStatus::Sent).await;
            let id = stage.submit(draft(&invalid)).await;
            let view = stage.until(id, EmailStatus::RetryScheduled).await;
            let reason = view.row.failure_reason.unwrap();
            assert!(
                reason.contains(&format!("replied {answer} where {due} is expected")),
                "{kind} {script}: {reason}"
            );
            assert_eq!(view.row.failure_code, Some(FailureCode::SesError));
            let next = stage.submit(draft(&after)).await;
            stage.until(next, EmailStatus::Sent).await;
            let session = server.first_mail(&before).await.session;
            assert_ne!(server.first_mail(&after).await.session, session, "{kind} {script}");
            let heard = server.heard(session).await;
            let letters = heard.matches("Subject:").count();
            let was_sent = script.starts_with("data");
            assert_eq!(letters, 1 + usize::from(was_sent), "{kind} {script}: {heard}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_that_is_not_over() {
    let server = mail_server();
    let settings = server.settings("smtp://odd:pass@", "plain", "?tls=none");
    let stage = Stage::new(StoreKind::Sqlite, SmtpTransport::new(settings).unwrap()).await;
    let to = address("ana");
    let id = stage.submit(draft(&to)).await;
    let view = stage.until(id, EmailStatus::RetryScheduled).await;
    let reason = view.row.failure_reason.unwrap();
    assert!(reason.contains("replied 334 where 235 is expected"), "{reason}");
    assert!(server.mails(&to).is_empty());
}

/// The server replies to the content with 421. This counts as the reply to this message: it is not sent on
/// every other connection at once, but retried when it is due.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn goodbye_in_answer_to_the_content_on_a_kept_connection() {
    let server = mail_server();
    for kind in ["plain", "slow"] {
        let settings = server.settings("smtp://", kind, "?tls=none");
        let stage = Stage::new(StoreKind::Sqlite, SmtpTransport::new(settings).unwrap()).await;
        let (before, to) = (address("ana"), address("dataonce-421-4_3_2"));
        let first = stage.submit(draft(&before)).await;
        stage.until(first, EmailStatus::Sent).await;
        let id = stage.submit(draft(&to)).await;
        let view = stage.until(id, EmailStatus::Sent).await;
        assert_eq!(view.row.attempts, 2, "{kind}");
        let mails = server.first_mails(&to, 2).await;
        assert_eq!(mails.len(), 2, "{kind}");
        assert_eq!(
            mails[0].session,
            server.first_mail(&before).await.session,
            "the kept connection"
        );
        assert_ne!(mails[0].session, mails[1].session, "which is not used again");
        assert_eq!(mails[0].content, mails[1].content);
        assert_eq!(mails[1].header("Message-ID"), Some(format!("<{id}@example.com>")));
    }
}
