//! Bounces and complaints that SES reports after it accepted the message.

use std::{sync::Arc, time::Duration};

use gancho_domain::{Clock, EmailId, SystemClock, TenantId, TenantScope};
use gancho_mail::{
    EmailDraft, EmailFilter, EmailStatus, FailureCode, Sink, SuppressionReason,
    feedback::{ReportOutcome, parse},
};
use gancho_store::PageRequest;
use gancho_testkit::wait_for;
use serde_json::json;

use crate::stage::{Setup, Stage, StoreKind, draft};

on_both! {
    a_bounce_is_reported_once_and_the_address_suppressed
    of_another_tenant
    what_bounced_is_listed_as_failed_and_never_as_sent
    what_was_reported_goes_with_its_email
}

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

async fn a_bounce_is_reported_once_and_the_address_suppressed(on: StoreKind) {
    let sink = Arc::new(Sink::new(Arc::new(SystemClock), 10));
    let stage = Stage::with(on, sink.clone(), Setup::default()).await;
    let receiver = stage.receiver().await;
    let id = stage.submit(draft("ana@example.com")).await;
    stage.until(id, EmailStatus::Sent).await;

    let soft = parse(&bounce(id, None, "Transient", "one")).unwrap();
    assert_eq!(
        stage.feedback.take(Some(stage.scope), &soft).await.unwrap(),
        ReportOutcome::Reported(id)
    );
    let view = stage.email(id).await;
    assert_eq!(view.row.status, EmailStatus::Failed);
    assert_eq!(view.row.failure_code, Some(FailureCode::BounceTemporary));
    let hard = parse(&bounce(id, Some(stage.tenant.id), "Permanent", "two")).unwrap();
    // The operator's source has no tenant, so the report names it.
    assert_eq!(stage.feedback.take(None, &hard).await.unwrap(), ReportOutcome::Reported(id));
    assert_eq!(stage.feedback.take(None, &hard).await.unwrap(), ReportOutcome::Duplicate(id));
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

    // The next e-mail to that address is not sent.
    let next = stage.submit(draft("ana@example.com")).await;
    stage.until(next, EmailStatus::Failed).await;
    assert_eq!(sink.emails().len(), 1);
}

/// faults.md 14
async fn what_was_reported_goes_with_its_email(on: StoreKind) {
    let sink = Arc::new(Sink::new(Arc::new(SystemClock), 10));
    let stage = Stage::with(on, sink, Setup::default()).await;
    let id = stage.submit(draft("ana@example.com")).await;
    stage.until(id, EmailStatus::Sent).await;
    let report = parse(&bounce(id, None, "Permanent", "one")).unwrap();
    stage.feedback.take(Some(stage.scope), &report).await.unwrap();
    let left = || async { stage.store.email_reports(stage.scope, vec![id]).await.unwrap().len() };
    for (days, expected) in [(29, 1), (2, 0)] {
        stage.clock.advance(Duration::from_hours(24 * days));
        let now = stage.clock.now();
        let before = now - stage.feedback.retention;
        while stage.store.prune(before, 100, now).await.unwrap().more {}
        assert_eq!(left().await, expected);
    }
}

async fn of_another_tenant(on: StoreKind) {
    let sink = Arc::new(Sink::new(Arc::new(SystemClock), 10));
    let stage = Stage::with(on, sink, Setup::default()).await;
    let id = stage.submit(draft("ana@example.com")).await;
    stage.until(id, EmailStatus::Sent).await;
    let other = TenantScope::internal(TenantId::from_bits(5));
    let report = parse(&bounce(id, Some(stage.tenant.id), "Permanent", "one")).unwrap();
    assert_eq!(stage.feedback.take(Some(other), &report).await.unwrap(), ReportOutcome::Unrelated);
    let unnamed = parse(&bounce(id, None, "Permanent", "one")).unwrap();
    assert_eq!(stage.feedback.take(Some(other), &unnamed).await.unwrap(), ReportOutcome::Unrelated);
    assert_eq!(stage.feedback.take(None, &unnamed).await.unwrap(), ReportOutcome::Unrelated);
    assert_eq!(stage.email(id).await.row.status, EmailStatus::Sent);
    assert_eq!(stage.told(id).await.len(), 1);
}

/// If the store fails in any part of the step, nothing is reported or stored, and the report is delivered
/// again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_reported_of_what_could_not_be_stored() {
    let sink = Arc::new(Sink::new(Arc::new(SystemClock), 10));
    let stage = Stage::with(StoreKind::Postgres, sink, Setup::default()).await;
    let id = stage.submit(draft("ana@example.com")).await;
    stage.until(id, EmailStatus::Sent).await;
    let database = stage.place.database().unwrap().client().await.unwrap();
    let report = parse(&bounce(id, Some(stage.tenant.id), "Permanent", "one")).unwrap();
    let suppressed =
        || async { stage.suppressions.list(stage.scope, None, 10).await.unwrap().len() };
    for table in ["suppressions", "email_reports"] {
        let fail = format!(
            "create function fail() returns trigger language plpgsql as
               $$ begin raise exception 'out of order'; end $$;
             create trigger fail before insert on {table} for each row execute function fail();"
        );
        database.batch_execute(&fail).await.unwrap();
        stage.feedback.take(None, &report).await.unwrap_err();
        assert_eq!(stage.told(id).await.len(), 1, "it is not told");
        assert_eq!(suppressed().await, 0);
        assert_eq!(stage.email(id).await.row.status, EmailStatus::Sent);
        assert_eq!(listed(&stage, EmailStatus::Failed, 10).await, [[]; 0] as [[EmailId; 0]; 0]);
        database.batch_execute("drop function fail() cascade").await.unwrap();
    }
    assert_eq!(stage.feedback.take(None, &report).await.unwrap(), ReportOutcome::Reported(id));
    assert_eq!(stage.feedback.take(None, &report).await.unwrap(), ReportOutcome::Duplicate(id));
    let told = stage.told(id).await;
    let kinds: Vec<_> = told.iter().map(|(number, kind, _)| (*number, kind.as_str())).collect();
    assert_eq!(kinds, [(1, "email.sent"), (2, "email.failed")]);
    assert_eq!(suppressed().await, 1);
    assert_eq!(stage.email(id).await.row.status, EmailStatus::Failed);
    assert_eq!(listed(&stage, EmailStatus::Failed, 10).await, [[id]]);
}

/// Returns the pages that are not empty.
async fn listed(stage: &Stage, status: EmailStatus, max: usize) -> Vec<Vec<EmailId>> {
    pages(stage, EmailFilter { status: Some(status), ..EmailFilter::default() }, max).await
}

async fn pages(stage: &Stage, filter: EmailFilter, max: usize) -> Vec<Vec<EmailId>> {
    let (mut pages, mut page) = (Vec::new(), PageRequest::first(max));
    loop {
        let found = stage.outbox.emails(stage.scope, filter.clone(), page).await.unwrap();
        let status = filter.status.unwrap();
        assert!(found.rows.iter().all(|row| row.status == status), "{:?}", found.rows);
        assert!(found.rows.len() <= max);
        pages.extend(
            Some(found.rows.iter().map(|row| row.id).collect())
                .filter(|it: &Vec<_>| !it.is_empty()),
        );
        if found.next.is_none() {
            return pages;
        }
        page = PageRequest::new(max, found.next);
    }
}

async fn what_bounced_is_listed_as_failed_and_never_as_sent(on: StoreKind) {
    let sink = Arc::new(Sink::new(Arc::new(SystemClock), 10));
    let stage = Stage::with(on, sink, Setup::default()).await;
    stage
        .suppressions
        .import(stage.scope, vec![("no@example.com".into(), SuppressionReason::Manual)])
        .await
        .unwrap();
    // Every third fails at once, every third bounces, and the others succeed.
    let (mut failed, mut sent, mut bounced) = (Vec::new(), Vec::new(), Vec::new());
    let began = stage.clock.now();
    let mut middle = began;
    for number in 0..18 {
        if number == 9 {
            stage.clock.advance(Duration::from_mins(1));
            middle = stage.clock.now();
        }
        let to = if number % 3 == 0 { "no@example.com" } else { "ana@example.com" };
        let external_id = Some(format!("n{}", number % 6));
        let id = stage.submit(EmailDraft { external_id, ..draft(to) }).await;
        let ends = if number % 3 == 0 { EmailStatus::Failed } else { EmailStatus::Sent };
        stage.until(id, ends).await;
        match number % 3 {
            0 => failed.push(id),
            1 => bounced.push(id),
            _ => sent.push(id),
        }
    }
    // In another order than that of sending.
    for (place, id) in bounced.iter().enumerate().rev() {
        let report = parse(&bounce(*id, None, "Transient", &format!("r{place}"))).unwrap();
        stage.feedback.take(Some(stage.scope), &report).await.unwrap();
    }
    let newest_first = |ids: &[EmailId]| {
        let mut ids = ids.to_vec();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        ids
    };
    let all = newest_first(&[failed.clone(), bounced.clone()].concat());
    for max in [1, 2, 3, 5, 6, 100] {
        assert_eq!(listed(&stage, EmailStatus::Failed, max).await.concat(), all, "{max}");
        let found = listed(&stage, EmailStatus::Sent, max).await.concat();
        assert_eq!(found, newest_first(&sent), "{max}");
    }
    let of_failed = || EmailFilter { status: Some(EmailStatus::Failed), ..EmailFilter::default() };
    for max in [1, 2, 100] {
        let (old, new) = (newest_first(&[&failed[..3], &bounced[..3]].concat()), all[..6].to_vec());
        let since = EmailFilter { since: Some(middle), ..of_failed() };
        assert_eq!(pages(&stage, since, max).await.concat(), new);
        let until = EmailFilter { until: Some(middle), ..of_failed() };
        assert_eq!(pages(&stage, until, max).await.concat(), old);
        let named = EmailFilter { external_id: Some("n1".into()), ..of_failed() };
        let named = pages(&stage, named, max).await.concat();
        assert_eq!(named, newest_first(&[bounced[0], bounced[2], bounced[4]]));
    }
}
