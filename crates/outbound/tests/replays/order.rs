//! Replays to ordered endpoints: the oldest go first, and none overtakes another of its subject, even if a
//! node dies in between. (faults.md B2)

use std::time::Duration;

use gancho_domain::{EndpointId, ReplayId, RetryDraft};
use gancho_outbound::{
    EndpointDraft, NewEvent, NewReplay, Replay, ReplayFilter, ReplayItems, ReplayState, Replays,
};
use gancho_store::DeliveryFilter;
use gancho_testkit::{
    http_request::{answering, arrived},
    receiver::Receiver,
    wait_for,
};

use crate::stage::{Stage, draft, event, ok};

/// How long a runner that died holds its replay.
const LEASE: Duration = Duration::from_secs(31);

fn strict(receiver: &Receiver, events: &[&str]) -> EndpointDraft {
    EndpointDraft {
        ordering: Some("per_subject".into()),
        retry: Some(Some(RetryDraft::Schedule(vec![]))),
        ..draft(receiver, events)
    }
}

/// Publishes six events of one subject, each with its number.
async fn publish_six(stage: &Stage) {
    for data in ["1", "2", "3", "4", "5", "6"] {
        let event = event("order.changed", data);
        stage.publish(NewEvent { subject: Some("order-1".into()), ..event }).await;
    }
    wait_for("all to end", || async {
        let rows = stage.deliveries(DeliveryFilter::default()).await;
        (rows.len() == 6 && rows.iter().all(|row| row.state.is_final())).then_some(())
    })
    .await;
    // A replay includes only what was created before the request.
    stage.clock.advance(Duration::from_secs(1));
}

/// One runner sends a page of three and dies; another takes the replay over.
async fn run_with_a_restart(stage: &Stage, new: NewReplay) -> Replay {
    let first = stage.outbound.replays();
    let id = first.create(stage.scope, new).await.unwrap().id;
    first.run_once().await.unwrap();
    assert_eq!(get(stage, &first, id).await.done, 3, "a page");
    drop(first);
    stage.clock.advance(LEASE);
    let second = stage.outbound.replays();
    wait_for("the replay to end", || async {
        second.run_once().await.unwrap();
        Some(get(stage, &second, id).await).filter(|replay| replay.state.is_final())
    })
    .await
}

async fn get(stage: &Stage, replays: &Replays, id: ReplayId) -> Replay {
    replays.get(stage.scope, id).await.unwrap()
}

/// Returns the numbers of the last six of `count` requests, in order of arrival.
async fn numbers(receiver: &Receiver, count: usize) -> Vec<i64> {
    let seen = arrived(receiver, count).await;
    seen[count - 6..].iter().map(|seen| seen.json()["data"].as_i64().unwrap()).collect()
}

fn at_three_a_second(filter: ReplayFilter, to: Option<EndpointId>) -> NewReplay {
    NewReplay { filter, to, rate: Some(3), dry_run: false }
}

#[tokio::test]
async fn events_of_a_subject_arrive_in_order() {
    let stage = Stage::new().await;
    let (first, later) = (ok().await, ok().await);
    stage.endpoint(&first, &["order.*"]).await;
    publish_six(&stage).await;
    let to = stage.create(strict(&later, &["nothing.of.it"])).await.endpoint.id;
    let filter = ReplayFilter { of: ReplayItems::Events, ..ReplayFilter::default() };
    let done = run_with_a_restart(&stage, at_three_a_second(filter, Some(to))).await;
    assert_eq!((done.state, done.total, done.done), (ReplayState::Done, 6, 6));
    assert_eq!(numbers(&later, 6).await, [1, 2, 3, 4, 5, 6]);
}

#[tokio::test]
async fn deliveries_of_a_subject_arrive_in_order() {
    let stage = Stage::new().await;
    let receiver = ok().await;
    let id = stage.create(strict(&receiver, &["*"])).await.endpoint.id;
    publish_six(&stage).await;
    let filter = ReplayFilter { endpoint: Some(id), ..ReplayFilter::default() };
    let done = run_with_a_restart(&stage, at_three_a_second(filter, None)).await;
    assert_eq!((done.state, done.total, done.done), (ReplayState::Done, 6, 6));
    assert_eq!(numbers(&receiver, 12).await, [1, 2, 3, 4, 5, 6]);
    assert_eq!(receiver.requests().len(), 12, "each once more");
}

/// The endpoint had already received some of the events.
#[tokio::test]
async fn deliveries_to_another_endpoint_arrive_in_order() {
    let stage = Stage::new().await;
    let (first, later) = (ok().await, ok().await);
    stage.endpoint(&first, &["order.*"]).await;
    publish_six(&stage).await;
    let to = stage.create(strict(&later, &["nothing.of.it"])).await.endpoint.id;
    let rows = stage.deliveries(DeliveryFilter::default()).await;
    let invalid: Vec<_> = rows.iter().rev().step_by(2).map(|row| row.event).collect();
    let filter =
        ReplayFilter { of: ReplayItems::Events, events: invalid, ..ReplayFilter::default() };
    run_with_a_restart(&stage, at_three_a_second(filter, Some(to))).await;
    let seen = arrived(&later, 3).await;
    let invalid: Vec<_> = seen.iter().map(|seen| seen.json()["data"].as_i64().unwrap()).collect();
    assert_eq!(invalid, [1, 3, 5], "in order, however they are named");
    wait_for("the three to end", || async {
        let rows = stage.deliveries(DeliveryFilter::default()).await;
        rows.iter().all(|row| row.state.is_final()).then_some(())
    })
    .await;
    stage.clock.advance(Duration::from_secs(1));
    let new = NewReplay { rate: Some(1_000), to: Some(to), ..NewReplay::default() };
    let replays = stage.outbound.replays();
    let id = replays.create(stage.scope, new).await.unwrap().id;
    wait_for("the replay to end", || async {
        replays.run_once().await.unwrap();
        get(&stage, &replays, id).await.state.is_final().then_some(())
    })
    .await;
    assert_eq!(numbers(&later, 9).await, [1, 2, 3, 4, 5, 6]);
}

#[tokio::test]
async fn dead_letters_of_a_subject_arrive_in_order() {
    let stage = Stage::new().await;
    let receiver = answering(|number| if number < 6 { "500 No" } else { "200 OK" }).await;
    stage.create(strict(&receiver, &["*"])).await;
    publish_six(&stage).await;
    let filter = ReplayFilter { of: ReplayItems::DeadLetters, ..ReplayFilter::default() };
    let done = run_with_a_restart(&stage, at_three_a_second(filter, None)).await;
    assert_eq!((done.state, done.total, done.done), (ReplayState::Done, 6, 6));
    assert_eq!(numbers(&receiver, 12).await, [1, 2, 3, 4, 5, 6]);
}
