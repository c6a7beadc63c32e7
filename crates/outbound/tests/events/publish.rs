//! Publishing within limits: the plan, the rate, and keys that make a repeat a repeat.

use std::time::Duration;

use gancho_domain::Rate;
use gancho_outbound::{AcceptedEvent, NewEvent, Plan, Plans, PublishError};
use gancho_testkit::wait_for;

use crate::stage::{Setup, Stage, event};

async fn on_plan(events: u64) -> Stage {
    let plans = Plans::built_in().with("few", Plan { endpoints: None, events: Some(events) });
    let mut stage = Stage::with(Setup { plans, ..Setup::default() }).await;
    stage.tenant.plan = "few".into();
    stage
}

async fn publish(stage: &Stage, event: NewEvent) -> Result<AcceptedEvent, PublishError> {
    stage.publisher.publish(stage.scope, &stage.tenant, event).await
}

fn keyed(key: u8, content: u8) -> NewEvent {
    NewEvent {
        idempotency_key: Some(key.to_string().into()),
        external_id: Some(content.to_string().into()),
        ..event("a.b", "{}")
    }
}

#[tokio::test]
async fn a_plan_bounds_the_events_of_a_month() {
    let stage = on_plan(3).await;
    for _ in 0..3 {
        publish(&stage, event("a.b", "{}")).await.unwrap();
    }
    let Err(PublishError::PlanLimit(limit)) = publish(&stage, event("a.b", "{}")).await else {
        panic!("it was taken")
    };
    assert_eq!((limit.plan.as_str(), limit.what), ("few", "events"));
    assert_eq!((limit.limit, limit.used), (3, 3));
    assert_eq!(limit.resets_at.unwrap().to_string(), "2026-12-01T00:00:00.000Z");
    assert_eq!(stage.store.used(stage.scope, "2026-11").await, Ok(3));
    stage.clock.set(limit.resets_at.unwrap() - Duration::from_micros(1));
    assert!(publish(&stage, event("a.b", "{}")).await.is_err());
    stage.clock.set(limit.resets_at.unwrap());
    publish(&stage, event("a.b", "{}")).await.unwrap();
    assert_eq!(stage.store.used(stage.scope, "2026-12").await, Ok(1));
}

/// A duplicate is not charged, a conflict is not, and neither is an event that is refused before.
#[tokio::test]
async fn what_is_not_new_is_given_back() {
    let stage = on_plan(10).await;
    let first = publish(&stage, keyed(1, 1)).await.unwrap();
    for _ in 0..4 {
        let again = publish(&stage, keyed(1, 1)).await.unwrap();
        assert_eq!(
            (again.id, again.is_repeat, again.created_at),
            (first.id, true, first.created_at)
        );
    }
    let clash = publish(&stage, keyed(1, 2)).await;
    assert_eq!(clash, Err(PublishError::KeyClash { first: first.id }));
    assert!(publish(&stage, event("webhook.x", "{}")).await.is_err());
    assert_eq!(stage.store.used(stage.scope, "2026-11").await, Ok(1));
}

#[tokio::test]
async fn a_tenant_without_a_limit_is_not_counted() {
    let stage = Stage::new().await;
    stage.publish(event("a.b", "{}")).await;
    assert_eq!(stage.store.used(stage.scope, "2026-11").await, Ok(0));
    let mut lost = stage.tenant.clone();
    lost.plan = "a plan that was taken out of the settings".into();
    stage.publisher.publish(stage.scope, &lost, event("a.b", "{}")).await.unwrap();
}

#[tokio::test]
async fn a_rate_bounds_the_events_of_a_window() {
    let rate = Rate { count: 5, per: Duration::from_secs(1) };
    let mut stage = Stage::with(Setup { rate: Some(rate), ..Setup::default() }).await;
    for left in (0..5).rev() {
        let published = publish(&stage, event("a.b", "{}")).await.unwrap();
        let standing = published.rate.unwrap();
        assert_eq!((standing.limit, standing.remaining), (5, left));
        assert_eq!(standing.reset, Duration::from_millis(200) * (5 - left));
    }
    let refused = publish(&stage, event("a.b", "{}")).await;
    let expected = PublishError::TooFast {
        retry_after: Duration::from_millis(200),
        limit: 5,
        remaining: 0,
        reset: Duration::from_secs(1),
    };
    assert_eq!(refused, Err(expected));
    stage.clock.advance(Duration::from_millis(200));
    publish(&stage, event("a.b", "{}")).await.unwrap();
    assert!(publish(&stage, event("a.b", "{}")).await.is_err());
    stage.clock.advance(Duration::from_secs(1));
    stage.tenant.publish_rate = Some(Rate { count: 1_000, per: Duration::from_secs(1) });
    let published = publish(&stage, event("a.b", "{}")).await.unwrap();
    assert_eq!(published.rate.unwrap().limit, 1_000, "its own rate counts first");
}

/// A hundred concurrent calls with one key: one event, charged once.
#[tokio::test]
async fn parallel_repeats_are_one() {
    let stage = std::sync::Arc::new(on_plan(1_000).await);
    let mut work = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let stage = stage.clone();
        work.spawn(async move { publish(&stage, keyed(7, 7)).await.unwrap() });
    }
    let answers = work.join_all().await;
    assert_eq!(answers.iter().filter(|answer| !answer.is_repeat).count(), 1);
    assert!(answers.iter().all(|answer| answer.id == answers[0].id));
    assert_eq!(stage.store.used(stage.scope, "2026-11").await, Ok(1));
}

#[tokio::test]
async fn a_caller_who_goes_away_changes_nothing() {
    let stage = on_plan(100).await;
    for _ in 0..20 {
        let publishing = publish(&stage, event("a.b", "{}"));
        let _ = tokio::time::timeout(Duration::from_micros(50), publishing).await;
    }
    publish(&stage, event("a.b", "{}")).await.unwrap();
    // Publishes that have begun are finished, and each is charged.
    wait_for("all to be finished", || async {
        let page = gancho_store::PageRequest::first(100);
        let all = gancho_store::Deliveries::events(
            &*stage.store,
            stage.scope,
            gancho_store::EventFilter::default(),
            page,
        );
        let count = all.await.unwrap().rows.len() as u64;
        (stage.store.used(stage.scope, "2026-11").await == Ok(count)).then_some(())
    })
    .await;
}
