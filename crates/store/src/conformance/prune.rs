//! Old parcels that have ended are removed; nothing else is.

use gancho_domain::{Lane, ParcelKind, Tenant, TenantId, tenant::TenantRetention};

use super::{
    Fixture,
    build::{Draft, World, hours, number, placed, secs},
};
use crate::{AcceptOutcome, DeadFilter};

pub async fn only_what_is_old_and_has_ended_goes<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let [shop, crm] = [world.target(), world.target()];
    let drafts = [
        world.event(acme).to(shop).to(crm),
        world.event(acme).to(shop),
        world.event(acme).to(shop).to(crm),
        world.event(acme).to(shop),
        world.event(acme),
    ];
    let [delivered, dead, half, pending, lonely] = drafts.each_ref().map(Draft::id);
    world.accept_all(drafts.to_vec()).await;
    for job in world.take_all().await {
        match job.parcel.id {
            id if id == dead => world.give_up(&job).await,
            id if id == half && job.target == crm => (),
            id if id == pending => world.retry_at(&job, world.now() + hours(90)).await,
            _ => world.deliver(&job).await,
        }
    }
    world.pass(secs(1));
    let limit = world.now();
    let young = world.event(acme);
    let young_id = young.id();
    world.accept(young).await;
    world.pass(hours(1));

    assert_eq!(world.prune(limit).await, 2);
    for (id, stays) in [
        (delivered, false),
        (lonely, false),
        (dead, true),
        (half, true),
        (pending, true),
        (young_id, true),
    ] {
        let found = world.find_event(acme, id).await;
        assert_eq!(found.is_some(), stays, "{id}");
    }
    assert_eq!(world.prune(limit).await, 0);
    let dead_letters = world.dead(DeadFilter::default()).await;
    assert_eq!(dead_letters.len(), 1);
}

pub async fn deliveries_and_attempts_go_with_their_parcel<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let job = world.take_one().await;
    world.retry_at(&job, world.now()).await;
    let job = world.take_one().await;
    world.deliver(&job).await;
    world.pass(hours(1));
    let now = world.now();
    assert_eq!(world.prune(now).await, 1);
    assert_eq!(world.find(acme, id).await, None);
    let rows = world.list(acme, crate::DeliveryFilter::default()).await;
    assert_eq!(rows, []);
    world.nothing_is_due().await;
}

pub async fn no_more_go_than_asked<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    // One at the front must stay, and must not stop the others.
    let stays = world.due(acme, shop).await;
    assert_eq!(world.take_one().await.delivery, stays);
    world.many_due(acme, shop, 25).await;
    for job in world.take_all().await {
        world.deliver(&job).await;
    }
    world.pass(hours(1));
    let now = world.now();
    let mut gone = 0;
    for _ in 0..10 {
        let pruned = world.store.prune(now, 10, now).await.unwrap();
        assert!(pruned.parcels <= 10);
        gone += pruned.parcels;
    }
    assert_eq!(gone, 25);
    assert!(world.find(acme, stays).await.is_some());
}

pub async fn a_purged_dead_letter_no_longer_keeps_its_parcel<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let job = world.take_one().await;
    world.give_up(&job).await;
    world.pass(hours(1));
    let now = world.now();
    assert_eq!(world.prune(now).await, 0);
    let purged = world.store.purge_dead(DeadFilter::default(), 10).await;
    assert_eq!(purged, Ok(1));
    assert_eq!(world.prune(now).await, 1);
    assert_eq!(world.find(acme, id).await, None);
}

pub async fn one_that_is_replayed_stays<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let job = world.take_one().await;
    world.give_up(&job).await;
    world.replay(DeadFilter::default(), 10).await;
    world.pass(hours(1));
    let now = world.now();
    assert_eq!(world.prune(now).await, 0);
    let job = world.take_one().await;
    assert_eq!(job.delivery, id);
    world.deliver(&job).await;
    assert_eq!(world.prune(now).await, 1);
}

pub async fn keys_whose_time_is_over_are_forgotten<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let start = world.now();
    let short = world.event(acme).about("order-1").once(1, 1, start + hours(1));
    let long = world.event(acme).once(2, 1, start + hours(3));
    let long_id = long.id();
    // Created within the short key's time, but accepted after it: a key that was merely out of date would
    // still count.
    let late = world.event(acme).about("order-1").once(1, 1, start + hours(1));
    world.accept_all(vec![short, long]).await;
    world.pass(hours(2));
    let now = world.now();
    assert_eq!(world.prune(now).await, 2);

    assert_eq!(number(&world.accept(late).await), Some(1), "nothing of the subject was left");
    let answer = world.accept(world.event(acme).once(2, 1, now + hours(1))).await;
    let first = AcceptOutcome::Again { first: long_id };
    assert_eq!(answer, first, "a key in its time outlives its parcel");
    world.pass(hours(2));
    let late = world.now();
    world.prune(late).await;
    let fresh = world.event(acme).once(2, 9, late + hours(1));
    assert_eq!(placed(&world.accept(fresh).await), []);
}

async fn keeping<F: Fixture>(world: &World<F>, retention: TenantRetention) -> TenantId {
    let id = world.tenant().await;
    let tenant = world.store.tenant(id).await.unwrap().unwrap();
    assert_eq!(world.store.change_tenant(Tenant { retention, ..tenant }).await, Ok(true));
    id
}

/// Prunes with the default of a day until there is nothing more.
async fn prune<F: Fixture>(world: &World<F>) -> u64 {
    world.prune(world.now() - hours(24)).await
}

pub async fn a_tenants_own_retention_comes_before_the_default<F: Fixture>() {
    let world = World::<F>::new().await;
    let own = |events| TenantRetention { events: Some(events), ..TenantRetention::default() };
    let short = keeping(&world, own(hours(1))).await;
    let long = keeping(&world, own(hours(72))).await;
    let usual = world.tenant().await;
    let shop = world.target();
    for tenant in [short, long, usual] {
        world.many_due(tenant, shop, 30).await;
    }
    for job in world.take_all().await {
        world.deliver(&job).await;
    }
    let left = async || {
        let mut left = Vec::new();
        for tenant in [short, long, usual] {
            left.push(world.list(tenant, crate::DeliveryFilter::default()).await.len());
        }
        left
    };
    for (passed, gone, expected) in [
        (secs(3_500), 0, [30, 30, 30]),
        (secs(200), 30, [0, 30, 30]),
        (hours(22), 0, [0, 30, 30]),
        (hours(2), 30, [0, 30, 0]),
        (hours(40), 0, [0, 30, 0]),
        (hours(10), 30, [0, 0, 0]),
    ] {
        world.pass(passed);
        assert_eq!((prune(&world).await, left().await), (gone, expected.to_vec()), "{passed:?}");
    }
    // Without a retention of its own, the default applies again.
    let tenant = world.store.tenant(long).await.unwrap().unwrap();
    let retention = TenantRetention::default();
    world.store.change_tenant(Tenant { retention, ..tenant }).await.unwrap();
    world.many_due(long, shop, 3).await;
    for job in world.take_all().await {
        world.deliver(&job).await;
    }
    world.pass(hours(25));
    assert_eq!(prune(&world).await, 3);
}

pub async fn each_kind_has_its_own_retention<F: Fixture>() {
    let world = World::<F>::new().await;
    let retention =
        TenantRetention { events: Some(hours(48)), emails: Some(hours(1)), dead_letters: None };
    let acme = keeping(&world, retention).await;
    let event = world.event(acme);
    let email = world.event(acme).kind(ParcelKind::Email);
    let receipt = world.event(acme).kind(ParcelKind::Receipt);
    let [event_id, email_id, receipt_id] = [&event, &email, &receipt].map(Draft::id);
    world.accept_all(vec![event, email, receipt]).await;
    let left = async || {
        let mut left = Vec::new();
        for id in [event_id, email_id, receipt_id] {
            left.push(world.find_event(acme, id).await.is_some());
        }
        left
    };
    for (passed, expected) in [
        (hours(2), [true, false, true]),
        (hours(23), [true, false, false]),
        (hours(24), [false, false, false]),
    ] {
        world.pass(passed);
        prune(&world).await;
        assert_eq!(left().await, expected, "{passed:?}");
    }
}

pub async fn dead_letters_expire_by_their_tenants_retention<F: Fixture>() {
    let world = World::<F>::new().await;
    let retention = TenantRetention { dead_letters: Some(hours(2)), ..TenantRetention::default() };
    let [acme, usual] = [keeping(&world, retention).await, world.tenant().await];
    let shop = world.target();
    let mut ids = Vec::new();
    for tenant in [acme, usual] {
        ids.push(world.due(tenant, shop).await);
    }
    for job in world.take_all().await {
        world.give_up(&job).await;
    }
    let given_up = world.now();
    let expiry = async |id| world.dead_letter(id).await.unwrap().expires_at;
    assert_eq!(expiry(ids[0]).await, given_up + hours(2));
    assert_eq!(expiry(ids[1]).await, given_up + hours(7 * 24));
    // The same if it is given up again, or without an attempt.
    world.pass(hours(1));
    world.replay(DeadFilter { tenant: Some(acme), ..DeadFilter::default() }, 1).await;
    let job = world.take_one().await;
    world.give_up(&job).await;
    assert_eq!(expiry(ids[0]).await, world.now() + hours(2));
    let late = world.due(acme, shop).await;
    world.pass(hours(1));
    let lane = Lane::Webhook;
    let expired = world.store.expire(lane, world.now(), 10, world.now()).await.unwrap();
    assert_eq!(expired.len(), 1);
    assert_eq!(expiry(late).await, world.now() + hours(2));
    let due = crate::ArchiveSelection::Expired(world.now() + hours(1));
    let letters = world.store.letters_to_archive(due, 10, 1 << 20).await.unwrap();
    let found: Vec<_> = letters.iter().map(|one| one.letter.delivery).collect();
    assert_eq!(found, [ids[0]]);
    let key = crate::ArchivedLetter::from(&letters[0].letter);
    world.store.remove_archived(vec![key]).await.unwrap();
    world.pass(hours(48));
    world.store.import_dead(letters, world.now()).await.unwrap();
    assert_eq!(expiry(ids[0]).await, world.now() + hours(2), "from when it came back");
}
