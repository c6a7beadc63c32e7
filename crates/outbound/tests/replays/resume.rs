//! Replays whose runner dies: another runner continues where it stopped, and only one runs at a time.

use std::{collections::BTreeMap, time::Duration};

use gancho_domain::{Clock, EndpointId, Lane, ReplayId};
use gancho_outbound::{NewReplay, Replay, ReplayFilter, ReplayItems, ReplayState, Replays};
use gancho_store::{
    DeliveryFilter, EventFilter, ListOrder, NewDelivery, PageRequest, ReplayLease, ReplayTotal,
};
use gancho_testkit::{receiver::Receiver, wait_for};

use crate::stage::{Stage, event, ok};

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
    let filter = ReplayFilter { of: ReplayItems::Events, ..ReplayFilter::default() };
    NewReplay { filter, to: Some(to), rate: Some(3), dry_run: false }
}

async fn get(stage: &Stage, replays: &Replays, id: ReplayId) -> Replay {
    replays.get(stage.scope, id).await.unwrap()
}

/// Runs a replay to its end, page by page.
async fn finish(stage: &Stage, replays: &Replays, id: ReplayId) -> Replay {
    wait_for("the replay to end", || async {
        replays.run_once().await.unwrap();
        Some(get(stage, replays, id).await).filter(|replay| replay.state.is_final())
    })
    .await
}

/// Counts how often each event arrived.
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
    let first = stage.outbound.replays();
    let id = first.create(stage.scope, slow(to)).await.unwrap().id;
    first.run_once().await.unwrap();
    assert_eq!(get(&stage, &first, id).await.done, 3);
    drop(first);

    let second = stage.outbound.replays();
    second.run_once().await.unwrap();
    assert_eq!(get(&stage, &second, id).await.done, 3, "the dead one's lease still holds");
    stage.clock.advance(LEASE);
    let done = finish(&stage, &second, id).await;
    assert_eq!((done.state, done.total, done.done), (ReplayState::Done, 10, 10));
    all_arrived(&stage, &receiver, to).await;
}

/// The runner dies after it sent a page and before it recorded it.
#[tokio::test]
async fn a_page_in_doubt_is_not_sent_twice() {
    let stage = Stage::new().await;
    let (receiver, to) = with_ten_events(&stage).await;
    let first = stage.outbound.replays();
    let id = first.create(stage.scope, slow(to)).await.unwrap().id;
    first.run_once().await.unwrap();
    assert_eq!(get(&stage, &first, id).await.done, 3);
    // The second page as the runner would have sent it, oldest first.
    let page = PageRequest::first(20).in_order(ListOrder::OldestFirst);
    let events = stage.store.events(stage.scope, EventFilter::default(), page).await.unwrap();
    for event in &events.rows[3..6] {
        let delivery = NewDelivery {
            id: stage.ids.make(),
            lane: Lane::Webhook,
            target: to,
            due_at: stage.clock.now(),
            in_order: false,
            hold: false,
        };
        assert!(stage.store.redeliver(stage.scope, event.id, vec![delivery]).await.unwrap());
    }
    drop(first);
    stage.clock.advance(LEASE);
    let done = finish(&stage, &stage.outbound.replays(), id).await;
    assert_eq!((done.state, done.done), (ReplayState::Done, 10));
    all_arrived(&stage, &receiver, to).await;
}

/// The same for deliveries that were made due again.
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
    let filter = ReplayFilter { endpoint: Some(to), ..ReplayFilter::default() };
    let new = NewReplay { filter, rate: Some(3), ..NewReplay::default() };
    let id = stage.outbound.replays().create(stage.scope, new).await.unwrap().id;
    // A runner that starts, sends the first page and dies.
    let now = stage.clock.now();
    let lease = ReplayLease { runner: "dead".into(), until: now + Duration::from_secs(30) };
    let total = ReplayTotal { count: 6, is_exact: true };
    stage.store.lease_replay(id, lease, total, now).await.unwrap().unwrap();
    let mut rows = stage.deliveries(DeliveryFilter::default()).await;
    rows.sort_unstable_by_key(|row| row.id);
    let page = rows[..3].iter().map(|row| row.id).collect();
    stage.store.retry_now_in_order(stage.scope, page, now).await.unwrap();
    ended().await;
    stage.clock.advance(LEASE);
    let done = finish(&stage, &stage.outbound.replays(), id).await;
    assert_eq!((done.state, done.done), (ReplayState::Done, 6));
    ended().await;
    let times = times(&receiver);
    assert!(times.values().all(|count| *count == 2), "once at first, once again: {times:?}");
}

/// Several runners at once: one of them sends each page.
#[tokio::test]
async fn many_runners_send_each_once() {
    let stage = Stage::new().await;
    let (receiver, to) = with_ten_events(&stage).await;
    let runners: Vec<Replays> = (0..4).map(|_| stage.outbound.replays()).collect();
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

/// faults.md B8: however a cancellation falls between pages, it reports what was sent, on the node that runs
/// the replay or on another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canceled_replay_counts_what_was_sent() {
    for round in 0..12_u64 {
        let stage = Stage::new().await;
        let (_receiver, to) = with_ten_events(&stage).await;
        let runner = std::sync::Arc::new(stage.outbound.replays());
        let other = stage.outbound.replays();
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
        assert_eq!(after.state, ReplayState::Canceled);
        assert_eq!(after.done, rows.len() as u64, "round {round}");
        if is_here {
            assert_eq!(canceled.done, after.done, "round {round}");
        }
    }
}
