//! One step suppresses addresses, publishes the notice and stores the report; failed e-mails are one list.

use gancho_domain::{DeliveryId, EmailId, Lane, ParcelKind, TenantId, Time};

use super::{
    Fixture,
    build::{Draft, World, given_up, hours, scope, secs, timeout},
};
use crate::{
    AcceptOutcome, Claim, EmailReport, FailedEmails, ListOrder, NewEmailReport, NewSuppression,
    PageRequest, Suppression, TargetId,
};

const RETENTION: std::time::Duration = hours(10);

fn email<F: Fixture>(world: &World<F>, tenant: TenantId, to: TargetId) -> Draft {
    world.event(tenant).kind(ParcelKind::Email).in_lane(Lane::Email, to)
}

/// Makes an e-mail whose delivery has ended: given up, or sent.
async fn sent<F: Fixture>(
    world: &World<F>,
    (tenant, to): (TenantId, TargetId),
    is_well: bool,
) -> (EmailId, DeliveryId) {
    let draft = email(world, tenant, to);
    let (id, delivery) = (draft.id().cast(), draft.delivery(0));
    world.accept(draft).await;
    let jobs = world.take(Claim { lane: Lane::Email, ..world.claim() }).await.jobs;
    assert_eq!(jobs.len(), 1);
    if is_well {
        world.deliver(&jobs[0]).await;
    } else {
        world.settle(given_up(&jobs[0], world.now(), timeout())).await;
    }
    world.pass(secs(1));
    (id, delivery)
}

fn report(email: EmailId, delivery: DeliveryId, code: &str, at: Time) -> EmailReport {
    EmailReport {
        email,
        delivery: Some(delivery),
        code: code.to_owned(),
        reason: format!("it was {code}"),
        error: Some("550".to_owned()),
        is_provisional: code == "soft",
        at,
    }
}

fn new<F: Fixture>(
    world: &World<F>,
    tenant: TenantId,
    key: u8,
    report: EmailReport,
) -> NewEmailReport {
    let notice = world.event(tenant).typed("email.failed").once(key, key, world.now() + hours(24));
    NewEmailReport { report, notice: notice.done(), suppress: Vec::new(), retention: RETENTION }
}

async fn tell<F: Fixture>(
    world: &World<F>,
    tenant: TenantId,
    key: u8,
    report: EmailReport,
) -> AcceptOutcome {
    let new = new(world, tenant, key, report);
    world.store.report_email(scope(tenant), new).await.unwrap()
}

async fn known<F: Fixture>(world: &World<F>, tenant: TenantId, id: EmailId) -> Option<EmailReport> {
    world.store.email_reports(scope(tenant), vec![id]).await.unwrap().pop()
}

pub async fn a_report_tells_suppresses_and_is_noted<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let (id, delivery) = sent(&world, (acme, world.target()), true).await;
    let report = report(id, delivery, "hard", world.now());
    let suppression = Suppression {
        address: "ana@example.com".into(),
        reason: "bounce".into(),
        detail: None,
        since: world.now(),
    };
    let suppress = vec![NewSuppression { suppression: suppression.clone(), replaces: false }];
    let new = NewEmailReport { suppress, ..new(&world, acme, 1, report.clone()) };
    let notice = new.notice.parcel.id;
    let told = world.store.report_email(scope(acme), new).await.unwrap();
    assert!(matches!(told, AcceptOutcome::New { .. }), "{told:?}");
    let world = world.reopen().await;
    assert_eq!(known(&world, acme, id).await, Some(report));
    assert_eq!(known(&world, globex, id).await, None);
    assert_eq!(&*world.see_event(acme, notice).await.parcel.event_type, "email.failed");
    let found = world.store.suppression(scope(acme), "ana@example.com").await;
    assert_eq!(found, Ok(Some(suppression)));
}

pub async fn one_that_comes_again_is_reported_once<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let (id, delivery) = sent(&world, (acme, world.target()), true).await;
    let first = report(id, delivery, "hard", world.now());
    let new = new(&world, acme, 1, first.clone());
    let notice = new.notice.parcel.id;
    world.store.report_email(scope(acme), new).await.unwrap();
    world.pass(secs(60));
    let again = report(id, delivery, "hard", world.now());
    let told = tell(&world, acme, 1, again).await;
    assert_eq!(told, AcceptOutcome::Again { first: notice });
    assert_eq!(known(&world, acme, id).await, Some(first));
}

/// As left by an earlier version that was killed in between.
pub async fn one_that_was_told_and_not_noted_has_the_time_that_was_told<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let (id, delivery) = sent(&world, (acme, world.target()), true).await;
    let told_at = world.now();
    let new = new(&world, acme, 1, report(id, delivery, "hard", told_at));
    world.store.accept(vec![new.notice], world.node).await.unwrap();
    world.pass(secs(60));
    let told = tell(&world, acme, 1, report(id, delivery, "hard", world.now())).await;
    assert!(matches!(told, AcceptOutcome::Again { .. }), "{told:?}");
    assert_eq!(known(&world, acme, id).await, Some(report(id, delivery, "hard", told_at)));
}

pub async fn a_provisional_one_is_replaced_and_no_other<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let (id, delivery) = sent(&world, (acme, world.target()), true).await;
    let mut told = Vec::new();
    for (key, code) in [(1, "soft"), (2, "soft"), (3, "hard"), (4, "soft"), (5, "other")] {
        let report = report(id, delivery, code, world.now());
        tell(&world, acme, key, report.clone()).await;
        told.push(report);
        let expected = told[told.len().min(3) - 1].clone();
        assert_eq!(known(&world, acme, id).await, Some(expected), "{code}");
        world.pass(secs(1));
    }
}

pub async fn many_reports_at_once_are_each_told<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let (id, delivery) = sent(&world, (acme, world.target()), true).await;
    let mut calls = tokio::task::JoinSet::new();
    for key in 0..20 {
        let new = new(&world, acme, key, report(id, delivery, "soft", world.now()));
        let store = std::sync::Arc::clone(&world.store);
        calls.spawn(async move { store.report_email(scope(acme), new).await.unwrap() });
    }
    for told in calls.join_all().await {
        assert!(matches!(told, AcceptOutcome::New { .. }), "{told:?}");
    }
    assert!(known(&world, acme, id).await.is_some());
}

pub async fn a_report_goes_when_its_time_is_over<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let (id, delivery) = sent(&world, (acme, world.target()), true).await;
    tell(&world, acme, 1, report(id, delivery, "hard", world.now())).await;
    for (passed, is_known) in [(hours(9), true), (hours(2), false)] {
        world.pass(passed);
        world.prune(Time::ZERO).await;
        assert_eq!(known(&world, acme, id).await.is_some(), is_known);
    }
}

async fn failed<F: Fixture>(
    world: &World<F>,
    tenant: TenantId,
    which: FailedEmails,
    (order, max): (ListOrder, usize),
) -> Vec<DeliveryId> {
    let mut found = Vec::new();
    let mut request = PageRequest::first(max).in_order(order);
    for _ in 0..1_000 {
        let page = world.store.failed_emails(scope(tenant), which, request).await.unwrap();
        assert!(page.rows.len() <= max, "a page holds what was asked for");
        found.extend(page.rows.iter().map(|row| row.id));
        match page.next {
            Some(after) => request = PageRequest::new(max, Some(after)).in_order(order),
            None => return found,
        }
    }
    panic!("the pages never end");
}

pub async fn what_failed_is_one_list<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let [to, other] = [world.target(), world.target()];
    // E-mails that were given up and e-mails that bounced, among others that succeeded.
    let (mut expected, mut middle) = (Vec::new(), world.now());
    let mut bounced = Vec::new();
    for number in 0..18 {
        if number == 9 {
            world.pass(secs(60));
            middle = world.now();
        }
        let (id, delivery) = sent(&world, (acme, to), number % 3 != 0).await;
        if number % 3 != 2 {
            expected.push(delivery);
        }
        if number % 3 == 1 {
            bounced.push((id, delivery));
        }
    }
    // An e-mail may be both.
    bounced.push(sent(&world, (acme, to), false).await);
    expected.push(bounced[6].1);
    for (key, (id, delivery)) in (1..).zip(bounced.iter().rev()) {
        tell(&world, acme, key, report(*id, *delivery, "hard", world.now())).await;
    }
    // Those of another target and of another tenant.
    let (id, delivery) = sent(&world, (acme, other), true).await;
    tell(&world, acme, 100, report(id, delivery, "hard", world.now())).await;
    let (id, delivery) = sent(&world, (globex, to), true).await;
    tell(&world, globex, 1, report(id, delivery, "hard", world.now())).await;

    let which = FailedEmails { target: to, since: None, until: None };
    for max in [1, 2, 3, 5, 100] {
        let oldest = (ListOrder::OldestFirst, max);
        assert_eq!(failed(&world, acme, which, oldest).await, expected, "{max}");
        let late = FailedEmails { since: Some(middle), ..which };
        assert_eq!(failed(&world, acme, late, oldest).await, expected[6..], "{max}");
        let early = FailedEmails { until: Some(middle), ..which };
        assert_eq!(failed(&world, acme, early, oldest).await, expected[..6], "{max}");
        let mut newest = failed(&world, acme, which, (ListOrder::NewestFirst, max)).await;
        newest.reverse();
        assert_eq!(newest, expected, "{max}");
    }
    assert_eq!(failed(&world, globex, which, (ListOrder::NewestFirst, 10)).await, [delivery]);
}
