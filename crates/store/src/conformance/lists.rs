//! A page of a list costs a bounded scan, whatever the filter and however much there is.

use std::collections::BTreeSet;

use gancho_domain::{DeliveryId, EventId, Lane, Status, TenantId};

use super::{
    Fixture,
    build::{Draft, World, scope, secs},
};
use crate::{DeliveryFilter, EventFilter, ListOrder, Page, PageRequest};

/// Reads a list to its end. Returns all rows and the number of pages.
async fn follow<R, E: std::fmt::Debug>(
    max: usize,
    read: impl AsyncFn(PageRequest) -> Result<Page<R>, E>,
) -> (Vec<R>, usize) {
    follow_from(PageRequest::first(max), read).await
}

async fn follow_from<R, E: std::fmt::Debug>(
    first: PageRequest,
    read: impl AsyncFn(PageRequest) -> Result<Page<R>, E>,
) -> (Vec<R>, usize) {
    let (max, order) = (first.max, first.order);
    let (mut rows, mut request) = (Vec::new(), first);
    for count in 1..10_000 {
        let page = read(request).await.unwrap();
        assert!(page.rows.len() <= max, "a page holds what was asked for");
        rows.extend(page.rows);
        match page.next {
            Some(after) => request = PageRequest::new(max, Some(after)).in_order(order),
            None => return (rows, count),
        }
    }
    panic!("the pages never end");
}

async fn deliveries<F: Fixture>(
    world: &World<F>,
    tenant: TenantId,
    filter: DeliveryFilter,
    max: usize,
) -> (Vec<DeliveryId>, usize) {
    let read = async |page| world.store.deliveries(scope(tenant), filter.clone(), page).await;
    let (rows, pages) = follow(max, read).await;
    (rows.into_iter().map(|row| row.id).collect(), pages)
}

async fn events<F: Fixture>(
    world: &World<F>,
    tenant: TenantId,
    filter: EventFilter,
    max: usize,
) -> (Vec<EventId>, usize) {
    let read = async |page| world.store.events(scope(tenant), filter.clone(), page).await;
    let (rows, pages) = follow(max, read).await;
    (rows.into_iter().map(|row| row.id).collect(), pages)
}

async fn accept<F: Fixture>(world: &World<F>, drafts: Vec<Draft>) {
    for batch in drafts.chunks(200) {
        world.accept_all(batch.to_vec()).await;
        world.pass(secs(1));
    }
}

fn typed(event_type: &str) -> DeliveryFilter {
    DeliveryFilter { event_type: Some(event_type.to_owned()), ..DeliveryFilter::default() }
}

/// faults.md 4: a filter that matches nothing ends after a bounded scan, and returns where to continue.
pub async fn what_is_not_there_is_looked_for_page_by_page<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let targets = [world.target(), world.target(), world.target()];
    let count = F::MAX_SCANNED;
    let many = (0..count).map(|n| {
        let event = world.event(if n % 4 == 0 { globex } else { acme }).typed("order.made");
        if n % 5 == 0 { event } else { targets.iter().fold(event, |event, to| event.to(*to)) }
    });
    accept(&world, many.collect()).await;
    // The minimum number of pages, because each scans a bounded number of rows.
    let often = |rows: usize| rows / F::MAX_SCANNED;
    for (filter, rows) in [
        (typed("nobody.knows"), count * 3 / 5),
        (DeliveryFilter { status: Some(Status::Delivered), ..Default::default() }, count * 3 / 5),
        (DeliveryFilter { endpoint: Some(targets[1]), ..typed("nobody.knows") }, count / 5),
        (DeliveryFilter { endpoint: Some(world.target()), ..Default::default() }, 0),
        (DeliveryFilter { status: Some(Status::Failed), ..Default::default() }, 0),
        (DeliveryFilter { lane: Some(Lane::Email), ..Default::default() }, 0),
        (DeliveryFilter { external_id: Some("nobody".to_owned()), ..Default::default() }, 0),
        (DeliveryFilter { text: Some("nowhere".to_owned()), ..Default::default() }, count * 3 / 5),
    ] {
        let (found, pages) = deliveries(&world, acme, filter.clone(), 50).await;
        assert_eq!(found, [], "{filter:?}");
        assert!(pages > often(rows), "{filter:?}: {pages} pages");
        assert!(pages < 200, "{filter:?}: {pages} pages");
    }
    let nobody = EventFilter { event_type: Some("nobody.knows".to_owned()), ..Default::default() };
    for filter in [nobody.clone(), EventFilter { is_unmatched: true, ..nobody }] {
        let (found, pages) = events(&world, acme, filter.clone(), 50).await;
        assert_eq!(found, [], "{filter:?}");
        assert!(pages < 200, "{filter:?}: {pages} pages");
    }
}

pub async fn what_is_far_back_is_found<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let [shop, crm] = [world.target(), world.target()];
    let (mut rare, mut lost, mut drafts) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..F::MAX_SCANNED * 3 / 2 {
        let event = world.event(acme).to(shop).to(crm);
        drafts.push(if n % (F::MAX_SCANNED / 4) == 7 { event.typed("rare") } else { event });
        if n % (F::MAX_SCANNED / 3) == 11 {
            drafts.push(world.event(acme).typed("rare"));
            lost.extend(drafts.last().map(Draft::id));
        }
    }
    let is_rare = |draft: &&Draft| &*draft.parcel().event_type == "rare";
    let all = drafts.iter().filter(is_rare).map(Draft::id).collect::<BTreeSet<_>>();
    rare.extend(drafts.iter().filter(is_rare).filter(|one| !lost.contains(&one.id())).cloned());
    accept(&world, drafts).await;
    let of_shop: Vec<_> = rare.iter().rev().map(|draft| draft.delivery(0)).collect();
    let of_both: Vec<_> =
        rare.iter().rev().flat_map(|draft| [draft.delivery(1), draft.delivery(0)]).collect();
    let all: Vec<_> = all.into_iter().rev().collect();
    lost.reverse();
    for max in [1, 4, 50] {
        let (found, _) = deliveries(&world, acme, typed("rare"), max).await;
        assert_eq!(found, of_both, "pages of {max}");
        let filter = DeliveryFilter { endpoint: Some(shop), ..typed("rare") };
        assert_eq!(deliveries(&world, acme, filter, max).await.0, of_shop, "pages of {max}");
        let filter = EventFilter { event_type: Some("rare".to_owned()), ..Default::default() };
        assert_eq!(events(&world, acme, filter.clone(), max).await.0, all, "pages of {max}");
        let filter = EventFilter { is_unmatched: true, ..filter };
        assert_eq!(events(&world, acme, filter, max).await.0, lost, "pages of {max}");
    }
}

/// faults.md 3: a page is not made of a page of each target.
pub async fn a_tenant_with_thousands_of_targets_has_lists<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let targets: Vec<_> = (0..1_500).map(|_| world.target()).collect();
    let (mut made, mut ids) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let event = targets.iter().fold(world.event(acme), |event, to| event.to(*to));
        made.extend((0..targets.len()).map(|place| event.delivery(place)));
        ids.push(event.id());
        world.accept(event).await;
        world.pass(secs(10));
    }
    let jobs = world.take_until_done(world.claim()).await.0;
    for job in jobs.iter().step_by(100) {
        world.give_up(job).await;
    }
    made.reverse();
    ids.reverse();
    let first = PageRequest::first(50);
    let page = world.store.deliveries(scope(acme), DeliveryFilter::default(), first.clone()).await;
    let page = page.unwrap();
    let found: Vec<_> = page.rows.iter().map(|row| row.id).collect();
    assert_eq!(found, made[..50], "the first page is full");
    assert_eq!(deliveries(&world, acme, DeliveryFilter::default(), 500).await.0, made);
    let one = DeliveryFilter { endpoint: Some(targets[700]), ..Default::default() };
    assert_eq!(deliveries(&world, acme, one, 2).await.0.len(), 3);
    let failed = DeliveryFilter { status: Some(Status::Failed), ..Default::default() };
    assert_eq!(deliveries(&world, acme, failed, 7).await.0.len(), 45);
    assert_eq!(events(&world, acme, EventFilter::default(), 2).await.0, ids);
    for event in ids {
        let filter = DeliveryFilter { event: Some(event), ..Default::default() };
        assert_eq!(deliveries(&world, acme, filter, 400).await.0.len(), 1_500);
    }
}

/// The publisher may give one external id to everything that it publishes.
pub async fn many_events_of_one_id_are_listed_page_by_page<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let [shop, crm] = [world.target(), world.target()];
    let drafts: Vec<_> = (0..F::MAX_SCANNED)
        .map(|n| {
            let event = world.event(acme).named("all");
            if n % 3 == 0 { event.to(shop).to(crm) } else { event }
        })
        .collect();
    let made: Vec<_> = drafts.iter().rev().map(Draft::id).collect();
    let sent: Vec<_> = drafts.iter().rev().step_by(1).filter(|one| one.has_deliveries()).collect();
    let sent: Vec<_> =
        sent.into_iter().flat_map(|one| [one.delivery(1), one.delivery(0)]).collect();
    accept(&world, drafts.clone()).await;
    let named = EventFilter { external_id: Some("all".to_owned()), ..Default::default() };
    let of_named = DeliveryFilter { external_id: Some("all".to_owned()), ..Default::default() };
    let of_shop = DeliveryFilter { endpoint: Some(shop), ..of_named.clone() };
    for max in [7, 500] {
        assert_eq!(events(&world, acme, named.clone(), max).await.0, made);
        assert_eq!(deliveries(&world, acme, of_named.clone(), max).await.0, sent);
        assert_eq!(deliveries(&world, acme, of_shop.clone(), max).await.0.len(), sent.len() / 2);
    }
    let unmatched = EventFilter { is_unmatched: true, ..named };
    assert_eq!(events(&world, acme, unmatched, 50).await.0.len(), made.len() - sent.len() / 2);
}

/// Pages continue where they ended, whatever is added and removed meanwhile.
pub async fn what_comes_meanwhile_does_not_disturb_a_list<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let mut made = world.many_due(acme, shop, 100).await;
    made.reverse();
    let read = async |page: PageRequest| {
        world.pass(secs(1));
        world.many_due(acme, shop, 3).await;
        world.store.deliveries(scope(acme), DeliveryFilter::default(), page).await
    };
    let (rows, _) = follow(10, read).await;
    let found: Vec<_> = rows.into_iter().map(|row| row.id).skip(3).collect();
    assert_eq!(found, made, "after the three that had come before the first page");
}

/// faults.md B2: replays read from the oldest on.
pub async fn oldest_first_is_newest_first_backwards<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let [shop, crm] = [world.target(), world.target()];
    let start = world.now();
    for batch in 0..20 {
        let drafts = (0..10).map(|n| {
            let event = world.event(if n == 4 { globex } else { acme });
            let event = event.typed(if n % 3 == 0 { "rare" } else { "usual" });
            let event = if n < 3 { event.named("all") } else { event };
            match n % 4 {
                0 => event,
                1 => event.to(shop),
                _ => event.to(shop).to(crm),
            }
        });
        world.accept_all(drafts.collect()).await;
        if batch % 5 == 0 {
            for job in world.take_all().await.iter().step_by(3) {
                world.give_up(job).await;
            }
        }
        world.pass(secs(1));
    }
    let (since, until) = (Some(start + secs(3)), Some(start + secs(15)));
    let event = world.list_events(acme, EventFilter::default()).await[7].id;
    let all = DeliveryFilter::default;
    let named = Some("all".to_owned());
    for max in [1, 7, 500] {
        let oldest = PageRequest::first(max).in_order(ListOrder::OldestFirst);
        for (filter, is_empty) in [
            (all(), false),
            (DeliveryFilter { lane: Some(Lane::Webhook), ..all() }, false),
            (DeliveryFilter { endpoint: Some(crm), ..all() }, false),
            (DeliveryFilter { status: Some(Status::Failed), ..all() }, false),
            (DeliveryFilter { status: Some(Status::Failed), endpoint: Some(shop), ..all() }, false),
            (DeliveryFilter { since, until, ..all() }, false),
            (DeliveryFilter { since, until, endpoint: Some(shop), ..all() }, false),
            (DeliveryFilter { event: Some(event), ..all() }, false),
            (DeliveryFilter { external_id: named.clone(), ..all() }, false),
            (DeliveryFilter { external_id: named.clone(), since, until, ..all() }, false),
            (typed("rare"), false),
            (DeliveryFilter { lane: Some(Lane::Email), ..all() }, true),
        ] {
            let (mut expected, _) = deliveries(&world, acme, filter.clone(), max).await;
            expected.reverse();
            let read = async |page| world.store.deliveries(scope(acme), filter.clone(), page).await;
            let (rows, _) = follow_from(oldest.clone(), read).await;
            let found: Vec<_> = rows.into_iter().map(|row| row.id).collect();
            assert_eq!(found, expected, "pages of {max}: {filter:?}");
            assert_eq!(found.is_empty(), is_empty, "{filter:?}");
        }
        let all = EventFilter::default;
        for filter in [
            all(),
            EventFilter { event_type: Some("rare".to_owned()), ..all() },
            EventFilter { is_unmatched: true, ..all() },
            EventFilter { external_id: named.clone(), ..all() },
            EventFilter { since, until, ..all() },
        ] {
            let (mut expected, _) = events(&world, acme, filter.clone(), max).await;
            expected.reverse();
            let read = async |page| world.store.events(scope(acme), filter.clone(), page).await;
            let (rows, _) = follow_from(oldest.clone(), read).await;
            let found: Vec<_> = rows.into_iter().map(|row| row.id).collect();
            assert_eq!(found, expected, "pages of {max}: {filter:?}");
            assert!(!found.is_empty(), "{filter:?}");
        }
    }
}

/// faults.md B2: oldest first costs no more than newest first.
pub async fn what_is_not_there_is_looked_for_from_the_oldest_on<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let [shop, crm] = [world.target(), world.target()];
    let count = F::MAX_SCANNED;
    accept(&world, (0..count).map(|_| world.event(acme).to(shop).to(crm)).collect()).await;
    let oldest = PageRequest::first(50).in_order(ListOrder::OldestFirst);
    for filter in [
        typed("nobody.knows"),
        DeliveryFilter { endpoint: Some(crm), ..typed("nobody.knows") },
        DeliveryFilter { status: Some(Status::Delivered), ..Default::default() },
    ] {
        let read = async |page| world.store.deliveries(scope(acme), filter.clone(), page).await;
        let (rows, pages) = follow_from(oldest.clone(), read).await;
        assert_eq!(rows, [], "{filter:?}");
        assert!((2..200).contains(&pages), "{filter:?}: {pages} pages");
    }
    let nobody = EventFilter { event_type: Some("nobody.knows".to_owned()), ..Default::default() };
    let read = async |page| world.store.events(scope(acme), nobody.clone(), page).await;
    let (rows, pages) = follow_from(oldest, read).await;
    assert_eq!(rows, []);
    assert!(pages < 200, "{pages} pages");
}
