//! Measures how many rows a page of a list reads, as the server counts them: it depends on the rows that it
//! shows, not on the number of targets and deliveries. (faults.md 3 and 4)

use gancho_domain::{Id, Lane, Status, TenantId, TenantScope};
use gancho_store::{AuditFilter, AuditLog, DeliveryFilter, EventFilter, ListOrder, PageRequest};
use gancho_testkit::postgres::fresh_database;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    Options, PostgresStore, all_tenants, audit, delivery_list, events, rows,
    session::{Session, query},
    where_clause::Conditions,
};

const TENANT: TenantId = Id::from_bits(1);

/// Events that go to very many targets each, a second apart, and one target among them; a tenth of their
/// deliveries has failed.
const MANY: &str = "
create function id(n bigint) returns uuid language sql immutable as $$
    select (lpad(to_hex((n / 5000) << 10), 12, '0') || lpad(to_hex(n % 5000), 20, '0'))::uuid $$;
insert into parcels (tenant_id, id, created_at, kind, is_test, event_type, external_id, deliveries, body)
select '00000000-0000-0000-0000-000000000001', id(n * 5000), n, 2, false, 'a.b', 'all', '{}', ''
from generate_series(1, 2000) n;
update parcels p set deliveries = array(
    select id(5000 * n + d) from generate_series(1, 3000) d)
from generate_series(1, 20) n where p.id = id(n * 5000);
insert into deliveries (tenant_id, id, target_id, parcel_id, due_at, created_at, owner, lane, state)
select '00000000-0000-0000-0000-000000000001', id(5000 * n + d), id(d), id(5000 * n), n, n, 0, 2,
    case when d % 10 = 0 then 6 else 5 end
from generate_series(1, 20) n, generate_series(1, 3000) d;
insert into spans (tenant_id, target_id, from_id, to_id, lane)
select tenant_id, target_id, parcel_id, id(5000 * ((created_at) + 1)), lane from deliveries;
analyze";

/// Returns the rows that a statement reads from any table, and how many it returns.
async fn rows_read(session: &Session, (sql, conditions): (String, Conditions)) -> (i64, usize) {
    session.batch_execute("begin").await.unwrap();
    let before = rows_so_far(session).await;
    let found = query(session, &sql, &conditions.values()).await.unwrap();
    let read = rows_so_far(session).await - before;
    session.batch_execute("rollback").await.unwrap();
    (read, found.len())
}

/// Returns the rows that this session has read so far.
async fn rows_so_far(session: &Session) -> i64 {
    let count = "select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint
        from pg_stat_xact_user_tables where schemaname = 'public'";
    session.query_one(count, &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn a_step_reads_what_it_may_and_no_more() {
    let database = fresh_database().await.unwrap();
    let store = PostgresStore::connect(&database.url(), Options::default()).await.unwrap();
    let session = store.session().await.unwrap();
    session.batch_execute(MANY).await.unwrap();
    let scope = TenantScope::internal(TENANT);
    let all = DeliveryFilter { lane: Some(Lane::Webhook), ..DeliveryFilter::default() };
    let nope = Some("nobody.knows".to_owned());
    let target = Some(Id::from_bits(7));
    let failed = Some(Status::Failed);
    let newest = rows::ids_at(ListOrder::NewestFirst, None, None);
    // faults.md B2: also from the oldest on.
    let oldest = rows::ids_at(ListOrder::OldestFirst, None, None);
    for (filter, shown) in [
        (all.clone(), 50),
        (DeliveryFilter::default(), 50),
        (DeliveryFilter { event_type: nope.clone(), ..all.clone() }, 0),
        (DeliveryFilter { event_type_prefix: nope.clone(), ..all.clone() }, 0),
        (DeliveryFilter { status: failed, ..all.clone() }, 50),
        (DeliveryFilter { status: failed, event_type: nope.clone(), ..all.clone() }, 0),
        (DeliveryFilter { status: Some(Status::Pending), ..all.clone() }, 0),
        (DeliveryFilter { endpoint: target, status: failed, ..all.clone() }, 0),
        (DeliveryFilter { endpoint: target, ..all.clone() }, 0),
        (DeliveryFilter { endpoint: target, event_type: nope.clone(), ..all.clone() }, 0),
        (DeliveryFilter { event: Some(Id::from_bits(3 << 90)), ..all.clone() }, 50),
    ] {
        for ids in [newest, oldest] {
            let scan = delivery_list::scan_sql(scope, &filter, ids, ids.start(), 50);
            let (read, found) = rows_read(&session, scan).await;
            assert!(found >= shown, "{filter:?}: {found} found");
            assert!(read < 160, "{filter:?}: {read} rows read");
        }
    }
    let all = EventFilter::default();
    for (filter, shown) in [
        (all.clone(), 50),
        (EventFilter { event_type: nope.clone(), ..all.clone() }, 0),
        (EventFilter { external_id: Some("all".to_owned()), ..all.clone() }, 50),
        (EventFilter { external_id: Some("all".to_owned()), event_type: nope, ..all.clone() }, 0),
        (EventFilter { is_unmatched: true, ..all.clone() }, 50),
    ] {
        for ids in [newest, oldest] {
            let scan = events::scan_sql(Some(scope), &filter, ids, ids.start(), 50);
            let (read, found) = rows_read(&session, scan).await;
            assert!(found >= shown, "{filter:?}: {found} found");
            assert!(read < 160, "{filter:?}: {read} rows read");
        }
    }
}

#[tokio::test]
async fn a_list_of_all_tenants_costs_no_more() {
    let database = fresh_database().await.unwrap();
    let store = PostgresStore::connect(&database.url(), Options::default()).await.unwrap();
    let session = store.session().await.unwrap();
    session.batch_execute(MANY).await.unwrap();
    let newest = rows::ids_at(ListOrder::NewestFirst, None, None);
    let all = DeliveryFilter { lane: Some(Lane::Webhook), ..DeliveryFilter::default() };
    let nope = Some("nobody.knows".to_owned());
    for (filter, shown) in [
        (all.clone(), 50),
        (DeliveryFilter { status: Some(Status::Delivered), ..all.clone() }, 40),
        (DeliveryFilter { event_type: nope.clone(), ..all.clone() }, 0),
        (DeliveryFilter { event_type_prefix: nope.clone(), ..all.clone() }, 0),
    ] {
        let scan = all_tenants::scan_sql(&filter, newest, newest.start(), 50);
        let (read, found) = rows_read(&session, scan).await;
        assert!(found >= shown, "{filter:?}: {found} found");
        assert!(read < 160, "{filter:?}: {read} rows read");
    }
    for (filter, shown) in [
        (EventFilter::default(), 50),
        (EventFilter { event_type: nope, ..EventFilter::default() }, 0),
    ] {
        let scan = events::scan_sql(None, &filter, newest, newest.start(), 50);
        let (read, found) = rows_read(&session, scan).await;
        assert!(found >= shown, "{filter:?}: {found} found");
        assert!(read < 160, "{filter:?}: {read} rows read");
    }
}

/// Five hundred tenants with a hundred deliveries each in one time bucket, and one of them with ten thousand.
const MANY_TENANTS: &str = "
create function id(n bigint) returns uuid language sql immutable as $$
    select ('000000000400' || lpad(to_hex(n), 20, '0'))::uuid $$;
insert into deliveries (tenant_id, id, target_id, parcel_id, due_at, created_at, owner, lane, state)
select id(1000000 + t), id(500 * n + t), id(2000000 + t), id(500 * n + t), n, n, 0, 2, 5
from generate_series(0, 499) t, generate_series(1, case when t = 0 then 10000 else 100 end) n;
insert into spans (tenant_id, target_id, from_id, to_id, lane)
select id(1000000 + t), id(2000000 + t), '00000000-0400-0000-0000-000000000000',
    '00000000-0480-0000-0000-000000000000', 2 from generate_series(0, 499) t;
analyze";

#[tokio::test]
async fn a_list_of_all_tenants_is_bounded_in_tenants_too() {
    let database = fresh_database().await.unwrap();
    let store = PostgresStore::connect(&database.url(), Options::default()).await.unwrap();
    let session = store.session().await.unwrap();
    session.batch_execute(MANY_TENANTS).await.unwrap();
    let newest = rows::ids_at(ListOrder::NewestFirst, None, None);
    let all = DeliveryFilter::default();
    // Each step may read a few rows for each tenant, and twice its budget whenever it halves the bucket.
    // Without that it would read 25,000 and 51,000 rows.
    for budget in [50_i64, 1_000] {
        let looked = all_tenants::scan_sql(&all, newest, newest.start(), budget);
        let (read, _) = rows_read(&session, looked).await;
        assert!(read < 20 * budget + 4 * 500, "{budget}: {read} rows read");
    }
    // Nothing is left out, and nothing is returned twice.
    let (mut after, mut found) = (newest.start(), Vec::<Uuid>::new());
    for _ in 0..10_000 {
        let (sql, conditions) = all_tenants::scan_sql(&all, newest, after, 4_096);
        let step = query(&session, &sql, &conditions.values()).await.unwrap();
        let id = |row: &Row, place| rows::get::<Option<Uuid>>(row, place).unwrap();
        found.extend(step.iter().filter_map(|row| id(row, 0)));
        match step.iter().find_map(|row| id(row, 1)) {
            Some(reached) => after = reached,
            None => break,
        }
    }
    let sql = "select id from deliveries order by id desc";
    let expected = query(&session, sql, &[]).await.unwrap();
    let expected: Vec<Uuid> = expected.iter().map(|row| rows::get(row, 0).unwrap()).collect();
    assert_eq!(expected.len(), 59_900);
    assert!(found == expected, "{} found", found.len());
}

/// A filter that matches nothing reads the log step by step, too.
#[tokio::test]
async fn a_step_of_the_audit_log_reads_what_it_may() {
    let database = fresh_database().await.unwrap();
    let store = PostgresStore::connect(&database.url(), Options::default()).await.unwrap();
    let session = store.session().await.unwrap();
    let entries = "insert into audit_log (id, tenant_id, actor_kind, actor, operation, resource, status, code,
            request_id, address, until)
        select ('000000000400' || lpad(to_hex(n), 20, '0'))::uuid, null, 'operator', 'operator', 'a', '', 200, '', '', '', n
        from generate_series(1, 5000) n";
    session.batch_execute(entries).await.unwrap();
    session.batch_execute("analyze").await.unwrap();
    let nobody = AuditFilter { actor: Some("nobody".to_owned()), ..AuditFilter::default() };
    for order in [ListOrder::NewestFirst, ListOrder::OldestFirst] {
        let ids = rows::ids_at(order, None, None);
        for filter in [nobody.clone(), AuditFilter::default()] {
            let looked = audit::looked(&filter, ids, ids.start(), 50);
            let (read, _) = rows_read(&session, looked).await;
            assert!(read < 160, "{filter:?}: {read} rows read");
        }
    }
    // The pages of such a search continue to the end.
    let (mut after, mut pages) = (None, 0);
    loop {
        let page = PageRequest { after, ..PageRequest::first(10) };
        let found = store.audit(nobody.clone(), page).await.unwrap();
        assert_eq!(found.rows, []);
        pages += 1;
        after = found.next;
        if after.is_none() {
            break;
        }
    }
    assert!(pages < 5, "{pages} pages of 4,096 rows and more");
}
