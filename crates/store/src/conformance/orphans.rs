//! Deliveries that wait for a deleted endpoint end, and its pause is removed with it.

use gancho_domain::{Code, Endpoint, EndpointId, Lane, State, TenantId};

use super::{
    Fixture,
    build::{World, hours, ids, scope, secs},
    endpoints::plain_endpoint,
};
use crate::{OrphanScan, Pause, TenantEndpoint};

async fn saved<F: Fixture>(world: &World<F>, tenant: TenantId) -> Endpoint {
    let endpoint = plain_endpoint(world, tenant);
    world.store.save_endpoint(scope(tenant), endpoint.clone()).await.unwrap();
    endpoint
}

async fn give_up<F: Fixture>(
    world: &World<F>,
    tenant: TenantId,
    endpoint: EndpointId,
    max: usize,
) -> u64 {
    let now = world.now();
    world.store.give_up_orphans(scope(tenant), endpoint, max, now).await.unwrap().len() as u64
}

/// Returns all orphans, in steps of `budget` rows.
async fn orphans<F: Fixture>(world: &World<F>, budget: usize) -> Vec<TenantEndpoint> {
    let mut all = Vec::new();
    let mut after = None;
    for _ in 0..1_000 {
        let OrphanScan { orphaned, next } = world.store.scan_orphans(after, budget).await.unwrap();
        all.extend(orphaned);
        match next {
            Some(_) => after = next,
            None => return all,
        }
    }
    panic!("the scan never ends");
}

// faults.md 8
pub async fn a_pause_goes_with_its_endpoint<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let [shop, crm] = [saved(&world, acme).await, saved(&world, acme).await];
    let store = &world.store;
    let left = [
        Pause::Lane(Lane::Webhook),
        Pause::Tenant(acme),
        Pause::Endpoint(acme, crm.id),
        // An endpoint of another tenant with the same id.
        Pause::Endpoint(globex, shop.id),
    ];
    for what in left.into_iter().chain([Pause::Endpoint(acme, shop.id)]) {
        store.pause(what, world.now()).await.unwrap();
    }
    assert_eq!(store.delete_endpoint(scope(acme), shop.id).await, Ok(true));
    let mut pauses = store.pauses().await.unwrap();
    pauses.sort_unstable();
    assert_eq!(pauses, left);

    assert_eq!(store.lift_orphaned_pauses().await, Ok(1), "the one of an endpoint that never was");
    let mut pauses = store.pauses().await.unwrap();
    pauses.sort_unstable();
    assert_eq!(pauses, left[..3]);
    assert_eq!(store.lift_orphaned_pauses().await, Ok(0));
}

// faults.md 8: it ends, whatever it waits for.
pub async fn what_waits_for_a_deleted_endpoint_ends<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let (shop, crm) = (saved(&world, acme).await, saved(&world, acme).await);
    let retried = world.due(acme, shop.id).await;
    let job = world.take_one().await;
    world.retry_at(&job, world.now() + hours(8)).await;
    world.due(acme, shop.id).await;
    let in_flight = world.take_one().await;
    let others = world.due(acme, crm.id).await;
    let mut drafts = vec![
        world.event(acme).to(shop.id),
        world.event(acme).to_at(shop.id, world.now() + hours(24 * 365)),
    ];
    for _ in 0..3 {
        drafts.push(world.event(acme).about("order-1").in_order_to(shop.id));
    }
    let made: Vec<_> = drafts.iter().map(|draft| draft.delivery(0)).collect();
    world.accept_all(drafts).await;

    assert_eq!(give_up(&world, acme, shop.id, 100).await, 0, "it is there");
    assert_eq!(orphans(&world, 10).await, []);
    world.store.delete_endpoint(scope(acme), shop.id).await.unwrap();
    world.pass(secs(1));
    assert_eq!(orphans(&world, 10).await, [(acme, shop.id)]);
    let mut count = 0;
    while let step @ 1.. = give_up(&world, acme, shop.id, 2).await {
        assert!(step <= 2, "no more than asked");
        count += step;
    }
    assert_eq!(count, 6);
    assert_eq!(orphans(&world, 10).await, []);
    for id in made.into_iter().chain([retried]) {
        let row = world.see(acme, id).await.row;
        let letter = world.dead_letter(id).await.unwrap();
        assert_eq!((row.state, letter.failure.code()), (State::Dead, &Code::TARGET_GONE));
        assert_eq!(letter.moved_at, world.now());
        assert_eq!(u32::from(id == retried), letter.failed_attempts);
        let keeps_the_last = letter.failure.reason().contains("TIMEOUT: no answer within 15 s");
        assert_eq!(keeps_the_last, id == retried, "{}", letter.failure);
    }
    // The attempt in flight may have any result; if it is retried, the next sweep finds it.
    world.retry_at(&in_flight, world.now() + hours(8)).await;
    assert_eq!(orphans(&world, 10).await, [(acme, shop.id)]);
    assert_eq!(give_up(&world, acme, shop.id, 100).await, 1);
    world.pass(hours(24 * 400));
    assert_eq!(ids(&world.take_all().await), [others], "nothing else is left");
}

pub async fn a_scan_finds_each_orphan_once<F: Fixture>() {
    let world = World::<F>::new().await;
    let mut expected = Vec::new();
    for _ in 0..3 {
        let tenant = world.tenant().await;
        for place in 0..4 {
            let endpoint = saved(&world, tenant).await;
            world.many_due(tenant, endpoint.id, 3).await;
            if place % 2 == 0 {
                world.store.delete_endpoint(scope(tenant), endpoint.id).await.unwrap();
                expected.push((tenant, endpoint.id));
            }
        }
        // Targets of other lanes are not endpoints.
        world.accept(world.event(tenant).in_lane(Lane::Email, tenant.cast())).await;
        world.accept(world.event(tenant).in_lane(Lane::Dispatch, world.target())).await;
    }
    expected.sort_unstable();
    for budget in [1, 2, 5, 12, 100] {
        assert_eq!(orphans(&world, budget).await, expected, "{budget} at a time");
    }
}
