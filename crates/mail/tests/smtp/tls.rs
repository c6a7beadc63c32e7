//! TLS and passwords: what is sent to a server, and what is not.

use gancho_mail::{EmailStatus, EmailView, SmtpTransport, smtp::SmtpSettings};
use gancho_testkit::wait_for;

use crate::{
    mail_server::{Mail, address, decoded, mail_server},
    stage::{Stage, StoreKind, draft},
};

async fn sent(settings: SmtpSettings) -> Mail {
    let stage = Stage::new(StoreKind::Sqlite, SmtpTransport::new(settings).unwrap()).await;
    let to = address("ana");
    let id = stage.submit(draft(&to)).await;
    stage.until(id, EmailStatus::Sent).await;
    mail_server().first_mail(&to).await
}

async fn refused(settings: SmtpSettings, status: EmailStatus) -> EmailView {
    let stage = Stage::new(StoreKind::Sqlite, SmtpTransport::new(settings).unwrap()).await;
    let to = address("ana");
    let id = stage.submit(draft(&to)).await;
    let view = stage.until(id, status).await;
    assert!(mail_server().mails(&to).is_empty(), "nothing was sent");
    view
}

fn reason(view: &EmailView) -> &str {
    view.row.failure_reason.as_deref().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secured_and_known() {
    let server = mail_server();
    let user = "smtp://user:pass%3Aword@";
    for settings in [
        server.settings(user, "starttls", ""),
        server.settings(user, "starttls", "?tls=required"),
        server.settings(user, "starttls", "?tls=opportunistic"),
    ] {
        let mail = sent(settings).await;
        assert!(mail.is_secure);
        assert_eq!(mail.login.as_deref(), Some("user"));
    }
    let mail = sent(server.settings("smtps://user:pass%3Aword@", "wrapped", "")).await;
    assert_eq!(mail.login.as_deref(), Some("user"));
    let mail = sent(server.settings("smtp://", "plain", "?tls=opportunistic")).await;
    assert!(!mail.is_secure, "where it is allowed, and nothing better is offered");
}

/// The offer of TLS was removed on the path: nothing more is sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_offer_of_tls_nothing_is_sent() {
    let server = mail_server();
    for settings in [
        server.settings("smtp://", "plain", ""),
        server.settings("smtp://user:pass%3Aword@", "plain", "?tls=opportunistic"),
    ] {
        let view = refused(settings, EmailStatus::RetryScheduled).await;
        assert!(reason(&view).contains("does not offer STARTTLS"), "{}", reason(&view));
    }
    let only_hello = |value: &serde_json::Value| {
        value["server"] == "plain" && decoded(&value["heard"]) == "EHLO gancho.localdomain\r\n"
    };
    let twice = || async {
        (server.told("closed").iter().filter(|it| only_hello(it)).count() >= 2).then_some(())
    };
    wait_for("two that heard nothing but a hello", twice).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_of_a_stranger_is_not_trusted() {
    let server = mail_server();
    for (scheme, kind) in [("smtp://", "starttls"), ("smtps://", "wrapped")] {
        let mut settings = server.settings(scheme, kind, "");
        settings.extra_roots.clear();
        let view = refused(settings, EmailStatus::RetryScheduled).await;
        assert!(reason(&view).contains("could not establish TLS"), "{}", reason(&view));
        // This machine, by a name that is not in the certificate.
        let mut settings = server.settings(scheme, kind, "");
        settings.server.host = "localhost".into();
        let view = refused(settings, EmailStatus::RetryScheduled).await;
        assert!(reason(&view).contains("could not establish TLS"), "{}", reason(&view));
    }
}

/// Plain text that arrives with the reply to STARTTLS would be read as if it were encrypted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn words_that_were_slipped_in_before_tls() {
    let settings = mail_server().settings("smtp://", "inject", "");
    let view = refused(settings, EmailStatus::RetryScheduled).await;
    assert!(reason(&view).contains("sent data before the TLS handshake"), "{}", reason(&view));
}

/// It says nothing about the message, which is retried: the operator may correct the password meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_password() {
    let settings = mail_server().settings("smtp://user:wrong@", "starttls", "");
    let view = refused(settings.clone(), EmailStatus::RetryScheduled).await;
    assert_eq!(view.row.failure_code.unwrap().name(), "INTERNAL_ERROR");
    assert!(reason(&view).starts_with("SMTP 535: "), "{}", reason(&view));
    assert!(!reason(&view).contains("wrong"), "{}", reason(&view));
    let view = refused(settings, EmailStatus::Failed).await;
    assert_eq!(view.row.attempts, 5);
}
