//! Lists over all tenants: every row once, newest first, page by page, with its owner.

use gancho_domain::{DeliveryId, EventId, Lane, Status, TenantId};

use super::{
    Fixture,
    build::{Draft, World, scope, secs},
    endpoints::plain_endpoint,
};
use crate::{
    DeliveryFilter, EventFilter, NewSuppression, Page, PageRequest, Suppression, TenantRow,
};

/// Reads a list to its end. Returns all rows and the number of pages.
async fn follow<R, E: std::fmt::Debug>(
    max: usize,
    read: impl AsyncFn(PageRequest) -> Result<Page<R>, E>,
) -> (Vec<R>, usize) {
    let (mut rows, mut request) = (Vec::new(), PageRequest::first(max));
    for count in 1..10_000 {
        let page = read(request).await.unwrap();
        assert!(page.rows.len() <= max, "a page holds what was asked for");
        rows.extend(page.rows);
        match page.next {
            Some(after) => request = PageRequest::new(max, Some(after)),
            None => return (rows, count),
        }
    }
    panic!("the pages never end");
}

async fn deliveries<F: Fixture>(
    world: &World<F>,
    filter: &DeliveryFilter,
    max: usize,
) -> (Vec<(TenantId, DeliveryId)>, usize) {
    let read = async |page| world.store.all_deliveries(filter.clone(), page).await;
    let (rows, pages) = follow(max, read).await;
    (rows.into_iter().map(|TenantRow { tenant, row }| (tenant, row.id)).collect(), pages)
}

async fn events<F: Fixture>(
    world: &World<F>,
    filter: &EventFilter,
    max: usize,
) -> Vec<(TenantId, EventId)> {
    let read = async |page| world.store.all_events(filter.clone(), page).await;
    let (rows, _) = follow(max, read).await;
    rows.into_iter().map(|TenantRow { tenant, row }| (tenant, row.id)).collect()
}

async fn accept<F: Fixture>(world: &World<F>, drafts: &[Draft]) {
    for batch in drafts.chunks(20) {
        world.accept_all(batch.to_vec()).await;
        world.pass(secs(1));
    }
}

pub async fn deliveries_of_all_come_newest_first<F: Fixture>() {
    let world = World::<F>::new().await;
    let tenants = [world.tenant().await, world.tenant().await, world.tenant().await];
    let targets = [world.target(), world.target()];
    let mut drafts = Vec::new();
    for n in 0..61 {
        let event = world.event(tenants[n % 3]).typed(if n % 7 == 0 { "rare" } else { "usual" });
        drafts.push(event.to(targets[0]).to(targets[1]));
    }
    accept(&world, &drafts).await;
    let made = |keeps: &dyn Fn(&Draft) -> bool| -> Vec<(TenantId, DeliveryId)> {
        let fitting = drafts.iter().rev().filter(|draft| keeps(draft));
        let both = |draft: &Draft| {
            let tenant = draft.parcel().tenant;
            [(tenant, draft.delivery(1)), (tenant, draft.delivery(0))]
        };
        let mut all: Vec<_> = fitting.flat_map(both).collect();
        all.sort_by_key(|(_, id)| std::cmp::Reverse(*id));
        all
    };
    let all = DeliveryFilter::default();
    let rare = DeliveryFilter { event_type: Some("rare".to_owned()), ..all.clone() };
    for max in [1, 7, 50, 500] {
        assert_eq!(deliveries(&world, &all, max).await.0, made(&|_| true), "pages of {max}");
        let found = deliveries(&world, &rare, max).await.0;
        assert_eq!(found, made(&|one| &*one.parcel().event_type == "rare"), "pages of {max}");
        let prefix = DeliveryFilter { event_type_prefix: Some("ra".to_owned()), ..all.clone() };
        assert_eq!(deliveries(&world, &prefix, max).await.0, found, "pages of {max}");
    }
    let pending = DeliveryFilter { status: Some(Status::Pending), ..all.clone() };
    assert_eq!(deliveries(&world, &pending, 50).await.0.len(), 122);
    let of_target = DeliveryFilter { endpoint: Some(targets[0]), ..all.clone() };
    assert_eq!(deliveries(&world, &of_target, 50).await.0.len(), 61);
    for none in [
        DeliveryFilter { status: Some(Status::Delivered), ..all.clone() },
        DeliveryFilter { lane: Some(Lane::Email), ..all.clone() },
        DeliveryFilter { until: Some(drafts[0].parcel().created_at), ..all.clone() },
        DeliveryFilter { since: Some(world.now()), ..all.clone() },
    ] {
        assert_eq!(deliveries(&world, &none, 50).await.0, [], "{none:?}");
    }
}

pub async fn what_no_tenant_has_is_looked_for_page_by_page<F: Fixture>() {
    let world = World::<F>::new().await;
    let tenants = [world.tenant().await, world.tenant().await];
    let target = world.target();
    let drafts: Vec<_> =
        (0..F::MAX_SCANNED * 2).map(|n| world.event(tenants[n % 2]).to(target)).collect();
    for batch in drafts.chunks(200) {
        world.accept_all(batch.to_vec()).await;
        world.pass(secs(1));
    }
    let nobody = Some("nobody.knows".to_owned());
    let filter = DeliveryFilter { event_type: nobody.clone(), ..DeliveryFilter::default() };
    let (found, pages) = deliveries(&world, &filter, 50).await;
    assert_eq!(found, []);
    assert!((2..200).contains(&pages), "{pages} pages");
    let filter = EventFilter { event_type: nobody, ..EventFilter::default() };
    assert_eq!(events(&world, &filter, 50).await, []);
}

pub async fn events_of_all_come_newest_first<F: Fixture>() {
    let world = World::<F>::new().await;
    let tenants = [world.tenant().await, world.tenant().await];
    let target = world.target();
    let mut drafts = Vec::new();
    for n in 0..41 {
        let event = world.event(tenants[n % 2]).typed("a.b");
        drafts.push(if n % 5 == 0 { event } else { event.to(target) });
    }
    accept(&world, &drafts).await;
    let newest_first = drafts.iter().rev();
    let made: Vec<_> = newest_first.map(|one| (one.parcel().tenant, one.id())).collect();
    for max in [1, 10, 100] {
        assert_eq!(events(&world, &EventFilter::default(), max).await, made, "pages of {max}");
    }
    let unmatched = EventFilter { is_unmatched: true, ..EventFilter::default() };
    assert_eq!(events(&world, &unmatched, 4).await.len(), 9);
    for (tenant, event) in made {
        assert_eq!(world.store.event_owner(event).await.unwrap(), Some(tenant));
    }
    assert_eq!(world.store.event_owner(world.id()).await.unwrap(), None);
}

pub async fn owners_of_an_external_id_are_found<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex, other] = [world.tenant().await, world.tenant().await, world.tenant().await];
    let target = world.target();
    let drafts = [
        world.event(acme).named("order-1").to(target),
        world.event(acme).named("order-1"),
        world.event(globex).named("order-1"),
        world.event(other).named("order-2").to(target),
    ];
    accept(&world, &drafts).await;
    let owners = async |name: &str, max| {
        let mut found = world.store.external_id_owners(name, max).await.unwrap();
        found.sort_unstable();
        found
    };
    let mut both = [acme, globex];
    both.sort_unstable();
    assert_eq!(owners("order-1", 9).await, both);
    assert_eq!(owners("order-1", 1).await.len(), 1);
    assert_eq!(owners("order-2", 9).await, [other]);
    assert!(owners("order", 9).await.is_empty());
}

pub async fn endpoints_of_all_come_newest_first<F: Fixture>() {
    let world = World::<F>::new().await;
    let tenants = [world.tenant().await, world.tenant().await];
    let mut made = Vec::new();
    for n in 0..9 {
        let endpoint = plain_endpoint(&world, tenants[n % 2]);
        made.push((endpoint.tenant, endpoint.id));
        world.store.save_endpoint(scope(endpoint.tenant), endpoint).await.unwrap();
    }
    made.reverse();
    for max in [1, 4, 50] {
        let (mut found, mut before) = (Vec::new(), None);
        loop {
            let page = world.store.all_endpoints(before, max).await.unwrap();
            assert!(page.len() <= max);
            let Some(last) = page.last() else { break };
            before = Some(last.id);
            found.extend(page.iter().map(|endpoint| (endpoint.tenant, endpoint.id)));
        }
        assert_eq!(found, made, "pages of {max}");
    }
    let (tenant, id) = made[3];
    assert_eq!(world.store.endpoint_owner(id).await.unwrap(), Some(tenant));
    assert_eq!(world.store.endpoint_owner(world.id()).await.unwrap(), None);
}

pub async fn suppressions_of_all_come_by_tenant<F: Fixture>() {
    let world = World::<F>::new().await;
    let mut tenants = [world.tenant().await, world.tenant().await];
    tenants.sort();
    let mut made = Vec::new();
    for tenant in tenants {
        for address in ["a@x.test", "b@x.test", "é@x.test"] {
            let suppression = Suppression {
                address: address.to_owned(),
                reason: "bounce".to_owned(),
                detail: None,
                since: world.now(),
            };
            let new = NewSuppression { suppression: suppression.clone(), replaces: false };
            world.store.suppress(scope(tenant), vec![new]).await.unwrap();
            made.push(TenantRow { tenant, row: suppression });
        }
    }
    assert_eq!(world.store.all_suppressions(None, 100).await.unwrap(), made);
    let (mut found, mut after) = (Vec::new(), None);
    for _ in 0..made.len() {
        let page = world.store.all_suppressions(after, 1).await.unwrap();
        after = page.last().map(|last| (last.tenant, last.row.address.clone()));
        found.extend(page);
    }
    assert_eq!(found, made, "page by page");
    assert_eq!(world.store.all_suppressions(after, 1).await.unwrap(), []);
}
