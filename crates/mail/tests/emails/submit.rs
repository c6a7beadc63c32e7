//! The effect of an idempotency key, and that a submitted e-mail is not lost.

use gancho_domain::{Clock, Time};
use gancho_mail::{EmailDraft, EmailStatus, Sink, SubmitError};

use crate::stage::{Setup, Stage, StoreKind, draft};

on_both! { a_key_is_used_once it_waits_in_the_store }

async fn a_key_is_used_once(on: StoreKind) {
    let stage = sink(on, Setup::default()).await;
    let keyed = |subject: &str| EmailDraft {
        subject: Some(subject.into()),
        idempotency_key: Some("key".into()),
        ..draft("ana@example.com")
    };
    let submit = |draft| stage.outbox.submit(stage.scope, &stage.tenant, draft);
    let first = submit(keyed("a")).await.unwrap();
    assert!(!first.is_repeat);
    let again = submit(keyed("a")).await.unwrap();
    assert_eq!((again.id, again.is_repeat), (first.id, true));
    let clash = submit(keyed("b")).await.unwrap_err();
    assert_eq!(clash, SubmitError::KeyClash { first: first.id });
    let other = EmailDraft { external_id: None, ..keyed("a") };
    assert!(matches!(submit(other).await, Err(SubmitError::KeyClash { .. })));
    // The keys of events are separate, even if they have the same text.
    assert!(!submit(draft("ana@example.com")).await.unwrap().is_repeat);
    stage.until(first.id, EmailStatus::Sent).await;
    stage.clock.advance(std::time::Duration::from_hours(25));
    stage.store.prune(Time::ZERO, 100, stage.clock.now()).await.unwrap();
    assert!(!submit(keyed("b")).await.unwrap().is_repeat);
}

/// A node that sends no e-mails stores it durably nevertheless.
async fn it_waits_in_the_store(on: StoreKind) {
    let stage = sink(on, Setup { is_at_work: false, ..Setup::default() }).await;
    let id = stage.submit(draft("ana@example.com")).await;
    let view = stage.email(id).await;
    assert_eq!((view.row.status, view.row.attempts), (EmailStatus::Pending, 0));
    assert_eq!(view.row.recipient, "a***@e***le.com");
    assert_eq!(view.message_id, None);
    assert!(stage.told(id).await.is_empty());
    let depths = stage.store.depths().await.unwrap();
    let email = depths.iter().find(|depth| depth.lane == gancho_domain::Lane::Email).unwrap();
    assert_eq!(email.pending, 1);
}

async fn sink(on: StoreKind, setup: Setup) -> Stage {
    use std::sync::Arc;
    let sink = Sink::new(Arc::new(gancho_domain::SystemClock), 10);
    Stage::with(on, Arc::new(sink), setup).await
}
