//! The engine counts what the store has confirmed: once, and on every node.

use std::time::Duration;

use gancho_domain::{Clock, Figures, Lane, TenantScope};
use gancho_engine::{Engine, Limits};
use gancho_store::{Statistics, StatisticsPoint, StatisticsStep, StatisticsWindow};

use crate::stage::{Play, Stage, TARGET, TENANT, seconds};

/// Returns the sum of all counts so far.
async fn total(stage: &Stage, of_target: bool) -> Figures {
    let now = stage.clock.now();
    let since = StatisticsStep::Day.floor(now);
    let window =
        StatisticsWindow { step: StatisticsStep::Hour, since, until: now + Duration::from_secs(1) };
    let points = if of_target {
        let of = vec![(Some(TARGET), Lane::Webhook)];
        stage.store.tenant_statistics(TenantScope::internal(TENANT), of, window).await
    } else {
        stage.store.gateway_statistics(vec![Lane::Webhook], window).await
    };
    sum(points.expect("the store works"))
}

fn sum(points: Vec<StatisticsPoint>) -> Figures {
    points.into_iter().fold(Figures::default(), |mut sum, point| {
        sum.merge(&point.figures);
        sum
    })
}

#[tokio::test(start_paused = true)]
async fn results_are_counted_once() {
    // The first attempt of each delivery fails.
    let stage = Stage::new(|_, attempt| if attempt == 1 { Play::Fail } else { Play::Deliver });
    let engine = stage.engine().await;
    for _ in 0..3 {
        stage.publish(&engine).await;
    }
    seconds(10).await;
    for of_target in [true, false] {
        let total = total(&stage, of_target).await;
        assert_eq!((total.accepted, total.attempts, total.failed_attempts), (3, 6, 3));
        assert_eq!((total.delivered, total.delivered_first, total.dead_letters), (3, 0, 0));
        assert_eq!((total.response_time.total(), total.delivery_time.total()), (6, 3));
        let took = total.delivery_time.percentile(0.5).expect("something was delivered");
        assert!(took > Duration::from_millis(750) && took < Duration::from_secs(3), "{took:?}");
    }
    let once = total(&stage, true).await;
    seconds(60).await;
    assert_eq!(total(&stage, true).await, once, "writing again counts nothing again");
}

#[tokio::test(start_paused = true)]
async fn dead_letters_and_first_attempts_are_counted() {
    let stage = Stage::new(|job, _| match job.delivery.bits() % 2 {
        0 => Play::Refuse,
        _ => Play::Deliver,
    });
    let engine = stage.engine().await;
    let mut refused = 0;
    for _ in 0..20 {
        refused += u64::from(stage.publish(&engine).await.0.bits().is_multiple_of(2));
    }
    assert!(refused > 0 && refused < 20, "{refused}");
    seconds(10).await;
    let total = total(&stage, false).await;
    assert_eq!((total.dead_letters, total.failed_attempts), (refused, refused));
    assert_eq!((total.delivered, total.delivered_first), (20 - refused, 20 - refused));
}

/// No attempt is made if the target is not contacted, or if the node lacks a resource.
#[tokio::test(start_paused = true)]
async fn what_is_no_attempt_is_not_counted_as_one() {
    let stage = Stage::new(|_, _| Play::Withhold);
    let engine = stage.engine().await;
    stage.publish(&engine).await;
    seconds(10).await;
    let total = total(&stage, false).await;
    assert_eq!((total.accepted, total.attempts, total.dead_letters), (1, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_restart_keeps_what_was_written_and_a_stop_writes_the_rest() {
    let stage = Stage::new(|_, _| Play::Deliver);
    for (round, stops) in [(1, true), (2, true), (3, false)] {
        let engine = stage.engine().await;
        stage.publish(&engine).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        if stops {
            engine.stop(Duration::from_secs(5)).await;
        } else {
            // As if killed before anything was written.
            engine.abort();
            engine.ended().await;
        }
        let counted = total(&stage, true).await.delivered;
        assert_eq!(counted, if stops { round } else { round - 1 });
    }
    let engine = stage.engine().await;
    stage.publish(&engine).await;
    engine.flush_statistics().await.expect("the store works");
    assert_eq!(total(&stage, true).await.accepted, 3);
}

#[tokio::test(start_paused = true)]
async fn two_nodes_add_up() {
    let stage = Stage::new(|_, _| Play::Deliver);
    let (first, second) = (stage.engine().await, stage.engine().await);
    for engine in [&first, &second, &second] {
        stage.publish(engine).await;
    }
    seconds(6).await;
    assert_eq!(total(&stage, false).await.delivered, 3);
}

#[tokio::test(start_paused = true)]
async fn hours_are_rolled_up_and_read_the_same() {
    let stage = Stage::new(|_, _| Play::Deliver);
    let mut setup = stage.setup();
    setup.limits = Limits { poll: Duration::from_mins(10), ..Limits::default() };
    let engine = Engine::start(setup).await.expect("it starts");
    stage.publish(&engine).await;
    seconds(10).await;
    let before = total(&stage, true).await;
    assert_eq!(before.delivered, 1);
    let due = async || stage.store.roll_up_statistics(1, stage.clock.now()).await;
    assert_eq!(due().await, Ok(false), "the hour is running");
    seconds(2 * 3_600).await;
    assert_eq!(due().await, Ok(false), "upkeep has done it");
    let since = stage.clock.now() - Duration::from_hours(24);
    let window = StatisticsWindow { step: StatisticsStep::Hour, since, until: stage.clock.now() };
    let of = vec![(Some(TARGET), Lane::Webhook)];
    let points = stage.store.tenant_statistics(TenantScope::internal(TENANT), of, window).await;
    assert_eq!(sum(points.expect("the store works")), before);
}
