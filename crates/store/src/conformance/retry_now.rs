//! A delivery is retried now, whatever its state, or canceled.

use gancho_domain::{Code, DeliveryId, State, Status, TenantId};

use super::{
    Fixture,
    build::{World, ids, scope, secs, sorted},
};
use crate::{DeadFilter, RetryOutcome};

async fn retry_now<F: Fixture>(world: &World<F>, tenant: TenantId, id: DeliveryId) -> RetryOutcome {
    let now = world.now();
    world.store.retry_now(scope(tenant), id, now).await.unwrap()
}

pub async fn a_delivered_one_goes_out_again<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let job = world.take_one().await;
    world.deliver(&job).await;
    world.pass(secs(60));

    assert_eq!(retry_now(&world, acme, id).await, RetryOutcome::Due);
    let row = world.see(acme, id).await.row;
    assert_eq!((row.state, row.status()), (State::Pending, Status::Retrying));
    let job = world.take_one().await;
    assert_eq!((job.delivery, job.attempts, job.attempts_before), (id, 1, 1));
    assert!(!job.is_replay, "it was never given up");
    world.deliver(&job).await;
    let view = world.see(acme, id).await;
    assert_eq!((view.row.state, view.row.attempts), (State::Delivered, 2));
    assert_eq!(view.attempts.len(), 2);
}

pub async fn a_dead_one_starts_its_plan_again<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let job = world.take_one().await;
    world.give_up(&job).await;
    assert_eq!(retry_now(&world, acme, id).await, RetryOutcome::Due);
    assert_eq!(retry_now(&world, acme, id).await, RetryOutcome::Due, "twice is once");
    let job = world.take_one().await;
    assert_eq!((job.delivery, job.attempts, job.attempts_before), (id, 1, 1));
    assert!(job.is_replay);
    world.nothing_is_due().await;
}

pub async fn a_dead_one_without_a_dead_letter_can_be_armed<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let job = world.take_one().await;
    world.give_up(&job).await;
    let purged = world.store.purge_dead(DeadFilter::default(), 10).await;
    assert_eq!(purged, Ok(1));
    assert_eq!(retry_now(&world, acme, id).await, RetryOutcome::Due);
    let job = world.take_one().await;
    world.deliver(&job).await;
    assert_eq!(world.see(acme, id).await.row.state, State::Delivered);
}

pub async fn a_retry_does_not_wait_for_its_time<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let job = world.take_one().await;
    world.retry_at(&job, world.now() + secs(600)).await;
    assert_eq!(retry_now(&world, acme, id).await, RetryOutcome::Due);
    let job = world.take_one().await;
    assert_eq!(job.delivery, id);
    let counted = (job.attempts, job.attempts_before);
    assert_eq!(counted, (1, 0), "its plan had not ended");
    world.pass(secs(600));
    world.nothing_is_due().await;
}

pub async fn one_that_is_due_already_stays_due<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    world.pass(secs(60));
    assert_eq!(retry_now(&world, acme, id).await, RetryOutcome::Due);
    assert_eq!(ids(&world.take_all().await), [id]);
}

pub async fn one_that_waits_need_not_wait<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let drafts = [0, 1, 2].map(|_| world.event(acme).about("order-1").in_order_to(shop));
    let made = drafts.each_ref().map(|draft| draft.delivery(0));
    world.accept_all(drafts.to_vec()).await;
    let first = world.take_one().await;
    assert_eq!(retry_now(&world, acme, made[1]).await, RetryOutcome::Due);
    let second = world.take_one().await;
    assert_eq!(second.delivery, made[1]);
    world.deliver(&second).await;
    world.nothing_is_due().await;
    world.deliver(&first).await;
    assert_eq!(ids(&world.take_all().await), [made[2]]);
}

pub async fn one_in_flight_is_left_alone<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let job = world.take_one().await;
    assert_eq!(retry_now(&world, acme, id).await, RetryOutcome::InFlight);
    world.nothing_is_due().await;
    world.deliver(&job).await;
    assert_eq!(world.see(acme, id).await.row.attempts, 1);
}

pub async fn one_that_is_not_there_is_unknown<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let unknown = retry_now(&world, acme, world.id()).await;
    assert_eq!(unknown, RetryOutcome::Unknown);
}

async fn in_turn<F: Fixture>(
    world: &World<F>,
    tenant: TenantId,
    deliveries: Vec<DeliveryId>,
) -> Vec<RetryOutcome> {
    world.store.retry_now_in_order(scope(tenant), deliveries, world.now()).await.unwrap()
}

/// faults.md B2: whichever of them is named first.
pub async fn in_turn_those_of_a_subject_go_by_their_numbers<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let [shop, crm] = [world.target(), world.target()];
    let drafts = [0, 1, 2, 3]
        .map(|n| world.event(acme).about("order-1").in_order_to(if n == 3 { crm } else { shop }));
    let made = drafts.each_ref().map(|draft| draft.delivery(0));
    for draft in drafts {
        world.accept(draft).await;
        for job in world.take_all().await {
            if job.delivery == made[1] {
                world.give_up(&job).await;
            } else {
                world.deliver(&job).await;
            }
        }
    }
    world.pass(secs(1));
    let [one, two, three, elsewhere] = made;
    let answers = in_turn(&world, acme, vec![three, two, elsewhere]).await;
    assert_eq!(answers, [RetryOutcome::Due; 3]);
    let jobs = world.take_all().await;
    assert_eq!(sorted(ids(&jobs)), sorted(vec![two, elsewhere]), "the first of each line");
    assert_eq!(in_turn(&world, acme, vec![one]).await, [RetryOutcome::Due], "the next page");
    world.nothing_is_due().await;
    for job in jobs {
        assert_eq!((job.attempts, job.attempts_before), (1, 1));
        world.deliver(&job).await;
    }
    for expected in [one, three] {
        let job = world.take_one().await;
        assert_eq!(job.delivery, expected);
        world.deliver(&job).await;
    }
    world.nothing_is_due().await;
}

/// faults.md B2: a delivery in flight is not overtaken.
pub async fn in_turn_they_wait_behind_what_moves<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let [first, second, third] =
        [0, 1, 2].map(|_| world.event(acme).about("order-1").in_order_to(shop));
    let made = [&first, &second, &third].map(|draft| draft.delivery(0));
    world.accept(first).await;
    let job = world.take_one().await;
    world.deliver(&job).await;
    world.accept(second).await;
    world.accept(third).await;
    let moving = world.take_one().await;
    assert_eq!(moving.delivery, made[1]);
    let answers = in_turn(&world, acme, made.to_vec()).await;
    assert_eq!(answers, [RetryOutcome::Due, RetryOutcome::InFlight, RetryOutcome::Due]);
    world.nothing_is_due().await;
    world.deliver(&moving).await;
    for expected in [made[0], made[2]] {
        let job = world.take_one().await;
        assert_eq!(job.delivery, expected);
        world.deliver(&job).await;
    }
    world.nothing_is_due().await;
}

pub async fn in_turn_each_has_its_answer<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let shop = world.target();
    let ended = world.due(acme, shop).await;
    let job = world.take_one().await;
    world.deliver(&job).await;
    let anothers = world.due(globex, shop).await;
    let job = world.take_one().await;
    world.deliver(&job).await;
    let held = world.due(acme, shop).await;
    world.take_one().await;
    let retrying = world.due(acme, shop).await;
    let job = world.take_one().await;
    world.retry_at(&job, world.now() + secs(600)).await;
    let answers = in_turn(&world, acme, vec![held, world.id(), ended, anothers, retrying]).await;
    assert_eq!(
        answers,
        [
            RetryOutcome::InFlight,
            RetryOutcome::Unknown,
            RetryOutcome::Due,
            RetryOutcome::Unknown,
            RetryOutcome::Due
        ]
    );
    assert_eq!(sorted(ids(&world.take_all().await)), [ended, retrying]);
    assert_eq!(in_turn(&world, acme, vec![]).await, []);
}

pub async fn in_turn_without_order_all_are_due<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let made = world.many_due(acme, shop, 5).await;
    for job in world.take_all().await {
        world.deliver(&job).await;
    }
    assert_eq!(in_turn(&world, acme, made.clone()).await, [RetryOutcome::Due; 5]);
    assert_eq!(sorted(ids(&world.take_all().await)), made);
}

/// Deliveries that no node holds are given up, and can be replayed; the next of their subject moves up.
pub async fn those_that_wait_can_be_canceled<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let target = world.target();
    let later = world.event(acme).to_at(target, world.now() + secs(600));
    let first = world.event(acme).about("order-1").in_order_to(target);
    let second = world.event(acme).about("order-1").in_order_to(target);
    let ids = [&later, &first, &second].map(|draft| draft.delivery(0));
    world.accept_all(vec![later, first, second]).await;
    let job = world.take_one().await;
    assert_eq!(job.delivery, ids[1]);

    let cancel =
        |tenant, ids: &[DeliveryId]| world.store.cancel(scope(tenant), ids.to_vec(), world.now());
    assert_eq!(cancel(globex, &ids).await, Ok(0), "another tenant's");
    assert_eq!(cancel(acme, &ids).await, Ok(2), "but not the one in flight");
    assert_eq!(cancel(acme, &ids).await, Ok(0));
    for id in [ids[0], ids[2]] {
        let letter = world.dead_letter(id).await.unwrap();
        assert_eq!(letter.failure.code(), &Code::CANCELED);
    }
    world.deliver(&job).await;
    world.pass(secs(601));
    world.nothing_is_due().await;
    // They need nobody's attention: a list of dead letters has them only on request.
    assert_eq!(world.dead(DeadFilter::default()).await, []);
    assert_eq!(world.store.dead_stats(DeadFilter::default()).await.unwrap().total, 0);
    assert_eq!(world.replay(DeadFilter::default(), 10).await, 0);
    let canceled = DeadFilter { code: Some("CANCELED".to_owned()), ..DeadFilter::default() };
    assert_eq!(world.dead(canceled.clone()).await.len(), 2);
    assert_eq!(world.store.dead_stats(canceled.clone()).await.unwrap().total, 2);
    assert_eq!(world.replay(canceled, 10).await, 2);
    assert_eq!(world.take_all().await.len(), 2);
}
