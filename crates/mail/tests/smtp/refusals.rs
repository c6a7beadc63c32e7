//! Permanent and temporary refusals of the server.

use gancho_mail::{EmailStatus, SmtpTransport};
use gancho_testkit::wait_for;

use crate::{
    mail_server::{address, mail_server},
    stage::{Stage, StoreKind, draft},
};

on_both! { by_code_and_by_place nobody_there }

async fn by_code_and_by_place(on: StoreKind) {
    let stage = Stage::new(on, mail_server().plain()).await;
    for (script, code, error) in [
        ("rcpt-500", "INTERNAL_ERROR", "500"),
        ("rcpt-550", "INVALID_RECIPIENT", "550"),
        ("rcpt-550-5_1_1", "INVALID_RECIPIENT", "550"),
        ("rcpt-550-5_2_1", "BOUNCE_PERMANENT", "550"),
        ("rcpt-554-5_7_1", "SES_ERROR", "554"),
        ("data-552-5_3_4", "INVALID_CONTENT", "552"),
        ("data-554", "INVALID_CONTENT", "554"),
        ("data-554-5_7_1", "INVALID_CONTENT", "554"),
    ] {
        let id = stage.submit(draft(&address(script))).await;
        let view = stage.until(id, EmailStatus::Failed).await;
        assert_eq!(view.row.attempts, 1, "{script}: it is not tried again");
        assert_eq!(view.row.failure_code.unwrap().name(), code, "{script}");
        assert_eq!(view.ses_error.as_deref(), Some(error), "{script}");
        let told = stage.told(id).await;
        assert_eq!(told.len(), 1, "{script}");
        assert_eq!((told[0].0, told[0].1.as_str()), (1, "email.failed"), "{script}");
        assert_eq!(told[0].2["failureCode"], code, "{script}");
        assert_eq!(told[0].2["sesError"], error, "{script}");
        assert!(!told[0].2.to_string().contains(script), "the recipient is masked: {}", told[0].2);
    }
    for (script, code) in [
        ("rcpt-421", "SES_ERROR"),
        ("rcpt-450", "BOUNCE_TEMPORARY"),
        ("rcpt-451", "SES_ERROR"),
        ("rcpt-452-4_2_2", "BOUNCE_TEMPORARY"),
        ("data-451", "SES_ERROR"),
        ("dropdata", "SES_ERROR"),
    ] {
        let id = stage.submit(draft(&address(script))).await;
        let view = stage.until(id, EmailStatus::RetryScheduled).await;
        assert_eq!(view.row.failure_code.unwrap().name(), code, "{script}");
    }
}

async fn nobody_there(on: StoreKind) {
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let mut settings = mail_server().settings("smtp://", "plain", "?tls=none");
    settings.server.port = port;
    let stage = Stage::new(on, SmtpTransport::new(settings).unwrap()).await;
    let id = stage.submit(draft("ana@example.com")).await;
    let view = stage.until(id, EmailStatus::RetryScheduled).await;
    let reason = view.row.failure_reason.unwrap();
    assert!(reason.starts_with("cannot connect to the mail server"), "{reason}");
    let told = || async { stage.told(id).await.into_iter().next() };
    let (number, event_type, _) = wait_for("an event", told).await;
    assert_eq!((number, event_type.as_str()), (1, "email.retry_scheduled"));
}
