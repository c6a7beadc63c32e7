//! Bounces and complaints that SES reports after the letter was taken.

use std::sync::Arc;

use gancho_domain::{EmailId, SystemClock, TenantId, TenantScope};
use gancho_mail::{
    EmailStatus, FailureCode, Sink,
    feedback::{Taken, parse},
};
use serde_json::json;

use crate::stage::{On, Setup, Stage, draft, wait_for};

on_both! { a_bounce_is_told_once_and_the_address_suppressed of_another_tenant }

fn bounce(id: EmailId, tenant: Option<TenantId>, kind: &str, report: &str) -> Vec<u8> {
    let mut tags = json!({ "outboxId": [id.to_string()] });
    if let Some(tenant) = tenant {
        tags["tenantId"] = json!([tenant.to_string()]);
    }
    let notification = json!({
        "eventType": "Bounce",
        "bounce": {
            "bounceType": kind,
            "bounceSubType": "General",
            "bouncedRecipients": [{
                "emailAddress": "Ana@example.com",
                "diagnosticCode": "smtp; 550 5.1.1 <ana@example.com>: unknown",
            }],
            "feedbackId": report,
        },
        "mail": { "tags": tags },
    });
    json!({ "Type": "Notification", "Message": notification.to_string() }).to_string().into()
}

async fn a_bounce_is_told_once_and_the_address_suppressed(on: On) {
    let sink = Arc::new(Sink::new(Arc::new(SystemClock), 10));
    let stage = Stage::with(on, sink.clone(), Setup::default()).await;
    let receiver = stage.receiver().await;
    let id = stage.submit(draft("ana@example.com")).await;
    stage.until(id, EmailStatus::Sent).await;

    let soft = parse(&bounce(id, None, "Transient", "one")).unwrap();
    assert_eq!(stage.feedback.take(Some(stage.scope), &soft).await.unwrap(), Taken::Told(id));
    let view = stage.email(id).await;
    assert_eq!(view.row.status, EmailStatus::Failed);
    assert_eq!(view.row.failure_code, Some(FailureCode::BounceTemporary));
    let hard = parse(&bounce(id, Some(stage.tenant.id), "Permanent", "two")).unwrap();
    // The operator's source names no tenant: the report does.
    assert_eq!(stage.feedback.take(None, &hard).await.unwrap(), Taken::Told(id));
    assert_eq!(stage.feedback.take(None, &hard).await.unwrap(), Taken::Again(id));
    let view = stage.email(id).await;
    assert_eq!(view.row.failure_code, Some(FailureCode::BouncePermanent));
    assert_eq!(view.ses_error.as_deref(), Some("Permanent: General"));

    let told = stage.told(id).await;
    let kinds: Vec<_> = told.iter().map(|(number, kind, _)| (*number, kind.as_str())).collect();
    assert_eq!(kinds, [(1, "email.sent"), (2, "email.failed"), (3, "email.failed")]);
    assert_eq!(told[1].2["failureCode"], "BOUNCE_TEMPORARY");
    assert_eq!(told[2].2["failureCode"], "BOUNCE_PERMANENT");
    assert_eq!(
        told[2].2["failureReason"],
        "it bounced (Permanent: General): smtp; 550 5.1.1 <a***@e***le.com>: unknown"
    );
    let count = || async { (receiver.requests().len() == 3).then_some(()) };
    wait_for("three webhooks", count).await;

    // The next one to that address is not sent.
    let next = stage.submit(draft("ana@example.com")).await;
    stage.until(next, EmailStatus::Failed).await;
    assert_eq!(sink.letters().len(), 1);
}

async fn of_another_tenant(on: On) {
    let sink = Arc::new(Sink::new(Arc::new(SystemClock), 10));
    let stage = Stage::with(on, sink, Setup::default()).await;
    let id = stage.submit(draft("ana@example.com")).await;
    stage.until(id, EmailStatus::Sent).await;
    let other = TenantScope::granted(TenantId::from_bits(5));
    let report = parse(&bounce(id, Some(stage.tenant.id), "Permanent", "one")).unwrap();
    assert_eq!(stage.feedback.take(Some(other), &report).await.unwrap(), Taken::NotOurs);
    let unnamed = parse(&bounce(id, None, "Permanent", "one")).unwrap();
    assert_eq!(stage.feedback.take(Some(other), &unnamed).await.unwrap(), Taken::NotOurs);
    assert_eq!(stage.feedback.take(None, &unnamed).await.unwrap(), Taken::NotOurs);
    assert_eq!(stage.email(id).await.row.status, EmailStatus::Sent);
    assert_eq!(stage.told(id).await.len(), 1);
}
