//! Measures the cost of a page of a list in steps of SQLite's virtual machine: it depends on the rows that it
//! shows, not on the number of targets and deliveries. (faults.md 3 and 4)

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use gancho_domain::{Id, Lane, Parcel, ParcelKind, Status, TenantId, TenantScope, Time};
use gancho_store::{
    DeadFilter, DeliveryFilter, EventFilter, ListOrder, NewDelivery, NewParcel, NodeId, PageRequest,
};
use rusqlite::Connection;

use crate::{
    accept::accept_all,
    archiving, dead_letters, deliveries, events,
    open::{self, DEAD_LETTER_TTL, MAX_SCANNED},
    scan::ScanBudget,
    states::{DEAD, sql},
    transaction::{Tx, alone},
    walk::{FirstPending, next_target},
    writer_cache::WriterCache,
};

const ACME: TenantId = TenantId::from_bits(1);
const OTHER: TenantId = TenantId::from_bits(2);
/// Ids in ascending order, as [`gancho_domain::IdMaker`] makes them.
struct Ids(u128);

impl Ids {
    fn next<K>(&mut self) -> Id<K> {
        self.0 += 1;
        Id::from_bits(self.0 << 65)
    }

    fn pass_a_second(&mut self) {
        self.0 += 1_000 << 15;
    }
}

/// Fills a store: two tenants publish at the same time, a second between two events. Every fourth event of
/// each goes to no target, the other events of the first to `targets` targets.
fn store(events: usize, targets: usize) -> Connection {
    let db = open::in_memory().unwrap();
    let cache = WriterCache::load(&db, 1_000).unwrap();
    let mut ids = Ids(1 << 40);
    for number in 0..events {
        let mut parcels = Vec::new();
        for tenant in [ACME, OTHER] {
            let fan_out = match number % 4 {
                3 => 0,
                _ if tenant == ACME => targets,
                _ => 1,
            };
            let parcel = Parcel {
                id: ids.next(),
                tenant,
                kind: ParcelKind::Event,
                event_type: "a.b".into(),
                subject: None,
                external_id: Some("all".into()),
                is_test: false,
                body: Bytes::from_static(b"{}"),
                created_at: Time::from_secs(number as i64),
                trace: None,
                erased_at: None,
            };
            let delivery = |target| NewDelivery {
                id: ids.next(),
                lane: Lane::Webhook,
                target: Id::from_bits(100 + target as u128),
                due_at: Time::from_secs(1),
                in_order: false,
                hold: false,
            };
            let deliveries = (0..fan_out).map(delivery).collect();
            let parcel = Arc::new(parcel);
            parcels.push(NewParcel { parcel, once: None, ledger: None, deliveries });
        }
        let accept = |tx: &Tx<'_>| accept_all(tx, &parcels, NodeId(1));
        alone(&db, &cache, DEAD_LETTER_TTL, accept).unwrap();
        ids.pass_a_second();
    }
    db.execute(sql!("UPDATE deliveries SET state = {DEAD} WHERE seq % 10 = 0"), []).unwrap();
    db
}

/// Returns the steps of the virtual machine that a read takes.
fn steps<T>(db: &mut Connection, look: impl Fn(&Connection) -> T) -> (T, u64) {
    let counted = Arc::new(AtomicU64::new(0));
    let count = counted.clone();
    let handler = move || {
        count.fetch_add(1, Ordering::Relaxed);
        false
    };
    db.progress_handler(10, Some(handler)).unwrap();
    let found = look(db);
    (found, counted.load(Ordering::Relaxed) * 10)
}

fn delivery_filters() -> Vec<DeliveryFilter> {
    let all = DeliveryFilter { lane: Some(Lane::Webhook), ..DeliveryFilter::default() };
    let nope = Some("nobody.knows".to_owned());
    let (one, failed) = (Some(Id::from_bits(101)), Some(Status::Failed));
    vec![
        DeliveryFilter { endpoint: one, ..all.clone() },
        DeliveryFilter { event_type: nope.clone(), ..all.clone() },
        DeliveryFilter { event_type_prefix: nope.clone(), ..all.clone() },
        DeliveryFilter { endpoint: one, event_type: nope.clone(), ..all.clone() },
        DeliveryFilter { status: failed, ..all.clone() },
        DeliveryFilter { status: failed, endpoint: one, ..all.clone() },
        DeliveryFilter { status: failed, event_type: nope.clone(), ..all.clone() },
        DeliveryFilter { status: Some(Status::Delivered), ..all.clone() },
        DeliveryFilter { external_id: Some("all".to_owned()), ..all.clone() },
        DeliveryFilter { external_id: Some("all".to_owned()), event_type: nope, ..all.clone() },
        DeliveryFilter { text: Some("nowhere".to_owned()), ..all.clone() },
        DeliveryFilter { since: Some(Time::from_secs(1 << 40)), ..all.clone() },
        DeliveryFilter { until: Some(Time::from_secs(0)), ..all.clone() },
        DeliveryFilter::default(),
        all,
    ]
}

fn event_filters() -> Vec<EventFilter> {
    let all = EventFilter::default();
    let nope = Some("nobody.knows".to_owned());
    vec![
        EventFilter { event_type: nope.clone(), ..all.clone() },
        EventFilter { external_id: Some("all".to_owned()), ..all.clone() },
        EventFilter { external_id: Some("all".to_owned()), event_type: nope, ..all.clone() },
        EventFilter { is_unmatched: true, ..all.clone() },
        EventFilter { kind: ParcelKind::Email, ..all.clone() },
        all,
    ]
}

/// Maximum scanned rows for a bounded cost of a page of 50.
const FEW_SCANNED: usize = 200;
const FEW_STEPS: u64 = 60_000;

#[test]
fn a_page_costs_a_bounded_look_with_thousands_of_targets() {
    let scope = TenantScope::internal(ACME);
    // faults.md B2: also from the oldest on.
    for ((events, targets), order) in [
        ((400, 3), ListOrder::NewestFirst),
        ((400, 3), ListOrder::OldestFirst),
        ((12, 2_500), ListOrder::NewestFirst),
        ((12, 2_500), ListOrder::OldestFirst),
    ] {
        let request = PageRequest::first(50).in_order(order);
        let mut db = store(events, targets);
        for filter in delivery_filters() {
            let (_, cost) = steps(&mut db, |db| {
                let mut budget = ScanBudget::new(FEW_SCANNED);
                deliveries::page_of(db, scope, &filter, &request, &mut budget).unwrap()
            });
            assert!(cost < FEW_STEPS, "{targets} targets: {cost} steps for {filter:?}");
        }
        for filter in event_filters() {
            let (_, cost) = steps(&mut db, |db| {
                let mut budget = ScanBudget::new(FEW_SCANNED);
                events::page_of(db, Some(scope), &filter, &request, &mut budget).unwrap()
            });
            assert!(cost < FEW_STEPS, "{targets} targets: {cost} steps for {filter:?}");
        }
    }
}

/// With the full number of scanned rows, the first page is full.
#[test]
fn the_first_page_is_full_and_costs_what_it_shows() {
    let scope = TenantScope::internal(ACME);
    let all = DeliveryFilter { lane: Some(Lane::Webhook), ..DeliveryFilter::default() };
    for (events, targets) in [(400, 3), (12, 2_500)] {
        let mut db = store(events, targets);
        let (page, cost) = steps(&mut db, |db| {
            let mut budget = ScanBudget::new(MAX_SCANNED);
            deliveries::page_of(db, scope, &all, &PageRequest::first(50), &mut budget).unwrap()
        });
        assert_eq!(page.rows.len(), 50);
        assert!(cost < FEW_STEPS, "{targets} targets: {cost} steps");
        let (page, cost) = steps(&mut db, |db| {
            let mut budget = ScanBudget::new(MAX_SCANNED);
            let request = PageRequest::first(10);
            events::page_of(db, Some(scope), &EventFilter::default(), &request, &mut budget)
                .unwrap()
        });
        assert_eq!(page.rows.len(), 10);
        assert!(cost < FEW_STEPS, "{targets} targets: {cost} steps");
    }
}

#[test]
fn a_page_of_all_tenants_costs_a_bounded_look() {
    let request = PageRequest::first(50);
    for (events, targets) in [(400, 3), (12, 2_500)] {
        let mut db = store(events, targets);
        let (page, cost) = steps(&mut db, |db| {
            let (all, mut budget) = (DeliveryFilter::default(), ScanBudget::new(MAX_SCANNED));
            deliveries::page_of_all(db, &all, &request, &mut budget).unwrap()
        });
        assert_eq!(page.rows.len(), 50);
        assert!(cost < FEW_STEPS, "{targets} targets: {cost} steps");
        for filter in delivery_filters() {
            let (_, cost) = steps(&mut db, |db| {
                let mut budget = ScanBudget::new(FEW_SCANNED);
                deliveries::page_of_all(db, &filter, &request, &mut budget).unwrap()
            });
            assert!(cost < FEW_STEPS, "{targets} targets: {cost} steps for {filter:?}");
        }
        for filter in event_filters() {
            let (_, cost) = steps(&mut db, |db| {
                let mut budget = ScanBudget::new(FEW_SCANNED);
                events::page_of(db, None, &filter, &request, &mut budget).unwrap()
            });
            assert!(cost < FEW_STEPS, "{targets} targets: {cost} steps for {filter:?}");
        }
    }
}

/// faults.md 21: dead letters are not counted when their number is read.
#[test]
fn what_is_known_of_dead_letters_costs_the_same_however_many_there_are() {
    let cost = |events| {
        let mut db = store(events, 3);
        db.execute(
            "INSERT INTO dead_letters SELECT seq, tenant_id, lane, 1, 'HTTP_500', 'no', 1, seq, 1, NULL
             FROM deliveries",
            [],
        )
        .unwrap();
        let letters: i64 =
            db.query_row("SELECT count(*) FROM dead_letters", [], |row| row.get(0)).unwrap();
        let all = DeadFilter::default();
        let (stats, counting) = steps(&mut db, |db| dead_letters::stats(db, &all).unwrap());
        assert_eq!(stats.total, letters as u64);
        assert_eq!(stats.by_tenant.values().sum::<u64>(), stats.total);
        let (beyond, looking) = steps(&mut db, |db| archiving::overflow(db, 1_000_000).unwrap());
        assert_eq!(beyond, []);
        counting + looking
    };
    let (few, many) = (cost(8), cost(2_000));
    assert!(many <= few + 100, "{few} and {many} steps");
}

#[test]
fn going_from_target_to_target_costs_the_same_however_much_each_has() {
    let costs = [20, 2_000].map(|events| {
        let mut db = store(events, 3);
        let first = (TenantId::from_bits(0), Id::from_bits(0));
        let next = |db: &Connection, key| next_target(db, Lane::Webhook, key).unwrap();
        let (seen, cost) = steps(&mut db, |db| {
            let step = |head: &FirstPending| next(db, head.key);
            std::iter::successors(next(db, first), step).map(|head| head.key).collect::<Vec<_>>()
        });
        let all = [(ACME, 100), (ACME, 101), (ACME, 102), (OTHER, 100)];
        assert_eq!(seen, all.map(|(tenant, target)| (tenant, Id::from_bits(target))));
        cost
    });
    assert!(costs[1] <= costs[0] + 100, "{costs:?} steps");
}
