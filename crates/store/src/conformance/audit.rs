//! The audit log: appended entries can be read, page by page, until their retention ends.

use std::time::Duration;

use gancho_domain::{TenantId, Time};

use super::{
    Fixture,
    build::{World, hours, secs},
};
use crate::{Actor, ActorKind, AuditEntry, AuditFilter, ListOrder, PageRequest};

const RETENTION: Duration = Duration::from_hours(24);

fn entry<F: Fixture>(world: &World<F>, actor: Actor, tenant: Option<TenantId>) -> AuditEntry {
    AuditEntry {
        id: world.id(),
        actor,
        tenant,
        operation: "deleteWebhook".to_owned(),
        resource: "wh_1".to_owned(),
        status: 204,
        code: String::new(),
        request_id: "req_1".to_owned(),
        address: "192.0.2.7".to_owned(),
        reason: String::new(),
    }
}

fn ana() -> Actor {
    Actor::new(ActorKind::User, "ana@example.com")
}

async fn append<F: Fixture>(world: &World<F>, entries: &[AuditEntry]) {
    world.store.append_audit(entries.to_vec(), RETENTION).await.unwrap();
}

/// Returns all matching entries, page by page.
async fn all<F: Fixture>(world: &World<F>, filter: &AuditFilter, max: usize) -> Vec<AuditEntry> {
    let (mut rows, mut after) = (Vec::new(), None);
    for _ in 0..1_000 {
        let page = world.store.audit(filter.clone(), PageRequest::new(max, after)).await.unwrap();
        assert!(page.rows.len() <= max);
        rows.extend(page.rows);
        after = page.next;
        if after.is_none() {
            return rows;
        }
    }
    panic!("the list has no end");
}

pub async fn entries_read_back_newest_first<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let operator = Actor::new(ActorKind::Operator, "");
    let one = entry(&world, ana(), Some(acme));
    let two = AuditEntry {
        status: 403,
        code: "missing_role".to_owned(),
        resource: String::new(),
        address: String::new(),
        ..entry(&world, operator, None)
    };
    let odd = Actor::new(ActorKind::Anonymous, "a\u{202e}ção 'x' %_");
    let reason = "moving 'their' <b>servers</b>; ção \u{202e} %_".to_owned();
    let three = AuditEntry { reason, ..entry(&world, odd, None) };
    append(&world, &[]).await;
    append(&world, &[one.clone(), two.clone()]).await;
    append(&world, std::slice::from_ref(&three)).await;
    let world = world.reopen().await;
    let found = all(&world, &AuditFilter::default(), 2).await;
    assert_eq!(found, [three.clone(), two.clone(), one.clone()]);
    let oldest = PageRequest::first(2).in_order(ListOrder::OldestFirst);
    let page = world.store.audit(AuditFilter::default(), oldest.clone()).await.unwrap();
    assert_eq!(page.rows, [one, two]);
    let rest = PageRequest { after: page.next, ..oldest };
    let page = world.store.audit(AuditFilter::default(), rest).await.unwrap();
    assert_eq!((page.rows, page.next), (vec![three], None));
}

pub async fn each_condition_narrows_the_list<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let first = entry(&world, ana(), Some(acme));
    world.pass(hours(1));
    let key = Actor::new(ActorKind::ApiKey, "key_1");
    let second =
        AuditEntry { operation: "createReplay".to_owned(), ..entry(&world, key, Some(globex)) };
    world.pass(hours(1));
    let third = AuditEntry {
        status: 404,
        code: "not_found".to_owned(),
        resource: "wh_2".to_owned(),
        ..entry(&world, ana(), None)
    };
    append(&world, &[first.clone(), second.clone(), third.clone()]).await;
    let none = AuditFilter::default();
    let text = |text: &str| Some(text.to_owned());
    for (filter, expected) in [
        (AuditFilter { tenant: Some(acme), ..none.clone() }, vec![&first]),
        (AuditFilter { tenant: Some(globex), ..none.clone() }, vec![&second]),
        (AuditFilter { actor_kind: Some(ActorKind::User), ..none.clone() }, vec![&third, &first]),
        (AuditFilter { actor: text("key_1"), ..none.clone() }, vec![&second]),
        (AuditFilter { actor: text("KEY_1"), ..none.clone() }, vec![]),
        (AuditFilter { operation: text("createReplay"), ..none.clone() }, vec![&second]),
        (AuditFilter { resource: text("wh_2"), ..none.clone() }, vec![&third]),
        (AuditFilter { is_done: Some(false), ..none.clone() }, vec![&third]),
        (AuditFilter { is_done: Some(true), ..none.clone() }, vec![&second, &first]),
        (AuditFilter { since: Some(second.at()), ..none.clone() }, vec![&third, &second]),
        (AuditFilter { until: Some(second.at()), ..none.clone() }, vec![&first]),
        (
            AuditFilter { tenant: Some(acme), actor: text("key_1"), ..none.clone() },
            Vec::<&AuditEntry>::new(),
        ),
    ] {
        let found = all(&world, &filter, 10).await;
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{filter:?}");
    }
}

pub async fn a_page_looks_at_a_bounded_number_of_entries<F: Fixture>() {
    let world = World::<F>::new().await;
    let wanted = entry(&world, Actor::new(ActorKind::Portal, ""), None);
    append(&world, std::slice::from_ref(&wanted)).await;
    let many: Vec<_> = (0..=F::MAX_SCANNED * 2).map(|_| entry(&world, ana(), None)).collect();
    for batch in many.chunks(500) {
        append(&world, batch).await;
    }
    let filter = AuditFilter { actor_kind: Some(ActorKind::Portal), ..AuditFilter::default() };
    let page = world.store.audit(filter.clone(), PageRequest::first(5)).await.unwrap();
    assert!(page.rows.is_empty() && page.next.is_some());
    assert_eq!(all(&world, &filter, 5).await, [wanted]);
}

pub async fn an_entry_is_appended_once<F: Fixture>() {
    let world = World::<F>::new().await;
    let one = entry(&world, ana(), None);
    let changed = AuditEntry { resource: "wh_9".to_owned(), ..one.clone() };
    append(&world, &[one.clone(), changed.clone()]).await;
    append(&world, &[changed]).await;
    assert_eq!(all(&world, &AuditFilter::default(), 10).await, [one]);
}

pub async fn entries_go_when_their_time_is_over<F: Fixture>() {
    let world = World::<F>::new().await;
    let old: Vec<_> = (0..3_000).map(|_| entry(&world, ana(), None)).collect();
    for batch in old.chunks(500) {
        append(&world, batch).await;
    }
    world.pass(hours(1));
    let young = entry(&world, ana(), None);
    append(&world, std::slice::from_ref(&young)).await;
    world.pass(hours(23) + secs(1));
    world.prune(Time::ZERO).await;
    assert_eq!(all(&world, &AuditFilter::default(), 100).await, [young]);
    world.pass(hours(1));
    world.prune(Time::ZERO).await;
    assert_eq!(all(&world, &AuditFilter::default(), 100).await, []);
}
