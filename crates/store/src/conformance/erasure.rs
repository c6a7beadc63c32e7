//! A deleted tenant leaves nothing behind, and other tenants lose nothing.

use std::time::Duration;

use bytes::Bytes;
use gancho_domain::{DeliveryId, ParcelId, State, Tenant, TenantId};

use super::{
    Fixture,
    build::{World, hours, scope},
    endpoints::plain_endpoint,
};
use crate::{
    ContentErasure, DeadFilter, DeliveryFilter, EraseStep, EventFilter, NewSuppression, Pause,
    StoreError, Suppression,
};

/// Runs steps of `max` until nothing more is removed.
async fn erase<F: Fixture>(world: &World<F>, tenant: TenantId, max: usize) -> EraseStep {
    let mut parcels = 0;
    for _ in 0..1_000 {
        let step = world.store.erase(tenant, max).await.unwrap();
        assert!(step.parcels <= max as u64, "{step:?}");
        parcels += step.parcels;
        if !step.more {
            return EraseStep { parcels, ..step };
        }
    }
    panic!("erasing never ends");
}

pub async fn a_deleted_tenant_is_gone_at_once<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let store = &world.store;
    for tenant in [acme, globex] {
        let endpoint = plain_endpoint(&world, tenant);
        store.pause(Pause::Endpoint(tenant, endpoint.id), world.now()).await.unwrap();
        store.pause(Pause::Tenant(tenant), world.now()).await.unwrap();
        store.save_endpoint(scope(tenant), endpoint).await.unwrap();
    }
    let before = store.tenant(acme).await.unwrap().unwrap();
    let version = store.endpoints_version(scope(acme)).await.unwrap();

    assert_eq!(store.delete_tenant(acme, world.now()).await, Ok(true));
    assert_eq!(store.tenant(acme).await, Ok(None));
    assert_eq!(store.tenant_by_slug(&before.slug).await, Ok(None));
    assert_eq!(store.endpoints(scope(acme)).await, Ok(Vec::new()));
    assert!(store.endpoints_version(scope(acme)).await.unwrap() > version, "nodes notice");
    let pauses = store.pauses().await.unwrap();
    assert_eq!(pauses.len(), 2, "{pauses:?}");
    assert_eq!(store.delete_tenant(acme, world.now()).await, Ok(false));

    let deleted = store.deleted_tenants(10).await.unwrap();
    assert_eq!(deleted.len(), 1);
    assert_eq!((deleted[0].id, &deleted[0].slug), (acme, &before.slug));
    assert_eq!((deleted[0].deleted_at, deleted[0].is_erased), (world.now(), false));

    // The slug is free.
    let again = Tenant { id: world.id(), ..before.clone() };
    assert_eq!(store.create_tenant(again).await, Ok(()));
    let twice = Tenant { id: world.id(), ..before };
    assert!(matches!(store.create_tenant(twice).await, Err(StoreError::Taken(_))));

    store.mark_erased(acme).await.unwrap();
    assert!(store.deleted_tenants(10).await.unwrap()[0].is_erased);
    store.forget_deleted(acme).await.unwrap();
    assert_eq!(store.deleted_tenants(10).await, Ok(Vec::new()));
}

pub async fn all_that_a_deleted_tenant_sent_goes<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let target = world.target();
    let mut sent = Vec::new();
    for tenant in [acme, globex] {
        for _ in 0..5 {
            sent.push(world.event(tenant).to(target).named("order-7"));
            sent.push(world.event(tenant).about("order-1").in_order_to(target));
        }
        sent.push(world.event(tenant)); // matches no endpoint
        sent.push(world.event(tenant).to_at(target, world.now() + hours(24)));
        let suppression = Suppression {
            address: "ana@example.com".to_owned(),
            reason: "manual".to_owned(),
            detail: None,
            since: world.now(),
        };
        let new = NewSuppression { suppression, replaces: false };
        world.store.suppress(scope(tenant), vec![new]).await.unwrap();
    }
    world.accept_all(sent).await;
    // One is delivered, one is a dead letter, one is retried, and the others wait.
    for tenant in [acme, globex] {
        let jobs: Vec<_> = world.take_all().await;
        for (place, job) in jobs.iter().filter(|job| job.parcel.tenant == tenant).enumerate() {
            match place {
                0 => world.deliver(job).await,
                1 => world.give_up(job).await,
                _ => world.retry_at(job, world.now() + hours(1)).await,
            }
        }
        for job in jobs.iter().filter(|job| job.parcel.tenant != tenant) {
            world.retry_at(job, world.now()).await;
        }
    }
    assert_eq!(world.store.erase(acme, 100).await, Ok(EraseStep::default()), "it is not deleted");
    let before = world.list(globex, DeliveryFilter::default()).await;

    world.store.delete_tenant(acme, world.now()).await.unwrap();
    let done = erase(&world, acme, 3).await;
    assert!(done.is_clean, "{done:?}");
    assert_eq!(done.parcels, 12);

    assert_eq!(world.list(acme, DeliveryFilter::default()).await, []);
    assert_eq!(world.list_events(acme, EventFilter::default()).await, []);
    let dead = DeadFilter { tenant: Some(acme), ..DeadFilter::default() };
    assert_eq!(world.dead(dead).await, []);
    assert_eq!(world.store.suppression(scope(acme), "ana@example.com").await, Ok(None));

    // Other tenants lost nothing.
    assert_eq!(world.list(globex, DeliveryFilter::default()).await, before);
    assert_eq!(world.dead(DeadFilter::default()).await.len(), 1);
    assert!(world.store.suppression(scope(globex), "ana@example.com").await.unwrap().is_some());
    world.pass(hours(25));
    let due = world.take_all().await;
    assert!(!due.is_empty() && due.iter().all(|job| job.parcel.tenant == globex));
}

/// A node keeps the delivery that it is carrying; what it settles is removed later.
pub async fn what_is_in_flight_goes_after_it_has_ended<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let target = world.target();
    for _ in 0..3 {
        world.accept(world.event(acme).about("order-1").in_order_to(target)).await;
    }
    let job = world.take_one().await;
    world.store.delete_tenant(acme, world.now()).await.unwrap();
    let first = erase(&world, acme, 100).await;
    assert_eq!((first.parcels, first.is_clean), (2, false));

    world.retry_at(&job, world.now() + Duration::from_secs(5)).await;
    let second = erase(&world, acme, 100).await;
    assert_eq!((second.parcels, second.is_clean), (1, true));
    world.pass(hours(1));
    world.nothing_is_due().await;
}

async fn erase_content<F: Fixture>(
    world: &World<F>,
    tenant: TenantId,
    id: ParcelId,
) -> ContentErasure {
    let replacement = Bytes::from_static(b"null");
    world.store.erase_content(scope(tenant), id, replacement, world.now()).await.unwrap()
}

/// Erased content cannot be read or searched any more; that the parcel existed stays recorded.
pub async fn erased_content_is_gone<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let [shop, broken] = [world.target(), world.target()];
    let secret = r#"{"name":"Ana Canary"}"#;
    let draft = |tenant| world.event(tenant).body(secret).named("canary-7").about("canary-1");
    let (own, other, kept) =
        (draft(acme).to(shop).to(broken), draft(acme).to(shop), draft(globex).to(shop));
    world.accept_all(vec![own.clone(), other.clone(), kept.clone()]).await;
    for job in world.take_all().await {
        if job.target == broken { world.give_up(&job).await } else { world.deliver(&job).await }
    }
    assert_eq!(
        erase_content(&world, globex, own.id()).await,
        ContentErasure::Unknown,
        "not theirs"
    );
    assert_eq!(erase_content(&world, acme, world.id()).await, ContentErasure::Unknown);
    let before = world.see_event(acme, own.id()).await;
    world.pass(hours(1));

    assert_eq!(erase_content(&world, acme, own.id()).await, ContentErasure::Erased);
    let world = world.reopen().await;
    let view = world.see_event(acme, own.id()).await;
    assert_eq!(view.parcel.erased_at, Some(world.now()));
    assert_eq!((&*view.parcel.body, &view.request), (b"null".as_slice(), &None));
    assert_eq!((&view.parcel.subject, &view.parcel.external_id), (&None, &None));
    assert_eq!(view.parcel.event_type, before.parcel.event_type);
    let states = |rows: &[crate::DeliveryRow]| {
        rows.iter().map(|row| (row.id, row.state)).collect::<Vec<_>>()
    };
    assert_eq!(states(&view.deliveries), states(&before.deliveries));
    for row in &view.deliveries {
        assert_erased(&world, acme, row.id).await;
    }
    let named =
        |name: &str| EventFilter { external_id: Some(name.into()), ..EventFilter::default() };
    assert_eq!(world.list_events(acme, named("canary-7")).await.len(), 1, "the other one");
    let text = DeliveryFilter { text: Some("Canary".into()), ..DeliveryFilter::default() };
    assert_eq!(world.list(acme, text).await.len(), 1);
    assert_eq!(erase_content(&world, acme, own.id()).await, ContentErasure::AlreadyErased);

    // Other tenants and other parcels of the same subject keep theirs.
    for (tenant, draft) in [(acme, &other), (globex, &kept)] {
        let view = world.see_event(tenant, draft.id()).await;
        assert_eq!((&*view.parcel.body, view.parcel.erased_at), (secret.as_bytes(), None));
    }
    // It cannot be sent any more, and is pruned like any other.
    assert!(!world.redeliver(acme, own.id(), vec![world.to(shop)]).await);
    world.pass(hours(24 * 40));
    world.prune(world.now()).await;
    assert!(world.find_event(acme, own.id()).await.is_none());
}

async fn assert_erased<F: Fixture>(world: &World<F>, tenant: TenantId, id: DeliveryId) {
    for attempt in world.see(tenant, id).await.attempts {
        assert!(attempt.request_headers.is_empty() && attempt.response_headers.is_empty());
        assert!(attempt.response_body.is_empty(), "{attempt:?}");
        let reason = attempt.failure.as_ref().map(|failure| failure.reason().to_owned());
        assert!(reason.is_none_or(|reason| reason == "erased"), "{attempt:?}");
    }
    assert_eq!(world.dead_letter(id).await, None);
}

/// A store may erase it in several steps.
pub async fn the_content_of_a_wide_event_is_erased<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let draft = world.event(acme).about("order-1").to(world.target());
    world.accept(draft.clone()).await;
    let more = (0..299).map(|_| world.to(world.target())).collect();
    assert!(world.redeliver(acme, draft.id(), more).await);
    let jobs = world.take_all().await;
    assert_eq!(jobs.len(), 300);
    for job in &jobs[1..] {
        world.give_up(job).await;
    }
    assert_eq!(erase_content(&world, acme, draft.id()).await, ContentErasure::InFlight);
    assert_eq!(world.see_event(acme, draft.id()).await.parcel.erased_at, None);
    world.give_up(&jobs[0]).await;
    assert_eq!(erase_content(&world, acme, draft.id()).await, ContentErasure::Erased);
    let view = world.see_event(acme, draft.id()).await;
    assert_eq!((view.deliveries.len(), view.parcel.erased_at), (300, Some(world.now())));
    for row in &view.deliveries {
        assert_erased(&world, acme, row.id).await;
    }
    assert_eq!(erase_content(&world, acme, draft.id()).await, ContentErasure::AlreadyErased);
}

/// Content is not erased while a delivery waits or a node holds it.
pub async fn content_in_flight_is_not_erased<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let draft = world.event(acme).about("order-1").in_order_to(world.target());
    world.accept(draft.clone()).await;
    assert_eq!(erase_content(&world, acme, draft.id()).await, ContentErasure::InFlight, "it waits");
    let job = world.take_one().await;
    assert_eq!(erase_content(&world, acme, draft.id()).await, ContentErasure::InFlight);
    assert_eq!(world.see_event(acme, draft.id()).await.parcel.erased_at, None);
    world.retry_at(&job, world.now() + hours(1)).await;
    assert_eq!(erase_content(&world, acme, draft.id()).await, ContentErasure::InFlight);
    let canceled = world.store.cancel(scope(acme), vec![job.delivery], world.now()).await;
    assert_eq!(canceled, Ok(1));
    assert_eq!(erase_content(&world, acme, draft.id()).await, ContentErasure::Erased);
    assert_eq!(world.see(acme, job.delivery).await.row.state, State::Dead);
    assert_eq!(
        world.dead(DeadFilter { code: Some("CANCELED".into()), ..DeadFilter::default() }).await,
        []
    );
    // A retry finds only that the content was erased.
    world.store.retry_now(scope(acme), job.delivery, world.now()).await.unwrap();
    assert_eq!(world.take_one().await.parcel.erased_at, Some(world.now()));
}

pub async fn the_parcels_of_a_subject_are_found<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let mut drafts = Vec::new();
    for number in 0..7 {
        drafts.push(world.event(acme).about(if number % 2 == 0 { "order-1" } else { "order-2" }));
        drafts.push(world.event(globex).about("order-1"));
        drafts.push(world.event(acme));
    }
    world.accept_all(drafts.clone()).await;
    let mut found = Vec::new();
    let mut after = None;
    for step in 0.. {
        assert!(step < 50, "it ends");
        let scan =
            world.store.parcels_about(scope(acme), "order-1".into(), after, 2).await.unwrap();
        found.extend(scan.parcels);
        after = scan.next;
        if after.is_none() {
            break;
        }
    }
    let expected: Vec<_> = drafts.iter().step_by(6).map(super::build::Draft::id).collect();
    assert_eq!(found, expected);
}
