//! A node that has lost the lease writes nothing.

use gancho_domain::{DeliveryId, State, TenantId};

use super::{
    Fixture,
    build::{World, delivered, given_up, number, placed, secs, timeout},
};
use crate::{AcceptOutcome, Claim, Placement, SettleOutcome, Settlement};

pub async fn a_second_settlement_is_refused<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let job = world.take_one().await;
    world.deliver(&job).await;
    let before = world.see(acme, id).await;
    world.pass(secs(1));
    for late in [delivered(&job, world.now()), given_up(&job, world.now(), timeout())] {
        assert_eq!(world.settle(late).await, SettleOutcome::LeaseLost);
    }
    assert_eq!(world.see(acme, id).await, before);
    assert_eq!(world.dead_letter(id).await, None);
}

pub async fn a_stranger_is_refused<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    world.due(acme, world.target()).await;
    let job = world.take_one().await;
    let now = world.now();
    let stranger = world.join().await;
    let settled = world.store.settle(stranger, vec![delivered(&job, now)]).await;
    assert_eq!(settled, Ok(vec![SettleOutcome::LeaseLost]));

    let of_another_tenant = Settlement { tenant: globex, ..delivered(&job, now) };
    assert_eq!(world.settle(of_another_tenant).await, SettleOutcome::LeaseLost);
    let of_no_delivery = Settlement { delivery: world.id(), ..delivered(&job, now) };
    assert_eq!(world.settle(of_no_delivery).await, SettleOutcome::LeaseLost);
    world.deliver(&job).await;
}

pub async fn after_a_retry_nothing_more_is_written<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let job = world.take_one().await;
    world.retry_at(&job, world.now() + secs(5)).await;
    let settled = world.settle(delivered(&job, world.now())).await;
    assert_eq!(settled, SettleOutcome::LeaseLost);
    assert_eq!(world.see(acme, id).await.row.state, State::Pending);
}

/// Whatever took the lease away: nothing of the settlement is written, nor what follows.
async fn nothing_is_written<F: Fixture>(world: &World<F>, node: crate::NodeId, job: &crate::Job) {
    let (acme, id) = (job.tenant, job.delivery);
    let before = world.see(acme, id).await;
    let follows = world.event(acme).about("order-1").once(1, 1, world.now() + secs(60));
    let follows = follows.to(world.target());
    let follow_id = follows.id();
    let settlement =
        Settlement { follow: vec![follows.done()], ..given_up(job, world.now(), timeout()) };
    let settled = world.store.settle(node, vec![settlement]).await.unwrap();

    assert_eq!(settled, [SettleOutcome::LeaseLost]);
    assert_eq!(world.see(acme, id).await, before);
    assert_eq!(world.dead_letter(id).await, None);
    assert_eq!(world.find_event(acme, follow_id).await, None);
    let keyed = world.event(acme).about("order-1").once(1, 2, world.now() + secs(60));
    let accepted = world.accept(keyed).await;
    assert_eq!(number(&accepted), Some(1), "no key and no number was taken");
}

pub async fn after_a_release_nothing_is_written<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let job = world.take_one().await;
    let held = vec![(acme, id).into()];
    world.store.release(world.node, held).await.unwrap();
    nothing_is_written(&world, world.node, &job).await;
}

pub async fn after_a_rescue_nothing_is_written<F: Fixture>() {
    let world = World::<F>::new().await;
    let (zombie, acme, id) = held_by_another(&world).await;
    let job = zombie.1;
    world.rescue().await;
    nothing_is_written(&world, zombie.0, &job).await;
    assert_eq!(world.take_one().await.delivery, id);
    let late = vec![delivered(&job, world.now())];
    let settled = world.store.settle(zombie.0, late).await.unwrap();
    assert_eq!(settled, [SettleOutcome::LeaseLost], "another holds it now");
    assert_eq!(world.see(acme, id).await.row.state, State::Leased);
}

pub async fn after_leaving_nothing_is_written<F: Fixture>() {
    let world = World::<F>::new().await;
    let (gone, _, id) = held_by_another(&world).await;
    world.store.leave(gone.0, world.now()).await.unwrap();
    nothing_is_written(&world, gone.0, &gone.1).await;
    assert_eq!(world.take_one().await.delivery, id);
}

async fn held_by_another<F: Fixture>(
    world: &World<F>,
) -> ((crate::NodeId, crate::Job), TenantId, DeliveryId) {
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let node = world.join().await;
    let claim = Claim { node, ..world.claim() };
    let mut jobs = world.take_until_done(claim).await.0;
    assert_eq!(jobs.len(), 1);
    ((node, jobs.remove(0)), acme, id)
}

pub async fn what_follows_is_written_with_the_settlement<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let [shop, crm] = [world.target(), world.target()];
    world.due(acme, shop).await;
    let job = world.take_one().await;
    let sent = world.event(acme).typed("email.sent").about("out-1");
    let sent = sent.to(world.target()).held_for(crm).in_order_to(shop);
    let behind = world.event(acme).about("out-1").in_order_to(shop);
    let until = world.now() + secs(60);
    let keyed = world.event(acme).once(1, 1, until);
    let (sent_id, keyed_id) = (sent.id(), keyed.id());
    let settlement = Settlement {
        follow: [sent, behind, keyed.clone(), keyed].map(super::build::Draft::done).to_vec(),
        ..delivered(&job, world.now())
    };
    let SettleOutcome::Done { follow } = world.settle(settlement).await else {
        panic!("the lease is held");
    };

    assert_eq!(follow.len(), 4);
    assert_eq!(number(&follow[0]), Some(1));
    let (pending, leased) = (Placement::Pending, Placement::Leased);
    assert_eq!(placed(&follow[0]), [pending, leased, pending]);
    assert_eq!(number(&follow[1]), Some(2));
    assert_eq!(placed(&follow[1]), [Placement::Waiting]);
    assert_eq!(placed(&follow[2]), []);
    assert_eq!(follow[3], AcceptOutcome::Again { first: keyed_id });
    assert_eq!(world.see_event(acme, sent_id).await.deliveries.len(), 3);
    assert_eq!(world.take_all().await.len(), 2);
}
