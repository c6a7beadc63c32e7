//! Endpoints that fail for days, or respond 410: the owner is warned, they are disabled, and enabled again by
//! hand.

use std::{sync::Arc, time::Duration};

use gancho_domain::{Clock, DisableReason, EndpointId, Health, RetryDraft, Status, Time};
use gancho_outbound::EndpointDraft;
use gancho_store::{DeliveryFilter, DeliveryView};
use gancho_testkit::{
    http_request::{answering, arrived},
    receiver::{Receiver, Step},
    wait_for,
};

use crate::stage::{DAY, Stage, draft, event, failing, ok};

/// Publishes without retries, so that one event is one attempt.
async fn once(stage: &Stage, receiver: &Receiver) -> EndpointId {
    let retry = Some(Some(RetryDraft::Schedule(vec![])));
    stage.create(EndpointDraft { retry, ..draft(receiver, &["*"]) }).await.endpoint.id
}

async fn attempt(stage: &Stage) -> DeliveryView {
    stage.publish_and_end(event("a.b", "{}")).await
}

async fn health(stage: &Stage, id: EndpointId) -> Health {
    stage.read(id).await.health
}

#[tokio::test]
async fn five_days_of_failures() {
    let stage = Stage::new().await;
    let receiver = failing().await;
    let id = once(&stage, &receiver).await;
    let notices = ok().await;
    stage.endpoint(&notices, &["webhook.*"]).await;

    attempt(&stage).await;
    let since = health(&stage, id).await.failing_since.unwrap();
    assert!(stage.clock.now().since(since) < Duration::from_secs(5));
    let written = stage.read(id).await.version;
    for _ in 0..3 {
        attempt(&stage).await;
    }
    assert_eq!(stage.read(id).await.version, written, "failing on is not written down again");

    stage.clock.set(since + 2 * DAY);
    attempt(&stage).await;
    assert_eq!(health(&stage, id).await.warned_at, None);
    stage.clock.set(since + 5 * DAY / 2);
    attempt(&stage).await;
    let warned_at = health(&stage, id).await.warned_at.expect("half of the time is over");
    stage.clock.set(since + 4 * DAY);
    attempt(&stage).await;
    assert_eq!(health(&stage, id).await.warned_at, Some(warned_at), "once");
    assert!(stage.read(id).await.is_active);

    stage.clock.set(since + 5 * DAY);
    attempt(&stage).await;
    let endpoint = stage.read(id).await;
    assert!(!endpoint.is_active);
    assert_eq!(endpoint.health.disabled, Some(DisableReason::Failing));
    let calls = receiver.accepted();
    assert_eq!(stage.publish(event("a.b", "{}")).await.deliveries, 0, "it gets nothing any more");
    assert_eq!(receiver.accepted(), calls);

    wait_for("the notice", || async {
        let names: Vec<String> = arrived(&notices, 2)
            .await
            .iter()
            .map(|seen| seen.json()["type"].as_str().unwrap().to_owned())
            .filter(|name| name.starts_with("webhook.endpoint."))
            .collect();
        (names == ["webhook.endpoint.failing", "webhook.endpoint.disabled"]).then_some(())
    })
    .await;
}

/// Only days that have really passed count: a clock that jumps ahead disables nothing, even if it stays
/// wrong.
#[tokio::test]
async fn a_clock_that_jumps_ahead_does_not_disable() {
    let stage = Stage::new().await;
    let receiver = failing().await;
    let id = once(&stage, &receiver).await;
    attempt(&stage).await;
    assert!(health(&stage, id).await.failing_since.is_some());

    stage.clock.jump(stage.clock.now() + 6 * DAY);
    attempt(&stage).await;
    let endpoint = stage.read(id).await;
    assert!(endpoint.is_active, "the clock has just jumped");
    assert_eq!(endpoint.health.warned_at, None);
    stage.clock.advance(DAY);
    attempt(&stage).await;
    let endpoint = stage.read(id).await;
    assert!(endpoint.is_active, "it has failed for a day");
    assert_eq!(endpoint.health.warned_at, None);

    stage.clock.advance(2 * DAY);
    attempt(&stage).await;
    assert!(health(&stage, id).await.warned_at.is_some(), "it has failed for three days");
    stage.clock.advance(5 * DAY / 2);
    attempt(&stage).await;
    assert_eq!(health(&stage, id).await.disabled, Some(DisableReason::Failing));
}

#[tokio::test]
async fn one_success_forgets_the_failures() {
    let stage = Stage::new().await;
    let receiver = answering(|number| if number == 2 { "200 OK" } else { "500 No" }).await;
    let id = once(&stage, &receiver).await;
    attempt(&stage).await;
    let since = health(&stage, id).await.failing_since.unwrap();
    stage.clock.set(since + 3 * DAY);
    attempt(&stage).await;
    assert!(health(&stage, id).await.warned_at.is_some());
    stage.clock.set(since + 4 * DAY);
    assert_eq!(attempt(&stage).await.row.status(), Status::Delivered);
    assert_eq!(health(&stage, id).await, Health::default());
    stage.clock.set(since + 6 * DAY);
    attempt(&stage).await;
    let endpoint = stage.read(id).await;
    assert!(endpoint.is_active, "it starts over");
    assert!(endpoint.health.failing_since >= Some(since + 6 * DAY));
}

/// An endpoint that alternates between success and failure is not written at every change. Thousands of a
/// tenant's endpoints may begin to fail at once, which must not read all of them thousands of times.
#[tokio::test]
async fn one_that_begins_to_fail_does_not_make_all_be_read_again() {
    let stage = Stage::new().await;
    let receiver = answering(|number| if number == 0 { "500 No" } else { "200 OK" }).await;
    let id = once(&stage, &receiver).await;
    let before = stage.outbound.registry.of(stage.tenant.id).await.unwrap();
    attempt(&stage).await;
    wait_for("its failing to be stored", || async {
        health(&stage, id).await.failing_since.map(drop)
    })
    .await;
    let after = stage.outbound.registry.of(stage.tenant.id).await.unwrap();
    assert!(Arc::ptr_eq(&before, &after), "all were read again");
    // The cached state is old, but the recovery is noticed.
    attempt(&stage).await;
    wait_for("its working to be stored", || async {
        (health(&stage, id).await == Health::default()).then_some(())
    })
    .await;
}

#[tokio::test]
async fn flapping_is_not_written_at_every_turn() {
    let stage = Stage::new().await;
    let receiver = answering(|number| if number % 2 == 0 { "500 No" } else { "200 OK" }).await;
    let id = once(&stage, &receiver).await;
    let before = stage.read(id).await.version;
    for _ in 0..30 {
        let id = stage.publish(event("a.b", "{}")).await.id;
        wait_for("an end", || async {
            let rows = stage
                .deliveries(DeliveryFilter { event: Some(id), ..DeliveryFilter::default() })
                .await;
            rows.iter().all(|row| row.state.is_final()).then_some(())
        })
        .await;
    }
    let writes = stage.read(id).await.version - before;
    assert!(writes <= 2, "{writes} writes while the clock stood still");
}

#[tokio::test]
async fn gone_is_switched_off_at_once() {
    let stage = Stage::new().await;
    let receiver = answering(|_| "410 Gone").await;
    let id = stage.endpoint(&receiver, &["*"]).await;
    let notices = ok().await;
    stage.endpoint(&notices, &["webhook.endpoint.disabled"]).await;
    let view = attempt(&stage).await;
    assert_eq!(view.attempts.len(), 1, "it is not retried");
    assert_eq!(view.row.last_failure.unwrap().code().as_str(), "TARGET_GONE");
    let endpoint = stage.read(id).await;
    assert!(!endpoint.is_active);
    assert_eq!(endpoint.health.disabled, Some(DisableReason::Gone));
    let seen = &arrived(&notices, 1).await[0];
    let data = &seen.json()["data"];
    assert_eq!(
        (data["reason"].as_str(), data["webhook_id"].as_str()),
        (Some("gone"), Some(id.to_string().as_str()))
    );

    let on = EndpointDraft { is_active: Some(true), ..EndpointDraft::default() };
    let endpoint = stage.desk.change(stage.scope, id, on, false).await.unwrap();
    assert_eq!((endpoint.is_active, endpoint.health), (true, Health::default()), "a clean slate");
}

/// A jump of the clock by years disables nothing by itself.
#[tokio::test]
async fn a_jump_of_the_clock_alone_switches_nothing_off() {
    let stage = Stage::new().await;
    let receiver = answering(|number| if number == 0 { "500 No" } else { "200 OK" }).await;
    let id = once(&stage, &receiver).await;
    attempt(&stage).await;
    stage.clock.set(Time::from_secs(4_000_000_000));
    attempt(&stage).await;
    assert_eq!(health(&stage, id).await, Health::default());
    assert!(stage.read(id).await.is_active);
}

/// An endpoint that is known to fail gets one delivery at a time, also from a node that has just started.
#[tokio::test]
async fn one_that_fails_is_met_with_caution() {
    let stage = Stage::new().await;
    let receiver = Receiver::plain(|_| {
        let slow = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        vec![Step::ReadRequest, Step::Drip(slow.as_bytes().to_vec(), Duration::from_millis(8))]
    })
    .await
    .unwrap();
    let id = once(&stage, &receiver).await;
    let mut endpoint = stage.read(id).await;
    endpoint.health.failing_since = Some(stage.clock.now() - DAY);
    gancho_store::Endpoints::save_endpoint(&*stage.store, stage.scope, endpoint).await.unwrap();
    stage.outbound.registry.forget(stage.scope.tenant());
    for _ in 0..5 {
        stage.publish(event("a.b", "{}")).await;
    }
    wait_for("the first", || async { (receiver.accepted() > 0).then_some(()) }).await;
    assert_eq!(receiver.accepted(), 1, "the others wait for the first");
    wait_for("all", || async { (receiver.requests().len() == 5).then_some(()) }).await;
    wait_for("a clean slate", || async {
        (health(&stage, id).await == Health::default()).then_some(())
    })
    .await;
}
