//! Replays whose runner dies: another goes on where it stopped, and one runs at a time.

use std::{collections::BTreeMap, time::Duration};

use gancho_domain::{EndpointId, ReplayId};
use gancho_outbound::{NewReplay, Replay, ReplayFilter, ReplayOf, ReplayState, Replays};
use gancho_store::{DeliveryFilter, Expect, Records, Shelf};
use gancho_testkit::receiver::Receiver;

use crate::stage::{Stage, event, ok, wait_for};

const LEASE: Duration = Duration::from_secs(31);

async fn with_ten_events(stage: &Stage) -> (Receiver, EndpointId) {
    let receiver = ok().await;
    let id = stage.endpoint(&receiver, &["nothing"]).await;
    let made = ok().await;
    stage.endpoint(&made, &["a.b"]).await;
    for _ in 0..10 {
        stage.publish(event("a.b", "{}")).await;
    }
    stage.clock.advance(Duration::from_secs(1));
    (receiver, id)
}

fn slow(to: EndpointId) -> NewReplay {
    let filter = ReplayFilter { of: ReplayOf::Events, ..ReplayFilter::default() };
    NewReplay { filter, to: Some(to), rate: Some(3), dry_run: false }
}

async fn get(stage: &Stage, replays: &Replays, id: ReplayId) -> Replay {
    replays.get(stage.scope, id).await.unwrap()
}

/// To the end, page by page.
async fn finish(stage: &Stage, replays: &Replays, id: ReplayId) -> Replay {
    wait_for("the replay to end", || async {
        replays.run_once().await.unwrap();
        Some(get(stage, replays, id).await).filter(|replay| replay.state.is_final())
    })
    .await
}

/// How often each event arrived.
fn times(receiver: &Receiver) -> BTreeMap<String, usize> {
    let mut times = BTreeMap::new();
    for request in receiver.requests() {
        let text = request.text();
        let id =
            text.lines().find_map(|line| line.strip_prefix("webhook-id: ")).unwrap().to_owned();
        *times.entry(id).or_default() += 1;
    }
    times
}

async fn all_arrived(stage: &Stage, receiver: &Receiver, to: EndpointId) {
    wait_for("all to arrive", || async {
        let rows = stage
            .deliveries(DeliveryFilter { endpoint: Some(to), ..DeliveryFilter::default() })
            .await;
        (rows.len() >= 10 && rows.iter().all(|row| row.state.is_final())).then_some(())
    })
    .await;
    let times = times(receiver);
    assert_eq!(times.len(), 10, "none is left out");
    assert!(times.values().all(|count| *count == 1), "none comes twice: {times:?}");
}

#[tokio::test]
async fn another_runner_goes_on_where_one_died() {
    let stage = Stage::new().await;
    let (receiver, to) = with_ten_events(&stage).await;
    let first = stage.replays();
    let id = first.create(stage.scope, slow(to)).await.unwrap().id;
    first.run_once().await.unwrap();
    assert_eq!(get(&stage, &first, id).await.done, 3);
    drop(first);

    let second = stage.replays();
    second.run_once().await.unwrap();
    assert_eq!(get(&stage, &second, id).await.done, 3, "the dead one's lease still holds");
    stage.clock.advance(LEASE);
    let done = finish(&stage, &second, id).await;
    assert_eq!((done.state, done.total, done.done), (ReplayState::Done, 10, 10));
    all_arrived(&stage, &receiver, to).await;
}

/// The runner dies after a page was sent and before that was written down.
#[tokio::test]
async fn a_page_in_doubt_is_not_sent_twice() {
    let stage = Stage::new().await;
    let (receiver, to) = with_ten_events(&stage).await;
    let first = stage.replays();
    let id = first.create(stage.scope, slow(to)).await.unwrap().id;
    first.run_once().await.unwrap();
    let shelf = Shelf::of(stage.scope, "replay");
    let before = stage.store.records(shelf, None, 1).await.unwrap().remove(0);
    wait_for("the second page", || async {
        first.run_once().await.unwrap();
        (get(&stage, &first, id).await.done == 6).then_some(())
    })
    .await;
    // As if the second page had never been written down.
    stage.store.put_record(shelf, &before.key, before.body, Expect::Anything).await.unwrap();
    drop(first);
    stage.clock.advance(LEASE);
    let done = finish(&stage, &stage.replays(), id).await;
    assert_eq!((done.state, done.done), (ReplayState::Done, 10));
    all_arrived(&stage, &receiver, to).await;
}

/// The same for deliveries that are armed anew.
#[tokio::test]
async fn a_page_in_doubt_is_not_armed_twice() {
    let stage = Stage::new().await;
    let receiver = ok().await;
    let to = stage.endpoint(&receiver, &["*"]).await;
    for _ in 0..6 {
        stage.publish(event("a.b", "{}")).await;
    }
    let ended = async || {
        wait_for("all to end", || async {
            let rows = stage.deliveries(DeliveryFilter::default()).await;
            rows.iter().all(|row| row.state.is_final()).then_some(())
        })
        .await;
    };
    ended().await;
    stage.clock.advance(Duration::from_secs(1));
    let first = stage.replays();
    let filter = ReplayFilter { endpoint: Some(to), ..ReplayFilter::default() };
    let new = NewReplay { filter, rate: Some(3), ..NewReplay::default() };
    let id = first.create(stage.scope, new).await.unwrap().id;
    let shelf = Shelf::of(stage.scope, "replay");
    first.run_once().await.unwrap();
    let started = stage.store.records(shelf, None, 1).await.unwrap().remove(0);
    let unsent =
        String::from_utf8(started.body.to_vec()).unwrap().replace("\"done\":3", "\"done\":0");
    let cursor = unsent.find("\"cursor\":{").unwrap();
    let end = cursor + unsent[cursor..].find('}').unwrap();
    let unsent =
        format!("{}\"cursor\":{{\"after\":null,\"events\":0{}", &unsent[..cursor], &unsent[end..]);
    stage.store.put_record(shelf, &started.key, unsent.into(), Expect::Anything).await.unwrap();
    ended().await;
    drop(first);
    stage.clock.advance(LEASE);
    let done = finish(&stage, &stage.replays(), id).await;
    assert_eq!((done.state, done.done), (ReplayState::Done, 6));
    ended().await;
    let times = times(&receiver);
    assert!(times.values().all(|count| *count == 2), "once at first, once again: {times:?}");
}

/// Several runners at once: each page is sent by one of them.
#[tokio::test]
async fn many_runners_send_each_once() {
    let stage = Stage::new().await;
    let (receiver, to) = with_ten_events(&stage).await;
    let runners: Vec<Replays> = (0..4).map(|_| stage.replays()).collect();
    let id = runners[0].create(stage.scope, slow(to)).await.unwrap().id;
    wait_for("the replay to end", || async {
        let [a, b, c, d] = [0, 1, 2, 3].map(|number| runners[number].run_once());
        let (a, b, c, d) = tokio::join!(a, b, c, d);
        for done in [a, b, c, d] {
            done.unwrap();
        }
        get(&stage, &runners[0], id).await.state.is_final().then_some(())
    })
    .await;
    assert_eq!(get(&stage, &runners[0], id).await.done, 10);
    all_arrived(&stage, &receiver, to).await;
}

/// faults.md B8: however a cancellation falls between pages, it says what was sent: asked for on the node
/// that runs the replay, or on another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canceled_replay_counts_what_was_sent() {
    for round in 0..12_u64 {
        let stage = Stage::new().await;
        let (_receiver, to) = with_ten_events(&stage).await;
        let runner = std::sync::Arc::new(stage.replays());
        let other = stage.replays();
        let id = runner.create(stage.scope, slow(to)).await.unwrap().id;
        if round >= 6 {
            runner.run_once().await.unwrap();
            wait_for("the next page to be due", || async {
                runner.run_once().await.unwrap();
                (get(&stage, &runner, id).await.done == 6).then_some(())
            })
            .await;
        }
        let working = runner.clone();
        let running = tokio::spawn(async move { working.run_once().await });
        for _ in 0..round % 6 {
            tokio::task::yield_now().await;
        }
        let is_here = round % 2 == 0;
        let canceler = if is_here { &*runner } else { &other };
        let canceled = canceler.cancel(stage.scope, id).await.unwrap();
        running.await.unwrap().unwrap();
        let rows = stage
            .deliveries(DeliveryFilter { endpoint: Some(to), ..DeliveryFilter::default() })
            .await;
        let after = get(&stage, &runner, id).await;
        assert_eq!(after.state, ReplayState::Cancelled);
        assert_eq!(after.done, rows.len() as u64, "round {round}");
        if is_here {
            assert_eq!(canceled.done, after.done, "round {round}");
        }
    }
}

/// A mark whose job was never written goes away by itself.
#[tokio::test]
async fn a_mark_without_a_job_is_removed() {
    let stage = Stage::new().await;
    let open = Shelf::operators("replay_open");
    let id: ReplayId = stage.ids.make();
    let key = ReplayId::from_bits(!id.bits()).to_string();
    let mark = stage.tenant.id.to_string();
    stage.store.put_record(open, &key, mark.into(), Expect::Anything).await.unwrap();
    let replays = stage.replays();
    replays.run_once().await.unwrap();
    assert_eq!(
        stage.store.records(open, None, 9).await.unwrap().len(),
        1,
        "it may be about to come"
    );
    stage.clock.advance(Duration::from_secs(120));
    replays.run_once().await.unwrap();
    assert_eq!(stage.store.records(open, None, 9).await.unwrap(), []);
}
