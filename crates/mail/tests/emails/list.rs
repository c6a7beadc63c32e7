//! Listing e-mails, and the sink of a developer's machine.

use std::sync::Arc;

use gancho_domain::{EmailId, SystemClock, TenantId, TenantScope};
use gancho_mail::{EmailDraft, EmailFilter, EmailStatus, Sink};
use gancho_store::PageRequest;

use crate::{
    mail_server::{address, mail_server},
    stage::{Setup, Stage, StoreKind, draft},
};

on_both! { newest_first_and_by_filter only_ones_own }

async fn newest_first_and_by_filter(on: StoreKind) {
    let stage = Stage::new(on, mail_server().plain()).await;
    let (mut ids, mut addresses) = (Vec::new(), Vec::new());
    for script in ["a", "rcpt-550", "b"] {
        let to = address(script);
        addresses.push(to.clone());
        let draft = EmailDraft { external_id: Some(script.into()), ..draft(&to) };
        let id = stage.submit(draft).await;
        let failed = script == "rcpt-550";
        stage.until(id, if failed { EmailStatus::Failed } else { EmailStatus::Sent }).await;
        ids.push(id);
    }
    let listed = |filter: EmailFilter, page: PageRequest| {
        let stage = &stage;
        async move { stage.outbox.emails(stage.scope, filter, page).await.unwrap() }
    };
    let all = listed(EmailFilter::default(), PageRequest::first(2)).await;
    let found: Vec<EmailId> = all.rows.iter().map(|row| row.id).collect();
    assert_eq!(found, [ids[2], ids[1]]);
    assert_eq!(all.rows[1].failure_code.unwrap().name(), "INVALID_RECIPIENT");
    let rest = listed(EmailFilter::default(), PageRequest::new(2, all.next)).await;
    assert_eq!((rest.rows.len(), rest.rows[0].id, rest.next), (1, ids[0], None));
    let failed = EmailFilter { status: Some(EmailStatus::Failed), ..EmailFilter::default() };
    let failed = listed(failed, PageRequest::first(9)).await;
    assert_eq!(failed.rows.iter().map(|row| row.id).collect::<Vec<_>>(), [ids[1]]);
    let named = EmailFilter { external_id: Some("b".into()), ..EmailFilter::default() };
    let named = listed(named, PageRequest::first(9)).await;
    assert_eq!(named.rows.iter().map(|row| row.id).collect::<Vec<_>>(), [ids[2]]);

    // By recipient, in any spelling of the address, and also among failed e-mails.
    let to = |address: &str| {
        let recipient = Some(address.to_uppercase().parse().unwrap());
        EmailFilter { recipient, ..EmailFilter::default() }
    };
    for (address, (id, failures)) in addresses.iter().zip([(ids[0], 0), (ids[1], 1), (ids[2], 0)]) {
        let found = listed(to(address), PageRequest::first(9)).await;
        assert_eq!(found.rows.iter().map(|row| row.id).collect::<Vec<_>>(), [id], "{address}");
        let failed = EmailFilter { status: Some(EmailStatus::Failed), ..to(address) };
        let failed = listed(failed, PageRequest::first(9)).await;
        assert_eq!(failed.rows.len(), failures, "{address}");
    }
    assert_eq!(listed(to("nobody@example.com"), PageRequest::first(9)).await.rows.len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sink_holds_few_large_letters() {
    let sink = Arc::new(Sink::new(Arc::new(SystemClock), 100).within(350_000));
    let stage = Stage::with(StoreKind::Sqlite, sink.clone(), Setup::default()).await;
    let send = async |bytes: usize| {
        let text = Some("a fine day \n".repeat(bytes / 12));
        let id = stage.submit(EmailDraft { text, ..draft("a@example.com") }).await;
        stage.until(id, EmailStatus::Sent).await;
        id
    };
    let kept = || sink.emails().iter().map(|captured| captured.email.id).collect::<Vec<_>>();
    let (_, second, third) = (send(100_000).await, send(100_000).await, send(100_000).await);
    assert_eq!(kept(), [third, second], "two have room");
    let huge = send(400_000).await;
    assert_eq!(kept(), [huge], "the last one stays whatever it is");
    let small = send(100).await;
    assert_eq!(kept(), [small], "and makes room as any other");
}

async fn only_ones_own(on: StoreKind) {
    let sink = Arc::new(Sink::new(Arc::new(SystemClock), 2));
    let stage = Stage::with(on, sink.clone(), Setup::default()).await;
    let mut ids = Vec::new();
    for to in ["a@example.com", "b@example.com", "c@example.com"] {
        let id = stage.submit(draft(to)).await;
        stage.until(id, EmailStatus::Sent).await;
        ids.push(id);
    }
    let kept: Vec<_> = sink.emails().iter().map(|captured| captured.email.id).collect();
    assert_eq!(kept, [ids[2], ids[1]], "the last two, newest first");
    let captured = sink.email(ids[2]).unwrap();
    assert_eq!(captured.email.to.address(), "c@example.com");
    assert!(sink.email(ids[0]).is_none());

    let other = TenantScope::internal(TenantId::from_bits(5));
    assert_eq!(stage.outbox.email(other, ids[0]).await.unwrap(), None);
    let page = stage.outbox.emails(other, EmailFilter::default(), PageRequest::first(9)).await;
    assert!(page.unwrap().rows.is_empty());
    // The event about it is not an e-mail.
    let told = stage.outbox.emails(stage.scope, EmailFilter::default(), PageRequest::first(9));
    assert_eq!(told.await.unwrap().rows.len(), 3);
}
