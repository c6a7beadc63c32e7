//! The result of an attempt is stored completely.

use std::time::Duration;

use bytes::Bytes;
use gancho_domain::{Attempt, Code, Failure, Lane, NextStep, State, Status};

use super::{
    Fixture,
    build::{
        DONE, World, attempt, delivered, failed, given_up, hours, ids, scope, secs, timeout,
        tried_again,
    },
};
use crate::{Claim, DeadFilter, DeadLetter, DeliveryFilter, SettleOutcome, Settlement, StoreError};

pub async fn an_empty_batch_is_no_trouble<F: Fixture>() {
    let world = World::<F>::new().await;
    assert_eq!(world.store.settle(world.node, vec![]).await, Ok(vec![]));
}

pub async fn a_delivered_one_has_ended<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let job = world.take_one().await;
    world.pass(secs(2));
    let answered_at = world.now();
    let tried = attempt(&job, answered_at);
    world.pass(secs(1)); // until the answer is settled
    let settlement = Settlement::of(&job, world.now(), Some(tried.clone()), NextStep::Delivered);
    assert_eq!(world.settle(settlement).await, DONE);

    let view = world.see(acme, id).await;
    let row = &view.row;
    assert_eq!((row.state, row.status()), (State::Delivered, Status::Delivered));
    assert_eq!((row.attempts, row.response_status), (1, Some(200)));
    assert_eq!((&row.last_failure, row.next_retry_at), (&None, None));
    assert_eq!(row.delivered_at, Some(answered_at));
    assert_eq!(view.attempts, [tried]);
    world.pass(hours(24));
    world.nothing_is_due().await;
    assert_eq!(world.dead_letter(id).await, None);
}

pub async fn a_retry_is_due_when_it_says_and_not_before<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let job = world.take_one().await;
    let now = world.now();
    // With jitter it is due earlier than the plan's own time, which tenants see.
    let (due_at, planned_at) = (now + secs(57), now + secs(60));
    let tried = failed(&job, now, timeout(), Some(planned_at));
    let next = NextStep::Retry { due_at, planned_at };
    let settlement = Settlement::of(&job, now, Some(tried), next);
    assert_eq!(world.settle(settlement).await, DONE);

    let row = world.see(acme, id).await.row;
    assert_eq!((row.state, row.status()), (State::Pending, Status::Retrying));
    assert_eq!((row.attempts, row.response_status), (1, None));
    assert_eq!(row.last_failure, Some(timeout()));
    assert_eq!(row.next_retry_at, Some(planned_at));
    assert_eq!(row.delivered_at, None);

    world.pass(secs(57).checked_sub(Duration::from_micros(1)).unwrap());
    let (jobs, last) = world.take_until_done(world.claim()).await;
    assert_eq!((jobs.len(), last.next_due), (0, Some(due_at)));
    world.pass(Duration::from_micros(1));
    let job = world.take_one().await;
    assert_eq!((job.delivery, job.attempts, job.attempts_before), (id, 1, 0));
}

pub async fn one_that_is_given_up_leaves_a_dead_letter<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let draft = world.event(acme).about("order-1").to(shop);
    let (parcel, id) = (draft.parcel(), draft.delivery(0));
    world.accept(draft).await;
    world.pass(secs(10));
    let job = world.take_one().await;
    world.retry_at(&job, world.now()).await;
    world.pass(secs(10));
    let job = world.take_one().await;
    let failure = Failure::new(Code::http(404), "the shop is closed");
    let settlement = given_up(&job, world.now(), failure.clone());
    assert_eq!(world.settle(settlement).await, DONE);

    let row = world.see(acme, id).await.row;
    assert_eq!((row.state, row.status()), (State::Dead, Status::Failed));
    assert_eq!((row.attempts, row.next_retry_at), (2, None));
    assert_eq!(row.last_failure, Some(failure.clone()));
    let expected = DeadLetter {
        delivery: id,
        lane: job.lane,
        tenant: acme,
        target: shop,
        parcel: parcel.id,
        subject: parcel.subject,
        event_type: parcel.event_type,
        external_id: parcel.external_id,
        is_test: parcel.is_test,
        original: parcel.body,
        failed_attempts: 2,
        failure,
        failed_at: world.now(),
        enqueued_at: parcel.created_at,
        moved_at: world.now(),
        expires_at: world.now() + hours(7 * 24),
    };
    assert_eq!(world.dead_letter(id).await, Some(expected));
    world.pass(hours(24));
    world.nothing_is_due().await;
}

pub async fn an_end_without_an_attempt_counts_none<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let job = world.take_one().await;
    let gone = Failure::new(Code::TARGET_GONE, "the endpoint was deleted");
    let settlement = Settlement::of(&job, world.now(), None, NextStep::Dead(gone.clone()));
    assert_eq!(world.settle(settlement).await, DONE);

    let view = world.see(acme, id).await;
    assert_eq!((view.row.status(), view.row.attempts), (Status::Failed, 0));
    assert_eq!(view.row.last_failure, Some(gone.clone()), "the log says why");
    assert_eq!(view.attempts, []);
    let dead = world.dead_letter(id).await.unwrap();
    assert_eq!((dead.failed_attempts, dead.failure), (0, gone));
}

// faults.md B11: the log, the dead letter and the notice have the same time.
pub async fn a_failure_is_of_the_time_at_which_its_attempt_ended<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let made = world.many_due(acme, world.target(), 2).await;
    let jobs = world.take_all().await;
    world.pass(secs(2));
    let ended_at = world.now();
    let tried = failed(&jobs[0], ended_at, timeout(), None);
    world.pass(secs(1)); // until it is settled
    let dead = || NextStep::Dead(timeout());
    let tried = Settlement::of(&jobs[0], world.now(), Some(tried), dead());
    let untried = Settlement::of(&jobs[1], world.now(), None, dead());
    assert_eq!((tried.ended_at(), untried.ended_at()), (ended_at, world.now()));
    for (settlement, failed_at) in [(tried, ended_at), (untried, world.now())] {
        let id = settlement.delivery;
        assert_eq!(world.settle(settlement).await, DONE);
        let letter = world.dead_letter(id).await.unwrap();
        assert_eq!((letter.failed_at, letter.moved_at), (failed_at, world.now()));
        let row = world.see(acme, id).await.row;
        assert_eq!((row.failed_at, row.delivered_at), (Some(failed_at), None));
        assert_eq!(
            world.list(acme, DeliveryFilter { event: Some(row.event), ..Default::default() }).await,
            [row]
        );
    }
    let all = DeadFilter { tenant: Some(acme), ..DeadFilter::default() };
    assert_eq!(world.store.purge_dead(all, 10).await, Ok(2));
    let row = world.see(acme, made[0]).await.row;
    assert_eq!(row.failed_at, Some(ended_at), "the attempt still says so");
}

// faults.md B9: nobody needs a dead letter of a test.
pub async fn a_test_leaves_no_dead_letter<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let drafts: Vec<_> = (0..3).map(|_| world.event(acme).as_test().to(shop)).collect();
    let made: Vec<_> = drafts.iter().map(|draft| draft.delivery(0)).collect();
    world.accept_all(drafts).await;
    let jobs = world.take_all().await;
    world.give_up(&jobs[0]).await;
    for job in &jobs[1..] {
        world.retry_at(job, world.now() + hours(8)).await;
    }
    world.pass(secs(1));
    let (before, now) = (world.now(), world.now());
    let expired = world.store.expire(Lane::Webhook, before, 1, now).await.unwrap();
    assert!(expired.len() == 1 && expired[0].is_test, "{expired:?}");
    let left = world.store.give_up_orphans(scope(acme), shop, 10, now).await.unwrap();
    assert!(left.len() == 1 && left[0].is_test, "{left:?}");
    for id in &made {
        let row = world.see(acme, *id).await.row;
        assert_eq!((row.state, row.is_test, row.attempts), (State::Dead, true, 1));
        assert_eq!(row.last_failure, Some(timeout()), "its attempt says why");
        assert_eq!(world.dead_letter(*id).await, None);
    }
    // A partner's test is received like all its webhooks.
    let received = world.event(acme).as_test().in_lane(Lane::Dispatch, shop);
    let id = received.delivery(0);
    world.accept(received).await;
    let claim = Claim { lane: Lane::Dispatch, ..world.claim() };
    let job = world.take(claim).await.jobs.remove(0);
    world.give_up(&job).await;
    assert!(world.dead_letter(id).await.is_some());
}

pub async fn one_can_be_put_off_without_an_attempt<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let job = world.take_one().await;
    let due_at = world.now() + secs(30);
    let next = NextStep::Retry { due_at, planned_at: due_at };
    let settlement = Settlement::of(&job, world.now(), None, next);
    assert_eq!(world.settle(settlement).await, DONE);
    let view = world.see(acme, id).await;
    assert_eq!((view.row.state, view.row.attempts), (State::Pending, 0));
    world.nothing_is_due().await;
    world.pass(secs(30));
    assert_eq!(world.take_one().await.attempts, 0);
}

/// faults.md, E3: it is not reported as an outage, and other results are not refused with it.
pub async fn what_can_never_be_written_is_distinguished_from_an_outage<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let target = world.target();
    let id = world.due(acme, target).await;
    let job = world.take_one().await;
    world.retry_at(&job, world.now()).await;
    let other = world.due(acme, target).await;
    let jobs = world.take_all().await;
    let job = jobs.iter().find(|job| job.delivery == id).unwrap();
    let other = jobs.iter().find(|job| job.delivery == other).unwrap();

    // An attempt with this number exists already.
    let mut twice = delivered(job, world.now());
    twice.attempt.as_mut().unwrap().number = 1;
    let (refused, settled) = tokio::join!(
        world.store.settle(world.node, vec![twice.clone()]),
        world.store.settle(world.node, vec![delivered(other, world.now())]),
    );
    assert!(refused.as_ref().is_err_and(StoreError::is_permanent), "{refused:?}");
    assert_eq!(settled.unwrap(), [DONE]);
    let view = world.see(acme, id).await;
    assert_eq!((view.row.state, view.attempts.len()), (State::Leased, 1), "nothing was written");
    assert_eq!(world.settle(Settlement { attempt: None, ..twice }).await, DONE);
    assert_eq!(world.see(acme, id).await.row.state, State::Delivered);
}

pub async fn attempts_read_back_whole_and_in_order<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let odd_bytes: Bytes = (0..16_384_u32).map(|n| (n % 256) as u8).collect();
    let mut expected = Vec::new();
    for number in 1..=12_u32 {
        let job = world.take_one().await;
        assert_eq!(job.attempts, number - 1);
        let now = world.now();
        let due_at = now + secs(60);
        let tried = Attempt {
            number,
            started_at: now - Duration::from_micros(u64::from(number)),
            latency: Duration::from_micros(u64::from(number) * 1_000_003),
            request_headers: odd_bytes.slice(..number as usize * 100),
            response_status: [None, Some(100), Some(999)][number as usize % 3],
            response_headers: odd_bytes.slice(number as usize..300),
            response_body: [Bytes::new(), odd_bytes.clone()][number as usize % 2].clone(),
            failure: [None, Some(timeout())][number as usize % 2].clone(),
            next_at: [Some(due_at), None][number as usize % 2],
        };
        expected.push(tried.clone());
        let next = NextStep::Retry { due_at, planned_at: due_at };
        let settlement = Settlement::of(&job, now, Some(tried), next);
        assert_eq!(world.settle(settlement).await, DONE);
        world.pass(secs(60));
    }
    assert_eq!(world.see(acme, id).await.attempts, expected);
    let world = world.reopen().await;
    assert_eq!(world.see(acme, id).await.attempts, expected);
}

pub async fn a_mixed_batch_is_answered_in_order<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let made = world.many_due(acme, shop, 4).await;
    let jobs = world.take_all().await;
    assert_eq!(ids(&jobs), made);
    let now = world.now();
    let lost = vec![(acme, made[1]).into()];
    world.store.release(world.node, lost).await.unwrap();

    let mut follows = tried_again(&jobs[2], now, now + secs(9));
    follows.follow.push(world.event(acme).done());
    let batch = vec![
        delivered(&jobs[0], now),
        given_up(&jobs[1], now, timeout()),
        follows,
        given_up(&jobs[3], now, timeout()),
        delivered(&jobs[0], now),
    ];
    let settled = world.store.settle(world.node, batch).await.unwrap();

    assert_eq!(settled.len(), 5);
    assert_eq!(settled[0], DONE);
    assert_eq!(settled[1], SettleOutcome::LeaseLost);
    assert!(matches!(&settled[2], SettleOutcome::Done { follow } if follow.len() == 1));
    assert_eq!(settled[3], DONE);
    assert_eq!(settled[4], SettleOutcome::LeaseLost, "settled in this batch");
    let mut states = Vec::new();
    for id in made {
        states.push(world.see(acme, id).await.row.state);
    }
    let pending = State::Pending;
    assert_eq!(states, [State::Delivered, pending, pending, State::Dead]);
}

pub async fn what_was_settled_is_there_after_a_restart<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let made = world.many_due(acme, world.target(), 3).await;
    let jobs = world.take_all().await;
    let due_at = world.now() + secs(60);
    world.deliver(&jobs[0]).await;
    world.retry_at(&jobs[1], due_at).await;
    world.give_up(&jobs[2]).await;
    let mut before = Vec::new();
    for id in &made {
        before.push(world.see(acme, *id).await);
    }
    let dead = world.dead_letter(made[2]).await.unwrap();

    let world = world.reopen().await;
    world.rescue().await;
    for (id, before) in made.iter().zip(before) {
        assert_eq!(world.see(acme, *id).await, before);
    }
    assert_eq!(world.dead_letter(made[2]).await, Some(dead));
    world.nothing_is_due().await;
    world.pass(secs(60));
    assert_eq!(world.take_one().await.delivery, made[1]);
}
