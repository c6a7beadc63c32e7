//! Searches deliveries by the content of their bodies: byte for byte, with a bounded scan per page.

use gancho_domain::{DeliveryId, Status, TenantId};

use super::{
    Fixture,
    build::{World, scope, secs},
};
use crate::{DeliveryFilter, ListOrder, MAX_SEARCHED_BYTES, PageRequest};

fn containing(text: &str) -> DeliveryFilter {
    DeliveryFilter { text: Some(text.to_owned()), ..DeliveryFilter::default() }
}

/// Returns all matches, and the number of pages.
async fn follow<F: Fixture>(
    world: &World<F>,
    tenant: TenantId,
    filter: &DeliveryFilter,
    order: ListOrder,
) -> (Vec<DeliveryId>, usize) {
    let (mut found, mut after) = (Vec::new(), None);
    for count in 1..10_000 {
        let request = PageRequest::new(3, after).in_order(order);
        let page = world.store.deliveries(scope(tenant), filter.clone(), request).await.unwrap();
        found.extend(page.rows.iter().map(|row| row.id));
        after = page.next;
        if after.is_none() {
            return (found, count);
        }
    }
    panic!("the pages never end");
}

pub async fn a_text_is_found_in_bodies<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let [shop, crm] = [world.target(), world.target()];
    let at_edge = format!("{{\"pad\":\"{}\",\"x\":\"late\"}}", "a".repeat(MAX_SEARCHED_BYTES));
    let drafts = [
        world.event(acme).to(shop).to(crm).body(r#"{"name":"Ana","note":"100 % é_?*'"}"#),
        world.event(acme).to(shop).body(r#"{"name":"ana"}"#).named("ext").typed("a.b"),
        world.event(globex).to(shop).body(r#"{"name":"Ana"}"#),
        world.event(acme).to(shop).body(at_edge),
    ];
    let [both, lower, _, _] = &drafts;
    let (first, second) = (both.delivery(0), both.delivery(1));
    let small = lower.delivery(0);
    let others = drafts[2].delivery(0);
    world.accept_all(drafts.to_vec()).await;
    for (filter, expected) in [
        (containing("Ana"), vec![second, first]),
        (containing("ana"), vec![small]),
        (containing("% é_?*'"), vec![second, first]),
        (containing("\"name\":"), vec![small, second, first]),
        (containing("late"), vec![]),
        (containing("nowhere"), vec![]),
        (DeliveryFilter { endpoint: Some(crm), ..containing("Ana") }, vec![second]),
        (DeliveryFilter { event_type: Some("a.b".to_owned()), ..containing("Ana") }, vec![]),
        (DeliveryFilter { external_id: Some("ext".to_owned()), ..containing("ana") }, vec![small]),
        (DeliveryFilter { external_id: Some("ext".to_owned()), ..containing("Ana") }, vec![]),
        (DeliveryFilter { event: Some(both.id()), ..containing("Ana") }, vec![second, first]),
        (DeliveryFilter { status: Some(Status::Failed), ..containing("Ana") }, vec![]),
    ] {
        let (found, _) = follow(&world, acme, &filter, ListOrder::NewestFirst).await;
        assert_eq!(found, expected, "{filter:?}");
    }
    let all = world.store.all_deliveries(containing("Ana"), PageRequest::first(10)).await.unwrap();
    let found: Vec<_> = all.rows.iter().map(|row| (row.tenant, row.row.id)).collect();
    assert_eq!(found, [(globex, others), (acme, second), (acme, first)]);
}

pub async fn a_search_of_bodies_goes_on_page_by_page<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let mut rare = Vec::new();
    for batch in 0..10 {
        let drafts: Vec<_> = (0..F::MAX_SCANNED / 10)
            .map(|n| {
                let event = world.event(acme).to(shop);
                if n == 7 && batch % 3 == 0 { event.body(r#"{"rare":1}"#) } else { event }
            })
            .collect();
        if batch % 3 == 0 {
            rare.push(drafts[7].delivery(0));
        }
        world.accept_all(drafts).await;
        world.pass(secs(1));
    }
    let (found, pages) =
        follow(&world, acme, &containing("\"rare\""), ListOrder::OldestFirst).await;
    assert_eq!(found, rare);
    assert!(pages > 5, "a page searches fewer bodies than it budget at rows: {pages} pages");
    rare.reverse();
    let (found, _) = follow(&world, acme, &containing("\"rare\""), ListOrder::NewestFirst).await;
    assert_eq!(found, rare);
}
