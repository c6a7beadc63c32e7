//! Deliveries that wait for a deleted endpoint end as dead letters, whatever they waited for.

use std::time::Duration;

use gancho_domain::{Clock, Code, EndpointId, Lane, RetryDraft, Status};
use gancho_outbound::{EndpointDraft, NewEvent};
use gancho_store::{DeadFilter, DeliveryFilter, DeliveryRow, PageRequest, Pause};
use gancho_testkit::{
    http_request::{answering, arrived},
    receiver::{Receiver, Step},
    wait_for,
};
use tokio_util::sync::CancellationToken;

use crate::stage::{DAY, Stage, draft, event, failing, ok};

/// The running sweeper, as in a gateway.
struct Sweeping(CancellationToken);

impl Sweeping {
    fn of(stage: &Stage) -> Self {
        let (stop, orphans) = (CancellationToken::new(), stage.desk.orphans.clone());
        let stopped = stop.clone();
        tokio::spawn(async move { orphans.run(|_| {}, stopped).await });
        Self(stop)
    }
}

impl Drop for Sweeping {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

async fn rows(stage: &Stage, to: EndpointId) -> Vec<DeliveryRow> {
    stage.deliveries(DeliveryFilter { endpoint: Some(to), ..DeliveryFilter::default() }).await
}

async fn delete(stage: &Stage, id: EndpointId) {
    stage.desk.delete(stage.scope, id).await.unwrap();
    // As the API does; a gateway also reads the pauses once a second.
    stage.publisher.engine.refresh_pauses().await.unwrap();
}

/// Waits until all deliveries to the endpoint have failed, and checks the reasons of the dead letters.
async fn all_ended(stage: &Stage, id: EndpointId, count: usize) {
    wait_for("all to end", || async {
        let rows = rows(stage, id).await;
        assert_eq!(rows.len(), count);
        rows.iter().all(|row| row.status() == Status::Failed).then_some(())
    })
    .await;
    let page = PageRequest::first(1_000);
    let dead = stage.store.dead_letters(DeadFilter::default(), page).await.unwrap().rows;
    assert_eq!(dead.len(), count);
    for letter in dead {
        assert_eq!(*letter.failure.code(), Code::TARGET_GONE, "{}", letter.failure);
    }
}

// faults.md 8: also while the tenant or the lane is paused.
#[tokio::test]
async fn paused_ones_end_with_their_endpoint() {
    for held in [1, 2, 4, 7] {
        let stage = Stage::new().await;
        let receiver = ok().await;
        let id = stage.endpoint(&receiver, &["*"]).await;
        let tenant = stage.scope.tenant();
        let pauses =
            [Pause::Endpoint(tenant, id), Pause::Tenant(tenant), Pause::Lane(Lane::Webhook)];
        let engine = &stage.publisher.engine;
        for (place, what) in pauses.into_iter().enumerate() {
            if held & (1 << place) != 0 {
                engine.pause(what).await.unwrap();
            }
        }
        let sweeping = Sweeping::of(&stage);
        for _ in 0..20 {
            stage.publish(event("a.b", "{}")).await;
        }
        delete(&stage, id).await;
        let left = stage.store.pauses().await.unwrap();
        assert!(!left.contains(&pauses[0]), "its pause went with it: {left:?}");
        all_ended(&stage, id, 20).await;
        assert_eq!(receiver.accepted(), 0);
        drop(sweeping);
    }
}

#[tokio::test]
async fn scheduled_ordered_and_retried_ones_end_too() {
    let stage = Stage::new().await;
    let _sweeping = Sweeping::of(&stage);
    let receiver = failing().await;
    let later = RetryDraft::Schedule(vec!["8h".to_owned()]);
    let ordered = EndpointDraft {
        ordering: Some("per_subject".into()),
        retry: Some(Some(later)),
        ..draft(&receiver, &["*"])
    };
    let id = stage.create(ordered).await.endpoint.id;
    for _ in 0..5 {
        stage.publish(NewEvent { subject: Some("order-1".into()), ..event("a.b", "{}") }).await;
    }
    let in_a_year = Some(stage.clock.now() + 365 * DAY);
    stage.publish(NewEvent { deliver_at: in_a_year, ..event("a.b", "{}") }).await;
    wait_for("the first to be tried", || async {
        rows(&stage, id).await.iter().any(|row| row.attempts == 1).then_some(())
    })
    .await;
    delete(&stage, id).await;
    all_ended(&stage, id, 6).await;
    assert_eq!(receiver.accepted(), 1);
}

#[tokio::test]
async fn those_behind_an_open_breaker_end_too() {
    let stage = Stage::new().await;
    let _sweeping = Sweeping::of(&stage);
    let receiver = failing().await;
    let once = RetryDraft::Schedule(vec!["8h".to_owned()]);
    let made = EndpointDraft { retry: Some(Some(once)), ..draft(&receiver, &["*"]) };
    let id = stage.create(made).await.endpoint.id;
    for _ in 0..15 {
        stage.publish(event("a.b", "{}")).await;
    }
    wait_for("the breaker to open", || async { (receiver.accepted() >= 10).then_some(()) }).await;
    for _ in 0..15 {
        stage.publish(event("a.b", "{}")).await;
    }
    delete(&stage, id).await;
    // The probe of the breaker is sent when its pause is over.
    wait_for("all to end", || async {
        stage.clock.advance(Duration::from_secs(1));
        stage.desk.orphans.sweep(&|_| {}).await.unwrap();
        rows(&stage, id).await.iter().all(|row| row.status() == Status::Failed).then_some(())
    })
    .await;
    all_ended(&stage, id, 30).await;
}

/// An attempt in flight runs to its end; its retry has no endpoint.
#[tokio::test]
async fn one_that_was_in_flight_is_found_by_the_sweep() {
    let stage = Stage::new().await;
    let receiver = Receiver::plain(|_| {
        let slow = "HTTP/1.1 503 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        vec![Step::ReadRequest, Step::Drip(slow.as_bytes().to_vec(), Duration::from_millis(5))]
    })
    .await
    .unwrap();
    let later = RetryDraft::Schedule(vec!["8h".to_owned()]);
    let made = EndpointDraft { retry: Some(Some(later)), ..draft(&receiver, &["*"]) };
    let id = stage.create(made).await.endpoint.id;
    stage.publish(event("a.b", "{}")).await;
    arrived(&receiver, 1).await;
    delete(&stage, id).await;
    wait_for("the end", || async {
        stage.desk.orphans.sweep(&|_| {}).await.unwrap();
        rows(&stage, id).await.iter().all(|row| row.status() == Status::Failed).then_some(())
    })
    .await;
    let row = rows(&stage, id).await.remove(0);
    let reason = row.last_failure.unwrap();
    assert_eq!(row.attempts, 1);
    assert!(reason.reason().contains("HTTP_503"), "what happened stays readable: {reason}");
}

/// Deliveries that an earlier version left behind are cleared when the gateway starts.
#[tokio::test]
async fn what_was_left_behind_is_cleared_at_the_start() {
    let stage = Stage::new().await;
    let receiver = answering(|_| "200 OK").await;
    let id = stage.endpoint(&receiver, &["*"]).await;
    let what = Pause::Endpoint(stage.scope.tenant(), id);
    stage.publisher.engine.pause(what).await.unwrap();
    for _ in 0..3 {
        stage.publish(event("a.b", "{}")).await;
    }
    stage.desk.delete(stage.scope, id).await.unwrap();
    stage.store.pause(what, stage.clock.now()).await.unwrap();
    let _sweeping = Sweeping::of(&stage);
    all_ended(&stage, id, 3).await;
    wait_for("the pause to be lifted", || async {
        stage.store.pauses().await.unwrap().is_empty().then_some(())
    })
    .await;
}
