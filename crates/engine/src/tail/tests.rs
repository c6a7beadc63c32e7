use std::time::Duration;

use gancho_domain::{
    Attempt, Code, DeliveryId, EndpointId, EventId, Failure, Id, NextStep, Parcel, ParcelKind,
    State, Time,
};
use gancho_store::{
    AcceptOutcome, DeliveryRow, Job, NewDelivery, NewParcel, Placement, Settlement,
};

use super::*;

const NOW: Time = Time::from_secs(1_000);

fn tenant(number: u128) -> TenantId {
    TenantId::from_bits(number)
}

fn scope(number: u128) -> TenantScope {
    TenantScope::internal(tenant(number))
}

fn change(of: u128, delivery: u128) -> DeliveryChange {
    let row = DeliveryRow {
        id: DeliveryId::from_bits(delivery),
        lane: Lane::Webhook,
        target: EndpointId::from_bits(7),
        event: EventId::from_bits(3),
        event_type: "invoice.paid".into(),
        external_id: None,
        is_test: false,
        state: State::Delivered,
        attempts: 1,
        response_status: Some(200),
        last_failure: None,
        due_at: NOW,
        next_retry_at: None,
        delivered_at: Some(NOW),
        failed_at: None,
        created_at: NOW,
    };
    DeliveryChange { at: NOW, tenant: tenant(of), row, latency: None }
}

fn ids(batch: &TailBatch) -> Vec<u128> {
    batch.changes.iter().map(|change| change.row.id.bits()).collect()
}

#[test]
fn nothing_is_built_or_queued_while_nobody_watches() {
    let tails = Arc::new(Tails::default());
    assert!(!tails.are_watching(tenant(1), Lane::Webhook));
    let tail = tails.watch(TailFilter { scope: Some(scope(1)), ..TailFilter::default() });
    assert!(tails.are_watching(tenant(1), Lane::Webhook));
    assert!(!tails.are_watching(tenant(2), Lane::Webhook), "nobody watches this tenant");
    tails.publish(change(1, 1));
    assert_eq!(ids(&tail.take(10)), [1]);
    drop(tail);
    assert!(!tails.are_watching(tenant(1), Lane::Webhook));
    assert!(
        tails.watchers.read().of_tenant.is_empty(),
        "nothing is left of a watcher that went away"
    );
}

#[test]
fn a_tenant_never_sees_what_happens_to_another() {
    let tails = Arc::new(Tails::default());
    let one = tails.watch(TailFilter { scope: Some(scope(1)), ..TailFilter::default() });
    let two = tails.watch(TailFilter { scope: Some(scope(2)), ..TailFilter::default() });
    let all = tails.watch(TailFilter::default());
    for (of, delivery) in [(1, 10), (2, 20), (1, 11)] {
        tails.publish(change(of, delivery));
    }
    assert_eq!(ids(&one.take(10)), [10, 11]);
    assert_eq!(ids(&two.take(10)), [20]);
    assert_eq!(ids(&all.take(10)), [10, 20, 11]);
}

#[test]
fn a_slow_watcher_loses_the_oldest_and_learns_how_many() {
    let tails = Arc::new(Tails::default());
    let slow = tails.watch(TailFilter { scope: Some(scope(1)), ..TailFilter::default() });
    let other = tails.watch(TailFilter { scope: Some(scope(2)), ..TailFilter::default() });
    tails.publish(change(2, 1));
    for delivery in 0..MAX_QUEUED as u128 + 5 {
        tails.publish(change(1, delivery));
    }
    let batch = slow.take(MAX_QUEUED);
    assert_eq!((batch.missed, batch.changes.len()), (5, MAX_QUEUED));
    assert_eq!(ids(&batch)[0], 5);
    assert_eq!(slow.take(1).missed, 0, "each is counted once");
    let batch = other.take(10);
    assert_eq!((batch.missed, ids(&batch)), (0, vec![1]), "others do not lose theirs");
}

#[test]
fn filters_hold_together() {
    let tails = Arc::new(Tails::default());
    let sees = |filter: TailFilter| {
        let tail = tails.watch(filter);
        tails.publish(change(1, 1));
        !tail.take(1).changes.is_empty()
    };
    let none = TailFilter::default;
    let pattern = |text: &str| Some(text.parse::<Pattern>().unwrap());
    assert!(sees(none()));
    for (filter, is_seen) in [
        (TailFilter { lane: Some(Lane::Webhook), ..none() }, true),
        (TailFilter { lane: Some(Lane::Email), ..none() }, false),
        (TailFilter { target: Some(EndpointId::from_bits(7)), ..none() }, true),
        (TailFilter { target: Some(EndpointId::from_bits(8)), ..none() }, false),
        (TailFilter { event_type: pattern("invoice.*"), ..none() }, true),
        (TailFilter { event_type: pattern("order.*"), ..none() }, false),
        (TailFilter { status: Some(Status::Delivered), ..none() }, true),
        (TailFilter { status: Some(Status::Failed), ..none() }, false),
        (TailFilter { scope: Some(scope(1)), status: Some(Status::Failed), ..none() }, false),
    ] {
        assert_eq!(sees(filter.clone()), is_seen, "{filter:?}");
    }
}

#[tokio::test]
async fn a_waiting_watcher_is_woken() {
    let tails = Arc::new(Tails::default());
    let tail = tails.watch(TailFilter::default());
    let (batch, ()) = tokio::join!(tail.next(10), async { tails.publish(change(1, 1)) });
    assert_eq!(ids(&batch), [1]);
    tails.publish(change(1, 2));
    tails.publish(change(1, 3));
    assert_eq!(ids(&tail.next(1).await), [2]);
    assert_eq!(ids(&tail.next(1).await), [3], "the rest is not forgotten");
}

fn parcel() -> Arc<Parcel> {
    Arc::new(Parcel {
        id: Id::from_bits(3),
        tenant: tenant(1),
        kind: ParcelKind::Event,
        event_type: "invoice.paid".into(),
        subject: None,
        external_id: Some("inv_1".into()),
        is_test: false,
        body: bytes::Bytes::new(),
        created_at: NOW,
        trace: None,
        erased_at: None,
    })
}

fn delivery(number: u128) -> NewDelivery {
    NewDelivery {
        id: Id::from_bits(number),
        lane: Lane::Webhook,
        target: Id::from_bits(7),
        due_at: NOW,
        in_order: false,
        hold: true,
    }
}

#[test]
fn accepted_deliveries_are_shown_as_they_were_placed() {
    let deliveries = vec![delivery(1), delivery(2)];
    let new = NewParcel { parcel: parcel(), once: None, ledger: None, deliveries };
    let placed = vec![Placement::Leased, Placement::Waiting];
    let outcome = AcceptOutcome::New { number: None, placed };
    let changes: Vec<_> = accepted(NOW, &new, &outcome).collect();
    let states: Vec<_> = changes.iter().map(|change| change.row.state).collect();
    assert_eq!(states, [State::Leased, State::Waiting]);
    assert!(changes.iter().all(|change| change.row.status() == Status::Pending));
    let again = AcceptOutcome::Again { first: Id::from_bits(3) };
    assert_eq!(accepted(NOW, &new, &again).count(), 0, "accepted before");
}

#[test]
fn a_settled_attempt_says_how_it_went() {
    let job = Job {
        delivery: Id::from_bits(1),
        tenant: tenant(1),
        lane: Lane::Webhook,
        target: Id::from_bits(7),
        parcel: parcel(),
        number: None,
        attempts: 1,
        attempts_before: 0,
        lost_leases: 0,
        is_replay: false,
        in_order: false,
        created_at: NOW,
    };
    let failure = Failure::new(Code::http(503), "the server answered 503");
    let attempt = Attempt {
        number: 2,
        started_at: NOW,
        latency: Duration::from_millis(40),
        request_headers: bytes::Bytes::new(),
        response_status: Some(503),
        response_headers: bytes::Bytes::new(),
        response_body: bytes::Bytes::new(),
        failure: Some(failure.clone()),
        next_at: None,
    };
    let later = Time::from_secs(1_060);
    let retry = || NextStep::Retry { due_at: later, planned_at: later };
    let settle = |attempt, next| settled(NOW, &job, &Settlement::of(&job, NOW, attempt, next));
    let change = settle(Some(attempt.clone()), retry()).unwrap();
    assert_eq!(change.row.status(), Status::Retrying);
    assert_eq!((change.row.attempts, change.row.response_status), (2, Some(503)));
    assert_eq!((change.row.next_retry_at, change.latency), (Some(later), Some(attempt.latency)));
    assert_eq!(change.row.last_failure, Some(failure.clone()));
    let dead = settle(Some(attempt), NextStep::Dead(failure)).unwrap();
    assert_eq!(dead.row.status(), Status::Failed);
    assert_eq!(dead.row.failed_at, Some(NOW + Duration::from_millis(40)));
    assert!(settle(None, retry()).is_none(), "put off by this node");
}

#[test]
fn many_watchers_share_the_room_for_queues() {
    let tails = Arc::new(Tails::default());
    let watch =
        |number| tails.watch(TailFilter { scope: Some(scope(number)), ..TailFilter::default() });
    let first = watch(0);
    let others: Vec<_> = (1..128).map(watch).collect();
    for delivery in 0..MAX_QUEUED as u128 {
        tails.publish(change(0, delivery));
    }
    let share = MAX_QUEUED_IN_ALL / 128;
    let batch = first.take(MAX_QUEUED);
    assert_eq!((batch.missed, batch.changes.len()), ((MAX_QUEUED - share) as u64, share));
    drop(others);
    for delivery in 0..MAX_QUEUED as u128 {
        tails.publish(change(0, delivery));
    }
    assert_eq!(first.take(MAX_QUEUED).missed, 0, "alone it has all of its own again");
}
