//! A replayed dead letter restarts its plan, and is removed when it is delivered.

use gancho_domain::{Code, Failure, Lane, NextStep, State};

use super::{
    Fixture,
    build::{DONE, World, failed, given_up, hours, ids, scope, secs, sorted, timeout},
};
use crate::{DeadFilter, DeliveryCounts, RetryOutcome, Settlement};

pub async fn a_replay_starts_the_plan_again<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let job = world.take_one().await;
    world.retry_at(&job, world.now()).await;
    let job = world.take_one().await;
    world.give_up(&job).await;
    world.pass(hours(1));

    assert_eq!(world.replay(DeadFilter::default(), 10).await, 1);
    let job = world.take_one().await;
    assert_eq!(job.delivery, id);
    assert_eq!((job.attempts, job.attempts_before), (2, 2));
    assert!(job.is_replay);
    world.retry_at(&job, world.now()).await;
    let job = world.take_one().await;
    assert_eq!((job.attempts, job.attempts_before), (3, 2));
    assert!(job.is_replay);
    assert!(world.dead_letter(id).await.is_some(), "not yet delivered");
    world.deliver(&job).await;

    assert_eq!(world.dead_letter(id).await, None);
    let view = world.see(acme, id).await;
    assert_eq!((view.row.state, view.row.attempts), (State::Delivered, 4));
    assert_eq!(view.row.delivered_at, Some(world.now()));
    let numbers: Vec<_> = view.attempts.iter().map(|tried| tried.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4], "the log keeps every attempt");
}

pub async fn the_oldest_go_first_and_no_more_than_asked<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let shop = world.target();
    let mut made = Vec::new();
    for tenant in [acme, acme, globex, acme, acme, acme] {
        made.push((tenant, world.due(tenant, shop).await));
        let job = world.take_one().await;
        world.give_up(&job).await;
        world.pass(secs(1));
    }
    let filter = DeadFilter { tenant: Some(acme), ..DeadFilter::default() };
    let of_acme: Vec<_> = made.iter().filter(|(tenant, _)| *tenant == acme).collect();
    for expected in of_acme.chunks(2) {
        let count = world.replay(filter.clone(), 2).await;
        assert_eq!(count, expected.len() as u64);
        let expected: Vec<_> = expected.iter().map(|(_, id)| *id).collect();
        assert_eq!(sorted(ids(&world.take_all().await)), expected);
    }
    assert_eq!(world.replay(filter, 2).await, 0);
}

pub async fn a_replay_of_a_replay_counts_once<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let job = world.take_one().await;
    world.give_up(&job).await;
    let all = DeadFilter::default();
    assert_eq!(world.replay(all.clone(), 10).await, 1);
    assert_eq!(world.replay(all.clone(), 10).await, 0, "it is pending");
    let job = world.take_one().await;
    assert_eq!(world.replay(all.clone(), 10).await, 0, "it is leased");
    world.retry_at(&job, world.now() + secs(60)).await;
    assert_eq!(world.replay(all.clone(), 10).await, 0, "it is retrying");
    assert_eq!(world.dead(all).await.len(), 1);
    assert_eq!(world.see(acme, id).await.row.attempts, 2);
}

pub async fn one_that_dies_again_has_a_fresh_entry<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let job = world.take_one().await;
    world.give_up(&job).await;
    let first = world.dead_letter(id).await.unwrap();
    world.pass(hours(24));
    assert_eq!(world.replay(DeadFilter::default(), 10).await, 1);
    let job = world.take_one().await;
    let gone = Failure::new(Code::http(410), "gone for good");
    let settlement = given_up(&job, world.now(), gone.clone());
    assert_eq!(world.settle(settlement).await, DONE);

    let again = world.dead_letter(id).await.unwrap();
    assert_eq!(again.failure, gone);
    assert_eq!((again.failed_at, again.moved_at), (world.now(), world.now()));
    assert_eq!(again.expires_at, world.now() + hours(7 * 24));
    assert_eq!(again.failed_attempts, 2);
    assert_eq!(again.enqueued_at, first.enqueued_at);
    assert_eq!(again.original, first.original);
    assert_eq!(world.replay(DeadFilter::default(), 10).await, 1);
    assert_eq!(world.take_one().await.attempts_before, 2);
}

/// No attempt was made before it died, so only the dead letter shows that it was retried.
pub async fn one_that_was_never_tried_leaves_when_delivered<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    world.pass(hours(48));
    let now = world.now();
    assert_eq!(world.store.expire(Lane::Webhook, now, 10, now).await.unwrap().len(), 1);
    assert_eq!(world.replay(DeadFilter::default(), 10).await, 1);
    let job = world.take_one().await;
    assert_eq!((job.attempts, job.attempts_before), (0, 0));
    assert!(job.is_replay);
    world.deliver(&job).await;
    assert_eq!(world.dead_letter(id).await, None);
    assert_eq!(world.see(acme, id).await.row.state, State::Delivered);
}

/// The dead letter keeps the reason; the log shows the new attempts.
pub async fn the_log_follows_the_new_attempts<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let job = world.take_one().await;
    world.give_up(&job).await;
    assert_eq!(world.replay(DeadFilter::default(), 10).await, 1);
    let job = world.take_one().await;
    let (now, due_at) = (world.now(), world.now() + secs(60));
    let busy = Failure::new(Code::http(503), "busy");
    let tried = failed(&job, now, busy.clone(), Some(due_at));
    let next = NextStep::Retry { due_at, planned_at: due_at };
    let settlement = Settlement::of(&job, now, Some(tried), next);
    assert_eq!(world.settle(settlement).await, DONE);

    let row = world.see(acme, id).await.row;
    assert_eq!((row.last_failure, row.next_retry_at), (Some(busy), Some(due_at)));
    let letter = world.dead_letter(id).await.unwrap();
    assert_eq!(letter.failure, timeout());
}

pub async fn one_armed_by_its_tenant_leaves_too<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let job = world.take_one().await;
    world.give_up(&job).await;
    let outcome = world.store.retry_now(scope(acme), id, world.now()).await;
    assert_eq!(outcome, Ok(RetryOutcome::Due));
    assert!(world.dead_letter(id).await.is_some(), "until it succeeds");
    let job = world.take_one().await;
    world.deliver(&job).await;
    assert_eq!(world.dead_letter(id).await, None);
}

pub async fn a_replay_reaches_only_what_the_filter_finds<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let made = world.many_due(acme, world.target(), 3).await;
    for job in world.take_all().await {
        world.give_up(&job).await;
    }
    let one = DeadFilter { delivery: Some(made[1]), ..DeadFilter::default() };
    assert_eq!(world.replay(one, 10).await, 1);
    assert_eq!(ids(&world.take_all().await), [made[1]]);
    let other_code = DeadFilter { code: Some("HTTP_404".to_owned()), ..DeadFilter::default() };
    assert_eq!(world.replay(other_code, 10).await, 0);
    let code = DeadFilter { code: Some(timeout().code().to_string()), ..DeadFilter::default() };
    assert_eq!(world.replay(code, 10).await, 2);
    let found = sorted(ids(&world.take_all().await));
    assert_eq!(found, [made[0], made[2]]);
}

pub async fn a_replay_outlives_a_restart<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let job = world.take_one().await;
    world.give_up(&job).await;
    assert_eq!(world.replay(DeadFilter::default(), 10).await, 1);
    let world = world.reopen().await;
    let job = world.take_one().await;
    assert_eq!((job.delivery, job.attempts_before), (id, 1));
    world.deliver(&job).await;
    assert_eq!(world.dead_letter(id).await, None);
}

/// faults.md B2: page by page, and each once.
pub async fn a_replay_goes_on_from_its_place<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let mut made = Vec::new();
    for _ in 0..4 {
        // Three at a time are given up at the same moment.
        made.extend(world.many_due(acme, shop, 3).await);
        for job in world.take_all().await {
            world.give_up(&job).await;
        }
        world.pass(secs(1));
    }
    let (mut retried, mut after) = (Vec::new(), None);
    for _ in 0..100 {
        let filter = DeadFilter { until: Some(world.now()), ..DeadFilter::default() };
        let page = world.store.replay_dead(filter, 5, after, world.now()).await.unwrap();
        let jobs = world.take_all().await;
        let named = page.retried.iter().map(|(tenant, id)| (*tenant == acme).then_some(*id));
        assert_eq!(named.collect::<Option<Vec<_>>>().map(sorted), Some(sorted(ids(&jobs))));
        retried.extend(sorted(ids(&jobs)));
        for job in jobs {
            world.give_up(&job).await;
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(retried.len(), 12, "each once, though they were given up again");
    assert_eq!(retried[..3], made[..3], "the oldest first");
    assert_eq!(sorted(retried), made);
}

/// faults.md B2: none overtakes another of its subject.
pub async fn those_of_a_subject_keep_their_order<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let drafts = [0, 1, 2, 3].map(|_| world.event(acme).about("order-1").in_order_to(shop));
    let made = drafts.each_ref().map(|draft| draft.delivery(0));
    world.accept_all(drafts.to_vec()).await;
    for _ in 0..4 {
        let job = world.take_one().await;
        world.give_up(&job).await;
        world.pass(secs(1));
    }
    let page = world.store.replay_dead(DeadFilter::default(), 3, None, world.now()).await.unwrap();
    assert_eq!(page.retried.len(), 3);
    let first = world.take_one().await;
    assert_eq!(first.delivery, made[0]);
    let rest = world.store.replay_dead(DeadFilter::default(), 3, page.next, world.now()).await;
    assert_eq!(rest.unwrap().retried.len(), 1);
    world.deliver(&first).await;
    for expected in &made[1..] {
        let job = world.take_one().await;
        assert_eq!(job.delivery, *expected);
        world.deliver(&job).await;
    }
    assert_eq!(world.dead(DeadFilter::default()).await, []);
}

pub async fn a_tally_says_how_deliveries_stand<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let shop = world.target();
    let mut made = Vec::new();
    for tenant in [acme, globex] {
        made.extend(world.many_due(tenant, shop, 3).await.into_iter().map(|id| (tenant, id)));
    }
    let tally = async |of: &[_]| world.store.count_deliveries(of.to_vec()).await.unwrap();
    assert_eq!(tally(&made).await, DeliveryCounts { waiting: 6, ..DeliveryCounts::default() });
    let jobs = world.take_all().await;
    assert_eq!(tally(&made).await.waiting, 6, "one in flight has not ended");
    for job in &jobs {
        match made.iter().position(|(_, id)| *id == job.delivery) {
            Some(0 | 4) => world.give_up(job).await,
            Some(1) => world.deliver(job).await,
            _ => {}
        }
    }
    assert_eq!(tally(&made).await, DeliveryCounts { delivered: 1, failed: 2, waiting: 3 });
    let others: Vec<_> = made.iter().map(|(_, id)| (world.id(), *id)).collect();
    assert_eq!(tally(&others).await, DeliveryCounts::default(), "nobody else has them");
    assert_eq!(tally(&[]).await, DeliveryCounts::default());
}
