//! Replays: what is sent again, to which endpoint, how fast, and what is not.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use gancho_domain::{Clock, EndpointId, EventId, Lane, RetryDraft, Status, Tenant, TenantScope};
use gancho_outbound::{
    EndpointDraft, NewReplay, Owner, Replay, ReplayError, ReplayFilter, ReplayItems, ReplayState,
    Replays,
};
use gancho_store::DeliveryFilter;
use gancho_testkit::{
    http_request::{answering, arrived},
    receiver::{Receiver, Step},
    wait_for,
};
use tokio_util::sync::CancellationToken;

use crate::stage::{Stage, draft, event, ok, pointers};

fn once(receiver: &Receiver, events: &[&str]) -> EndpointDraft {
    EndpointDraft { retry: Some(Some(RetryDraft::Schedule(vec![]))), ..draft(receiver, events) }
}

async fn publish(stage: &Stage, event_type: &str, count: usize) -> Vec<EventId> {
    let mut ids = Vec::new();
    for _ in 0..count {
        ids.push(stage.publish(event(event_type, "{}")).await.id);
    }
    wait_for("all to end", || async {
        let rows = stage.deliveries(DeliveryFilter::default()).await;
        rows.iter().all(|row| row.state.is_final()).then_some(())
    })
    .await;
    // A replay includes only what was created before the request.
    stage.clock.advance(Duration::from_secs(1));
    ids
}

async fn run(stage: &Stage, replays: &Replays, id: gancho_domain::ReplayId) -> Replay {
    wait_for("the replay to end", || async {
        replays.run_once().await.unwrap();
        let replay = replays.get(stage.scope, id).await.unwrap();
        replay.state.is_final().then_some(replay)
    })
    .await
}

fn failed_of(endpoint: EndpointId) -> ReplayFilter {
    ReplayFilter {
        endpoint: Some(endpoint),
        status: Some(Status::Failed),
        ..ReplayFilter::default()
    }
}

fn fast(filter: ReplayFilter) -> NewReplay {
    NewReplay { filter, rate: Some(1_000), ..NewReplay::default() }
}

#[tokio::test]
async fn what_failed_goes_to_where_it_was_meant_to_go() {
    let stage = Stage::new().await;
    let receiver = answering(|number| if number < 5 { "500 No" } else { "200 OK" }).await;
    let id = stage.create(once(&receiver, &["*"])).await.endpoint.id;
    let events = publish(&stage, "a.b", 5).await;
    let replays = stage.outbound.replays();
    let counted = replays
        .create(stage.scope, NewReplay { dry_run: true, ..fast(failed_of(id)) })
        .await
        .unwrap();
    assert_eq!((counted.total, counted.is_total_exact, counted.is_dry_run), (5, true, true));
    assert!(
        matches!(replays.get(stage.scope, counted.id).await, Err(ReplayError::NotFound)),
        "nothing is kept of it"
    );

    let asked = replays.create(stage.scope, fast(failed_of(id))).await.unwrap();
    assert_eq!((asked.state, asked.done), (ReplayState::Pending, 0));
    let done = run(&stage, &replays, asked.id).await;
    assert_eq!((done.state, done.total, done.done, done.skipped), (ReplayState::Done, 5, 5, 0));
    assert!(done.started_at.is_some() && done.finished_at.is_some());
    let seen = arrived(&receiver, 10).await;
    let again: BTreeSet<String> =
        seen[5..].iter().map(|seen| seen.one("webhook-id").to_owned()).collect();
    assert_eq!(again, events.iter().map(ToString::to_string).collect(), "under their own ids");
    let listed = replays.list(stage.scope, None, 10).await.unwrap();
    assert_eq!(listed, std::slice::from_ref(&done));
    assert_eq!(replays.list(stage.operator, None, 10).await.unwrap(), []);
    assert!(matches!(replays.get(stage.operator, done.id).await, Err(ReplayError::NotFound)));
    assert!(matches!(replays.cancel(stage.scope, done.id).await, Err(ReplayError::Over)));
}

/// Its receiver considers a delivery past before the response is recorded.
#[tokio::test]
async fn one_that_has_just_arrived_is_not_skipped() {
    let stage = Stage::new().await;
    let ok = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec();
    let receiver = Receiver::plain(move |number| match number {
        0 => vec![Step::ReadRequest, Step::Drip(ok.clone(), Duration::from_millis(5))],
        _ => vec![Step::ReadRequest, Step::ok()],
    });
    let receiver = receiver.await.unwrap();
    let id = stage.endpoint(&receiver, &["*"]).await;
    stage.publish(event("a.b", "{}")).await;
    arrived(&receiver, 1).await;
    stage.clock.advance(Duration::from_secs(1));
    let filter = ReplayFilter { endpoint: Some(id), ..ReplayFilter::default() };
    let replays = stage.outbound.replays();
    let asked = replays.create(stage.scope, fast(filter)).await.unwrap();
    let done = run(&stage, &replays, asked.id).await;
    assert_eq!((done.done, done.skipped), (1, 0));
    arrived(&receiver, 2).await;
}

/// The filter matches little of a long log: the count takes turns of its owner, and can be canceled in between.
#[tokio::test]
async fn a_long_count_gives_its_turn_back() {
    let stage = Stage::new().await;
    let receiver = ok().await;
    let to = stage.endpoint(&receiver, &["nothing.of.it"]).await;
    for _ in 0..1_100 {
        stage.publish(event("a.b", "{}")).await;
    }
    stage.publish(event("other.c", "{}")).await;
    stage.clock.advance(Duration::from_secs(1));
    let replays = stage.outbound.replays().with_count_turn(Duration::ZERO);
    let filter = |event_type: &str| ReplayFilter {
        of: ReplayItems::Events,
        event_type: Some(event_type.into()),
        ..ReplayFilter::default()
    };
    let new = |event_type| NewReplay { to: Some(to), ..fast(filter(event_type)) };
    let long = replays.create(stage.scope, new("a.b")).await.unwrap().id;
    let canceled = replays.create(stage.scope, new("a.b")).await.unwrap().id;
    let short = replays.create(stage.scope, new("other.c")).await.unwrap().id;
    replays.run_once().await.unwrap();
    let started = async |id| replays.get(stage.scope, id).await.unwrap().started_at.is_some();
    assert!(!started(long).await && !started(canceled).await, "a page of each is counted");
    assert!(started(short).await, "it had its turn");
    replays.cancel(stage.scope, canceled).await.unwrap();
    replays.run_once().await.unwrap();
    assert!(started(long).await);
    let long = replays.get(stage.scope, long).await.unwrap();
    assert_eq!((long.total, long.is_total_exact), (1_100, true), "it goes on where it was");
    assert_eq!(run(&stage, &replays, short).await.total, 1);
    assert_eq!(replays.get(stage.scope, canceled).await.unwrap().state, ReplayState::Canceled);
}

#[tokio::test]
async fn events_go_to_an_endpoint_that_was_made_later() {
    let stage = Stage::new().await;
    let first = ok().await;
    stage.endpoint(&first, &["a.*"]).await;
    publish(&stage, "a.b", 3).await;
    publish(&stage, "other.c", 2).await;
    let later = ok().await;
    let to = stage.endpoint(&later, &["nothing.of.it"]).await;
    let replays = stage.outbound.replays();
    let filter = ReplayFilter {
        of: ReplayItems::Events,
        event_type: Some("other.c".into()),
        ..ReplayFilter::default()
    };
    let new = NewReplay { to: Some(to), ..fast(filter) };
    let done = run(&stage, &replays, replays.create(stage.scope, new).await.unwrap().id).await;
    assert_eq!((done.total, done.done), (2, 2));
    assert_eq!(arrived(&later, 2).await.len(), 2, "also what no endpoint had wanted");

    let filter = ReplayFilter { event_type: Some("a.b".into()), ..ReplayFilter::default() };
    let new = NewReplay { to: Some(to), ..fast(filter) };
    let done = run(&stage, &replays, replays.create(stage.scope, new).await.unwrap().id).await;
    assert_eq!(done.done, 3, "past deliveries, to another endpoint");
    arrived(&later, 5).await;
    assert_eq!(first.accepted(), 3, "the first endpoint gets nothing again");
}

#[tokio::test]
async fn tests_and_notices_are_not_meant() {
    let stage = Stage::new().await;
    let (bad, notices, later) = (answering(|_| "500 No").await, ok().await, ok().await);
    let tried = stage.create(once(&bad, &["a.b"])).await.endpoint.id;
    stage.endpoint(&notices, &["webhook.*"]).await;
    publish(&stage, "a.b", 1).await;
    stage.of_type(stage.scope, "webhook.delivery.exhausted").await;
    gancho_outbound::test_endpoint(&stage.publisher, stage.scope, &stage.tenant, tried, None)
        .await
        .unwrap();
    publish(&stage, "c.d", 1).await;
    let to = stage.endpoint(&later, &["nothing"]).await;
    let replays = stage.outbound.replays();
    let events = ReplayFilter { of: ReplayItems::Events, ..ReplayFilter::default() };
    let new = NewReplay { to: Some(to), ..fast(events.clone()) };
    let done = run(&stage, &replays, replays.create(stage.scope, new).await.unwrap().id).await;
    assert_eq!((done.total, done.done), (2, 2), "a.b and c.d");
    let name = Some("webhook.delivery.exhausted".to_owned());
    let new = NewReplay { to: Some(to), ..fast(ReplayFilter { event_type: name, ..events }) };
    let done = run(&stage, &replays, replays.create(stage.scope, new).await.unwrap().id).await;
    assert_eq!((done.total, done.done), (1, 1), "asked for by its name");
    let all = ReplayFilter { endpoint: Some(tried), ..ReplayFilter::default() };
    let new = NewReplay { dry_run: true, ..fast(all) };
    assert_eq!(replays.create(stage.scope, new).await.unwrap().total, 1, "without the test");
}

#[tokio::test]
async fn named_events_and_no_others() {
    let stage = Stage::new().await;
    let receiver = ok().await;
    let id = stage.endpoint(&receiver, &["*"]).await;
    let events = publish(&stage, "a.b", 4).await;
    let replays = stage.outbound.replays();
    let named = vec![events[1], events[3], EventId::from_bits(9)];
    let filter = ReplayFilter { events: named.clone(), ..ReplayFilter::default() };
    let done =
        run(&stage, &replays, replays.create(stage.scope, fast(filter)).await.unwrap().id).await;
    assert_eq!((done.total, done.done), (2, 2), "delivered ones too: they were named");
    let seen = arrived(&receiver, 6).await;
    let again: BTreeSet<&str> = seen[4..].iter().map(|seen| seen.one("webhook-id")).collect();
    assert_eq!(
        again,
        [events[1].to_string(), events[3].to_string()].iter().map(String::as_str).collect()
    );
    let filter = ReplayFilter { of: ReplayItems::Events, events: named, ..ReplayFilter::default() };
    let new = NewReplay { to: Some(id), ..fast(filter) };
    let done = run(&stage, &replays, replays.create(stage.scope, new).await.unwrap().id).await;
    assert_eq!((done.done, done.failed), (2, 1), "one of them is not there");
}

/// Nothing is sent to a deleted or disabled endpoint.
#[tokio::test]
async fn gone_and_switched_off_are_passed_over() {
    let stage = Stage::new().await;
    let (gone, off) = (answering(|_| "500 No").await, answering(|_| "500 No").await);
    let gone_id = stage.create(once(&gone, &["*"])).await.endpoint.id;
    let off_id = stage.create(once(&off, &["*"])).await.endpoint.id;
    publish(&stage, "a.b", 2).await;
    stage.desk.delete(stage.scope, gone_id).await.unwrap();
    let patch = EndpointDraft { is_active: Some(false), ..EndpointDraft::default() };
    stage.desk.change(stage.scope, off_id, patch, false).await.unwrap();
    let replays = stage.outbound.replays();
    let all = ReplayFilter::default();
    let done =
        run(&stage, &replays, replays.create(stage.scope, fast(all)).await.unwrap().id).await;
    assert_eq!((done.total, done.done, done.skipped), (4, 0, 4));
    assert_eq!((gone.accepted(), off.accepted()), (2, 2));
}

#[tokio::test]
async fn dead_letters_of_one_tenant_and_of_all() {
    let stage = Stage::new().await;
    let receiver = answering(|number| if number < 6 { "500 No" } else { "200 OK" }).await;
    stage.create(once(&receiver, &["*"])).await;
    publish(&stage, "a.b", 6).await;
    let replays = stage.outbound.replays();
    let dead = ReplayFilter {
        of: ReplayItems::DeadLetters,
        lane: Some(Lane::Webhook),
        code: Some("HTTP_500".into()),
        ..ReplayFilter::default()
    };
    let none = ReplayFilter { code: Some("HTTP_404".into()), ..dead.clone() };
    let counted =
        replays.create(stage.scope, NewReplay { dry_run: true, ..fast(none) }).await.unwrap();
    assert_eq!(counted.total, 0);
    let other = replays
        .create(stage.operator, NewReplay { dry_run: true, ..fast(dead.clone()) })
        .await
        .unwrap();
    assert_eq!(other.total, 0, "another tenant's are not its own");
    let asked = replays.create(Owner::Operator, fast(dead)).await.unwrap();
    let done = wait_for("the replay to end", || async {
        replays.run_once().await.unwrap();
        let replay = replays.get(Owner::Operator, asked.id).await.unwrap();
        replay.state.is_final().then_some(replay)
    })
    .await;
    assert_eq!((done.total, done.done), (6, 6));
    arrived(&receiver, 12).await;
    wait_for("no dead letter to be left", || async {
        let stats = gancho_store::DeadLetters::dead_stats(
            &*stage.store,
            gancho_store::DeadFilter::default(),
        )
        .await;
        (stats.unwrap().total == 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_replay_keeps_to_its_rate() {
    let stage = Stage::new().await;
    let receiver = ok().await;
    let id = stage.endpoint(&receiver, &["*"]).await;
    publish(&stage, "a.b", 30).await;
    let replays = std::sync::Arc::new(stage.outbound.replays());
    let filter = ReplayFilter { endpoint: Some(id), ..ReplayFilter::default() };
    let started = Instant::now();
    let new = NewReplay { filter, rate: Some(10), ..NewReplay::default() };
    let asked = replays.create(stage.scope, new).await.unwrap();
    let stop = CancellationToken::new();
    let (looped, stopped) = (replays.clone(), stop.clone());
    let running = tokio::spawn(async move { looped.run(stopped).await });
    let done = wait_for("the replay to end", || async {
        let replay = replays.get(stage.scope, asked.id).await.unwrap();
        replay.state.is_final().then_some(replay)
    })
    .await;
    assert_eq!(done.done, 30);
    let took = started.elapsed();
    assert!(
        took >= Duration::from_millis(1_900),
        "30 at 10 a second, the first 10 at once: {took:?}"
    );
    stop.cancel();
    running.await.unwrap();
}

/// Slow pages delay neither the replays of others nor their cancellation.
#[tokio::test]
async fn replays_of_others_do_not_wait_for_slow_ones() {
    let stage = Stage::new().await;
    let receiver = ok().await;
    let silent = Receiver::plain(|_| vec![Step::ReadRequest, Step::Hang]).await.unwrap();
    let quick = stage.endpoint(&receiver, &["a.b"]).await;
    publish(&stage, "a.b", 101).await;
    // Each page waits for a delivery that is in flight.
    let other = Tenant::new(stage.ids.make(), "other", stage.clock.now());
    stage.store.create_tenant(other.clone()).await.unwrap();
    let scope = TenantScope::internal(other.id);
    let slow = stage.desk.create(scope, &other, draft(&silent, &["*"])).await.unwrap().endpoint.id;
    stage.publisher.publish(scope, &other, event("a.b", "{}")).await.unwrap();
    arrived(&silent, 1).await;
    stage.clock.advance(Duration::from_secs(1));
    let replays = stage.outbound.replays();
    let of = |endpoint| fast(ReplayFilter { endpoint: Some(endpoint), ..Default::default() });
    let mut slow_ones = Vec::new();
    for _ in 0..10 {
        slow_ones.push(replays.create(scope, of(slow)).await.unwrap().id);
    }
    let quick_one = replays.create(stage.scope, of(quick)).await.unwrap().id;

    let stop = CancellationToken::new();
    let running = replays.run(stop.clone());
    let outcome = async {
        let done = wait_for("the quick replay to end", || async {
            let replay = replays.get(stage.scope, quick_one).await.unwrap();
            replay.state.is_final().then_some(replay)
        })
        .await;
        assert_eq!(done.done, 101);
        replays.cancel(scope, *slow_ones.last().unwrap()).await.unwrap();
        let open = stage.store.open_replays(100).await.unwrap();
        assert!(!open.is_empty(), "not all of the slow ones have ended");
        stop.cancel();
    };
    tokio::join!(running, outcome);
}

#[tokio::test]
async fn canceled_stays_canceled() {
    let stage = Stage::new().await;
    let receiver = ok().await;
    let id = stage.endpoint(&receiver, &["*"]).await;
    publish(&stage, "a.b", 9).await;
    let replays = stage.outbound.replays();
    let filter = ReplayFilter { endpoint: Some(id), ..ReplayFilter::default() };
    let slow = NewReplay { filter, rate: Some(3), ..NewReplay::default() };
    let asked = replays.create(stage.scope, slow).await.unwrap();
    let next = replays.run_once().await.unwrap();
    assert!(next.is_some_and(|next| next > Duration::from_millis(500)), "{next:?}");
    let running = replays.get(stage.scope, asked.id).await.unwrap();
    assert_eq!((running.state, running.total, running.done), (ReplayState::Running, 9, 3));
    let canceled = replays.cancel(stage.scope, asked.id).await.unwrap();
    assert_eq!((canceled.state, canceled.done), (ReplayState::Canceled, 3));
    assert_eq!(replays.run_once().await.unwrap(), None, "nothing is left to run");
    assert_eq!(replays.get(stage.scope, asked.id).await.unwrap(), canceled);
    assert_eq!(arrived(&receiver, 12).await.len(), 12);
    assert_eq!(replays.cancel(stage.scope, asked.id).await.unwrap().state, ReplayState::Canceled);
}

#[tokio::test]
async fn replays_that_are_refused() {
    let stage = Stage::new().await;
    let receiver = ok().await;
    let off = EndpointDraft { is_active: Some(false), ..draft(&receiver, &["*"]) };
    let off = stage.create(off).await.endpoint.id;
    let replays = stage.outbound.replays();
    let now = stage.clock.now();
    let events = ReplayFilter { of: ReplayItems::Events, ..ReplayFilter::default() };
    let dead = ReplayFilter { of: ReplayItems::DeadLetters, ..ReplayFilter::default() };
    let upside_down =
        ReplayFilter { since: Some(now), until: Some(now), ..ReplayFilter::default() };
    let many =
        ReplayFilter { events: vec![EventId::from_bits(1); 1_001], ..ReplayFilter::default() };
    for (new, expected) in [
        (fast(events), ("missing_field", "/to")),
        (NewReplay { to: Some(off), ..fast(dead.clone()) }, ("endpoint_off", "/to")),
        (
            NewReplay {
                to: Some(off),
                ..fast(ReplayFilter { lane: Some(Lane::Email), ..dead.clone() })
            },
            ("out_of_place", "/to"),
        ),
        (fast(upside_down), ("out_of_range", "/filter/until")),
        (fast(many), ("too_many", "/filter/events")),
        (NewReplay { rate: Some(0), ..fast(failed_of(off)) }, ("out_of_range", "/rate")),
        (NewReplay { rate: Some(1_001), ..fast(failed_of(off)) }, ("out_of_range", "/rate")),
        (
            NewReplay { to: Some(EndpointId::from_bits(1)), ..fast(failed_of(off)) },
            ("not_found", "/to"),
        ),
    ] {
        match replays.create(stage.scope, new).await {
            Err(ReplayError::Faulty(errors)) if expected.0 == "out_of_place" => {
                assert_eq!(pointers(&errors)[0], expected);
            }
            Err(ReplayError::Faulty(errors)) => assert_eq!(pointers(&errors), [expected]),
            other => panic!("{expected:?}: {other:?}"),
        }
    }
    let of_all = NewReplay { to: Some(off), ..fast(dead) };
    let of_all = replays.create(Owner::Operator, of_all).await;
    assert!(matches!(of_all, Err(ReplayError::Faulty(_))), "one endpoint belongs to one tenant");
    let all = replays.create(Owner::Operator, fast(failed_of(off))).await;
    assert!(matches!(all, Err(ReplayError::Faulty(_))), "only dead letters over all tenants");
    for _ in 0..10 {
        replays.create(stage.scope, fast(failed_of(off))).await.unwrap();
    }
    let eleventh = replays.create(stage.scope, fast(failed_of(off))).await;
    assert!(matches!(eleventh, Err(ReplayError::Faulty(errors)) if errors[0].code == "too_many"));
}

/// faults.md 9: whatever its window is, a replay sends what existed and ends.
#[tokio::test]
async fn every_window_comes_to_an_end() {
    let stage = Stage::new().await;
    let (bad, good) = (answering(|_| "500 No").await, ok().await);
    let gone = stage.create(once(&bad, &["a.b"])).await.endpoint.id;
    let later = stage.create(once(&good, &["a.b"])).await.endpoint.id;
    let made_at = stage.clock.now();
    publish(&stage, "a.b", 8).await;
    stage.desk.delete(stage.scope, gone).await.unwrap();
    let replays = stage.outbound.replays();
    let (hour, year) = (Duration::from_hours(1), Duration::from_hours(24 * 365));
    for (since, until, is_in) in [
        (None, None, true),
        (None, Some(made_at + hour), true),
        (None, Some(made_at + 80 * year), true),
        (Some(made_at - hour), Some(made_at + 80 * year), true),
        (Some(made_at), Some(made_at + year), true),
        (None, Some(made_at - hour), false),
        (Some(made_at + hour), None, false),
        (Some(made_at + hour), Some(made_at + year), false),
    ] {
        for (of, to, count) in [
            // Their endpoint was deleted: all are skipped.
            (ReplayItems::DeadLetters, None, 8),
            (ReplayItems::Deliveries, None, 16),
            (ReplayItems::Deliveries, Some(later), 8),
            (ReplayItems::Events, Some(later), 8),
        ] {
            let filter = ReplayFilter { of, since, until, ..ReplayFilter::default() };
            let event_type = (of != ReplayItems::DeadLetters).then(|| "a.b".to_owned());
            let new = NewReplay { to, ..fast(ReplayFilter { event_type, ..filter }) };
            let dry = NewReplay { dry_run: true, ..new.clone() };
            let counted = replays.create(stage.scope, dry).await.unwrap();
            let counted = counted.total + counted.skipped;
            let asked = replays.create(stage.scope, new).await.unwrap();
            let done = run(&stage, &replays, asked.id).await;
            let sent = done.done + done.skipped + done.failed;
            let what = format!("{of:?} {since:?} {until:?}: {done:?}");
            assert_eq!((done.state, done.total), (ReplayState::Done, counted), "{what}");
            if is_in {
                assert!(sent >= count && sent <= counted, "{what}");
            } else {
                assert_eq!((sent, counted), (0, 0), "{what}");
            }
            wait_for("all to end", || async {
                let rows = stage.deliveries(DeliveryFilter::default()).await;
                rows.iter().all(|row| row.state.is_final()).then_some(())
            })
            .await;
            stage.clock.advance(Duration::from_secs(1));
        }
    }
}
