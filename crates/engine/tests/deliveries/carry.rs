//! The way of a delivery from the queue to the target and into the log.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use gancho_domain::{Clock, Code, Lane, State};
use gancho_engine::{Engine, LaneSetup, LaneTerms};
use gancho_store::{DeadFilter, DeadLetters, Pause, Pauses};

use crate::stage::{Play, Stage, seconds};

#[tokio::test(start_paused = true)]
async fn what_is_offered_goes_out_at_once() {
    let stage = Stage::new(|_, _| Play::Deliver);
    let engine = stage.engine().await;
    seconds(1).await;
    let (id, is_queued) = stage.publish(&engine).await;
    assert!(is_queued, "there is room");
    tokio::time::sleep(Duration::from_millis(1)).await;
    let view = stage.view(id).await;
    assert_eq!((view.row.state, view.row.attempts), (State::Delivered, 1));
    assert_eq!(view.attempts[0].response_status, Some(200));
    let stats = engine.stats(Lane::Webhook).expect("it works the lane");
    assert_eq!((stats.offered, stats.claimed, stats.delivered), (1, 0, 1));
    assert_eq!(engine.held().jobs, 0, "its room is free again");
}

#[tokio::test(start_paused = true)]
async fn what_is_in_the_store_is_claimed() {
    let stage = Stage::new(|_, _| Play::Deliver);
    let engine = stage.engine().await;
    let id = stage.accept().await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(stage.view(id).await.row.state, State::Delivered);
    assert_eq!(engine.stats(Lane::Webhook).expect("it works the lane").claimed, 1);
}

#[tokio::test(start_paused = true)]
async fn retries_follow_the_plan() {
    let stage = Stage::new(|_, attempt| if attempt < 3 { Play::Fail } else { Play::Deliver });
    let _engine = stage.engine().await;
    let id = stage.accept().await;
    seconds(10).await;
    let view = stage.view(id).await;
    assert_eq!((view.row.state, view.row.attempts), (State::Delivered, 3));
    let waits: Vec<f64> = view
        .attempts
        .windows(2)
        .map(|two| two[1].started_at.since(two[0].started_at).as_secs_f64())
        .collect();
    // Within the jitter, and only slightly late.
    for (wait, planned) in waits.into_iter().zip([1.0, 2.0]) {
        assert!(wait >= planned * 0.9 && wait <= planned * 1.1 + 0.1, "{wait} for {planned}");
    }
    let next = view.attempts[0].next_at.expect("one was planned");
    assert_eq!(next.since(view.attempts[0].started_at), Duration::from_secs(1), "before jitter");
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_plan_or_a_refusal_makes_a_dead_letter() {
    for (play, attempts, code) in [(Play::Fail, 3, "HTTP_503"), (Play::Refuse, 1, "TARGET_GONE")] {
        let stage = Stage::new(move |_, _| play);
        let _engine = stage.engine().await;
        let id = stage.accept().await;
        seconds(10).await;
        let view = stage.view(id).await;
        assert_eq!((view.row.state, view.row.attempts), (State::Dead, attempts));
        let stats = stage.store.dead_stats(DeadFilter::default()).await.expect("the store works");
        assert_eq!(stats.by_code.get(code), Some(&1));
    }
}

/// faults.md 10: a delivery that a node lacks resources for is not an attempt and not held against the
/// target.
#[tokio::test(start_paused = true)]
async fn what_a_node_could_not_try_is_no_attempt_and_is_tried_again_soon() {
    let tries = AtomicU32::new(0);
    // Far more often than the plan has attempts, and than the failure threshold of a breaker.
    let stage = Stage::new(move |_, _| match tries.fetch_add(1, Ordering::Relaxed) {
        ..40 => Play::Defer,
        40 => Play::Fail,
        _ => Play::Deliver,
    });
    let engine = stage.engine().await;
    let id = stage.accept().await;
    seconds(150).await;
    let view = stage.view(id).await;
    assert_eq!((view.row.state, view.row.attempts), (State::Delivered, 2));
    let numbers: Vec<u32> = view.attempts.iter().map(|attempt| attempt.number).collect();
    assert_eq!(numbers, [1, 2]);
    let stats = engine.stats(Lane::Webhook).expect("it works the lane");
    assert_eq!((stats.deferred, stats.carried, stats.retried), (40, 2, 1));
    let calls = stage.actor.calls.lock();
    assert!(calls[..41].iter().all(|(_, attempt)| *attempt == 1), "{calls:?}");
}

/// faults.md B13: a delivery that was not tried has no new attempt, and earlier attempts stay visible.
#[tokio::test(start_paused = true)]
async fn what_was_not_tried_is_no_attempt() {
    let stage = Stage::new(|_, attempt| if attempt == 1 { Play::Fail } else { Play::Withhold });
    let engine = stage.engine().await;
    let id = stage.accept().await;
    seconds(10).await;
    let view = stage.view(id).await;
    assert_eq!((view.row.state, view.row.attempts, view.attempts.len()), (State::Dead, 1, 1));
    let failure = view.row.last_failure.expect("it says why");
    assert_eq!(*failure.code(), Code::TARGET_GONE);
    assert!(failure.reason().contains("HTTP_503: as told"), "{failure}");
    let stats = engine.stats(Lane::Webhook).expect("it works the lane");
    assert_eq!((stats.carried, stats.dead), (1, 1));

    let stage = Stage::new(|_, _| Play::Withhold);
    let _engine = stage.engine().await;
    let id = stage.accept().await;
    seconds(1).await;
    let view = stage.view(id).await;
    assert_eq!((view.row.state, view.row.attempts), (State::Dead, 0));
    assert_eq!(view.attempts, []);
    assert_eq!(view.row.last_failure.expect("it says why").reason(), "as told");
}

/// faults.md E2: the carrier may have to ask a store that is unavailable what follows; the result waits for
/// it.
#[tokio::test(start_paused = true)]
async fn a_result_waits_until_what_follows_is_known() {
    let stage = Stage::new(|_, _| Play::Deliver);
    let engine = stage.engine().await;
    let follows = stage.parcel(false);
    let second = follows.deliveries[0].id;
    stage.actor.follow.lock().push(follows);
    stage.actor.follow_refusals.store(7, Ordering::Relaxed);
    let first = stage.accept().await;
    seconds(60).await;
    for id in [first, second] {
        assert_eq!(stage.view(id).await.row.state, State::Delivered);
    }
    let stats = engine.stats(Lane::Webhook).expect("it works the lane");
    assert_eq!((stats.settle_retries, stats.delivered), (7, 2));
}

#[tokio::test(start_paused = true)]
async fn what_is_put_off_still_expires() {
    let stage = Stage::new(|_, _| Play::Defer);
    let mut setup = stage.setup();
    setup.lanes = vec![LaneSetup {
        terms: LaneTerms { expiry: Some(Duration::from_secs(30)), ..LaneTerms::default() },
        ..LaneSetup::new(Lane::Webhook, stage.actor.clone())
    }];
    let _engine = Engine::start(setup).await.expect("it starts");
    let id = stage.accept().await;
    seconds(60).await;
    let view = stage.view(id).await;
    assert_eq!((view.row.state, view.row.attempts), (State::Dead, 0));
}

#[tokio::test(start_paused = true)]
async fn a_carrier_that_breaks_breaks_nothing_else() {
    let stage = Stage::new(|_, attempt| if attempt == 1 { Play::Break } else { Play::Deliver });
    let engine = stage.engine().await;
    let id = stage.accept().await;
    seconds(5).await;
    let view = stage.view(id).await;
    assert_eq!((view.row.state, view.row.attempts), (State::Delivered, 2));
    let first = view.attempts[0].failure.as_ref().expect("it failed");
    assert_eq!(*first.code(), Code::CARRIER_PANIC);
    assert_eq!(engine.stats(Lane::Webhook).expect("it works the lane").panics, 1);
}

#[tokio::test(start_paused = true)]
async fn what_follows_is_delivered_too() {
    let stage = Stage::new(|_, _| Play::Deliver);
    let _engine = stage.engine().await;
    // Marked to be held: nothing would queue it, so the engine must not let it be leased.
    let follows = stage.parcel(true);
    let second = follows.deliveries[0].id;
    stage.actor.follow.lock().push(follows);
    stage.accept().await;
    seconds(3).await;
    assert_eq!(stage.view(second).await.row.state, State::Delivered);
}

#[tokio::test(start_paused = true)]
async fn what_waited_too_long_is_not_tried() {
    let stage = Stage::new(|_, _| Play::Deliver);
    let id = stage.accept().await;
    seconds(3_600).await;
    let mut setup = stage.setup();
    setup.lanes = vec![LaneSetup {
        terms: LaneTerms { expiry: Some(Duration::from_mins(30)), ..LaneTerms::default() },
        ..LaneSetup::new(Lane::Webhook, stage.actor.clone())
    }];
    let _engine = Engine::start(setup).await.expect("it starts");
    seconds(3).await;
    let view = stage.view(id).await;
    assert_eq!((view.row.state, view.row.attempts), (State::Dead, 0));
    assert!(stage.actor.calls.lock().is_empty());
    let stats = stage.store.dead_stats(DeadFilter::default()).await.expect("the store works");
    assert_eq!(stats.by_code.get("EXPIRED"), Some(&1));
}

/// If a lane reports every end, the store gives nothing up without its carrier.
#[tokio::test(start_paused = true)]
async fn the_store_expires_nothing_if_the_lane_does_so_itself() {
    for (expires_in_store, state) in [(true, State::Dead), (false, State::Pending)] {
        let stage = Stage::new(|_, _| Play::Deliver);
        // Paused, so that it is not claimed and given up meanwhile.
        stage
            .store
            .pause(Pause::Lane(Lane::Webhook), stage.clock.now())
            .await
            .expect("the store works");
        let id = stage.accept().await;
        seconds(3_600).await;
        let mut setup = stage.setup();
        setup.lanes = vec![LaneSetup {
            terms: LaneTerms { expiry: Some(Duration::from_mins(30)), ..LaneTerms::default() },
            expires_in_store,
            ..LaneSetup::new(Lane::Webhook, stage.actor.clone())
        }];
        let engine = Engine::start(setup).await.expect("it starts");
        engine.expire_once().await.expect("the store works");
        assert_eq!(stage.view(id).await.row.state, state);
        let is_dead = u64::from(expires_in_store);
        let stats = engine.stats(Lane::Webhook).expect("the lane");
        assert_eq!(stats.dead, is_dead, "it is counted like any other dead letter");
        let failures = engine.failures(Lane::Webhook).expect("the lane");
        let expired = failures.by_code.get(&Code::EXPIRED).copied();
        assert_eq!(expired.map_or(0, |count| count.dead_letters), is_dead);
    }
}
