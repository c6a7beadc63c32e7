//! The batched statements must find their rows by the right index, on an empty database too: a plan made then
//! is kept.

use std::sync::Arc;

use gancho_domain::{Id, Lane, Time};
use gancho_store::{Claim, ClaimCursor, NodeId};
use gancho_testkit::postgres::{Database, fresh_database};

use crate::{
    Options, PostgresStore, archiving,
    claim::TAKE,
    erasure, orphans,
    session::{IN_INDEX_ORDER, Session},
    settle::SETTLE,
    statistics, walk,
};

async fn opened() -> (Arc<PostgresStore>, Session, Database) {
    let database = fresh_database().await.unwrap();
    let store = PostgresStore::connect(&database.url(), Options::default()).await.unwrap();
    let session = store.session().await.unwrap();
    (store, session, database)
}

/// Returns the generic plan of a statement whose parameters are all passed as text.
async fn plan(session: &Session, sql: &str, values: &str) -> String {
    session.batch_execute(&format!("prepare it as {sql}")).await.unwrap();
    let lines = session.query(&format!("explain execute it ({values})"), &[]).await.unwrap();
    let lines: Vec<&str> = lines.iter().map(|row| row.get(0)).collect();
    lines.join("\n")
}

#[tokio::test]
async fn settling_goes_by_the_id() {
    let (_store, session, _database) = opened().await;
    let plan = plan(&session, &SETTLE, &["'{}'"; 20].join(", ")).await;
    assert!(plan.contains("Index Scan using deliveries_pkey on deliveries d"), "{plan}");
    for wrong in ["Seq Scan", "Hash Join", "Merge Join", "hashed SubPlan", "deliveries_leased"] {
        assert!(!plan.contains(wrong), "{wrong}\n{plan}");
    }
}

/// Adds pending deliveries, each of a tenant and a target of its own. Which index looks best depends on how many
/// there are: the sizes of the indexes differ.
async fn add_pending(session: &Session, count: u32) {
    let sql = format!(
        "insert into deliveries (tenant_id, id, target_id, parcel_id, due_at, created_at, owner, lane, state)
         select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), n, n, 0, {}, 2
         from generate_series(1, {count}) n",
        Lane::Webhook.number()
    );
    session.batch_execute(&sql).await.unwrap();
}

const PENDING: [u32; 5] = [0, 50, 150, 250, 2_000];

#[tokio::test]
async fn taking_goes_by_the_target_and_the_id() {
    for count in PENDING {
        let (_store, session, _database) = opened().await;
        add_pending(&session, count).await;
        session.begin(IN_INDEX_ORDER).await.unwrap();
        let values = "'{}', '{}', '{}', 2::int2, 0, 0, 0";
        let plan = plan(&session, &TAKE, values).await;
        assert!(plan.contains("Index Scan using deliveries_pending on deliveries d"), "{plan}");
        assert!(plan.contains("Index Scan using deliveries_pkey on deliveries d"), "{plan}");
        // Either finds one row, and without statistics they cost the same.
        let by = |index: &str| plan.contains(&format!("Index Scan using {index} on parcels p"));
        assert!(by("parcels_pkey") || by("parcels_by_id"), "{plan}");
        for wrong in ["Seq Scan", "Hash Join", "Merge Join", "hashed SubPlan", "_to_expire", "_due"]
        {
            assert!(!plan.contains(wrong), "{wrong}, {count} pending\n{plan}");
        }
    }
}

#[tokio::test]
async fn orphans_are_found_by_the_target() {
    for count in PENDING {
        let (_store, session, _database) = opened().await;
        add_pending(&session, count).await;
        session.begin(IN_INDEX_ORDER).await.unwrap();
        let nobody = "'00000000-0000-0000-0000-000000000000'";
        let values = format!("2::int2, {nobody}, {nobody}, 10");
        for sql in [&*orphans::SCAN, &*orphans::LEFT] {
            let plan = plan(&session, sql, &values).await;
            assert!(plan.contains("deliveries_pending"), "{plan}");
            for wrong in ["Seq Scan", "_to_expire", "_due"] {
                assert!(!plan.contains(wrong), "{wrong}, {count} pending\n{plan}");
            }
            session.batch_execute("deallocate it").await.unwrap();
        }
    }
}

/// No step reads what others have pending, nor all that the tenant has ever had.
#[tokio::test]
async fn erasing_reads_what_it_ends_and_removes() {
    let nobody = "'00000000-0000-0000-0000-000000000000'";
    let of_parcel = "Index Cond: ((tenant_id = p.tenant_id) AND (id = n.id))";
    let of_list = "Index Cond: ((tenant_id = k.tenant_id) AND (id = k.id))";
    let of_tenant = "Index Cond: ((lane = 2) AND (tenant_id = $1))";
    for count in PENDING {
        let (_store, session, _database) = opened().await;
        add_pending(&session, count).await;
        for (sql, values, condition) in [
            (&*erasure::END, "'{}', '{}'".to_owned(), of_list),
            (&*erasure::ENDED, format!("0, 0, {nobody}, 10"), of_parcel),
            (&*erasure::UNFINISHED, format!("{nobody}, 10"), of_tenant),
        ] {
            if condition == of_tenant {
                session.begin(IN_INDEX_ORDER).await.unwrap();
            }
            let plan = plan(&session, sql, &values).await;
            assert!(plan.contains(condition), "{count} pending\n{plan}");
            for wrong in ["Seq Scan", "Hash Join", "Merge Join", "_to_expire", "_due"] {
                assert!(!plan.contains(wrong), "{wrong}, {count} pending\n{plan}");
            }
            session.batch_execute("deallocate it").await.unwrap();
        }
    }
}

#[tokio::test]
async fn leaving_goes_by_time_and_sorts_nothing() {
    let (_store, session, _database) = opened().await;
    let nobody = "'00000000-0000-0000-0000-000000000000'";
    for (sql, values, index) in [
        (archiving::expired(), "0, 1".to_owned(), "dead_letters_by_expiry"),
        (archiving::beyond(), format!("{nobody}, 0, {nobody}, 1"), "dead_letters_of_tenant"),
        (archiving::OVERFLOW.to_owned(), "1".to_owned(), "dead_letters_of_tenant"),
        (archiving::REMOVE_ARCHIVED.to_owned(), "'{}', '{}', '{}'".to_owned(), "deliveries_pkey"),
    ] {
        // Counts may be read completely, because there are few of them.
        let plan = plan(&session, &sql, &values).await.replace("Seq Scan on dead_counts", "");
        assert!(plan.contains(index), "{plan}");
        for wrong in ["Seq Scan", "Hash Join", "Merge Join"] {
            assert!(!plan.contains(wrong), "{wrong}\n{plan}");
        }
        if index.starts_with("dead_letters") {
            assert!(!plan.contains("Sort"), "{plan}");
        }
        session.batch_execute("deallocate it").await.unwrap();
    }
}

#[tokio::test]
async fn statistics_are_found_by_their_keys() {
    let (_store, session, _database) = opened().await;
    let key = "statistics_pkey";
    let nobody = "'00000000-0000-0000-0000-000000000000'";
    for (sql, values, index) in [
        (statistics::READ, ["'{}'"; 7].join(", "), key),
        (&*statistics::FAILING, "2::int2, '{}', 1".to_owned(), "statistics_failing"),
        (
            &*statistics::FAILING_OF_TENANT,
            format!("2::int2, '{{}}', 1, {nobody}"),
            "statistics_failing_of_tenant",
        ),
        (&*statistics::ALL_FAILING, "2::int2, 0, 1, 5".to_owned(), "statistics_failing"),
        (statistics::NEXT, format!("2::int2, 0, {nobody}, {nobody}, 0::int2, 1"), key),
        (statistics::PRUNE, "2::int2, 0, 1".to_owned(), key),
    ] {
        let plan = plan(&session, sql, &values).await;
        assert!(plan.contains(index), "{plan}");
        for wrong in ["Seq Scan", "Hash Join", "Merge Join"] {
            assert!(!plan.contains(wrong), "{wrong}\n{plan}");
        }
        // Sums of targets may be sorted by target.
        assert!(sql == &*statistics::ALL_FAILING || !plan.contains("Sort"), "{plan}");
        session.batch_execute("deallocate it").await.unwrap();
    }
}

fn claim(cursor: ClaimCursor) -> Claim {
    Claim {
        node: NodeId(1),
        lane: Lane::Webhook,
        now: Time::from_secs(1),
        max: 10,
        max_bytes: 1_000,
        per_target: 10,
        per_proven: 10,
        per_tenant: 10,
        proven: Arc::default(),
        skip: Arc::default(),
        first: Vec::new(),
        cursor,
    }
}

#[tokio::test]
async fn a_walk_reads_no_table_whole() {
    let (_store, session, _database) = opened().await;
    session.batch_execute("begin").await.unwrap();
    let claim = claim(ClaimCursor {
        tenant: Some(Id::from_bits(5)),
        targets: [(Id::from_bits(5), Id::from_bits(6))].into(),
        ..ClaimCursor::default()
    });
    let before = scans(&session).await;
    let (walked, far) = walk::walk(&session, &claim, claim.max).await.unwrap();
    assert!(walked.takes.is_empty() && walked.caught_up && !far);
    let plan = walk::plan(&session, &claim).await.unwrap();
    assert!(plan.takes.is_empty() && plan.caught_up);
    let after = scans(&session).await;
    assert_eq!(after.0, before.0, "no sequential scan");
    assert!(after.1 >= before.1 + 3, "the index was asked");
}

/// The plans of a walk are made while anything may be pending.
#[tokio::test]
async fn a_walk_goes_from_target_to_target() {
    for count in PENDING.into_iter().filter(|count| *count > 0) {
        let (_store, session, _database) = opened().await;
        add_pending(&session, count).await;
        session.batch_execute("begin").await.unwrap();
        let claim = claim(ClaimCursor::default());
        let (walked, _) = walk::walk(&session, &claim, claim.max).await.unwrap();
        assert_eq!(walked.total(), claim.max.min(count as usize));
        let sql = "select pg_stat_get_xact_numscans(to_regclass($1))";
        for (index, is_used) in [
            ("deliveries_pending", true),
            ("deliveries_due", false),
            ("deliveries_to_expire", false),
        ] {
            let row = session.query_one(sql, &[&index]).await.unwrap();
            let scans: i64 = row.get(0);
            assert_eq!(scans > 0, is_used, "{index}, {count} pending: {scans} scans");
        }
    }
}

/// Returns how often this session has read the table completely, and how often by an index.
async fn scans(session: &Session) -> (i64, i64) {
    let sql = "select seq_scan, idx_scan from pg_stat_xact_user_tables where relname = $1";
    let row = session.query_one(sql, &[&"deliveries"]).await.unwrap();
    (row.get(0), row.get(1))
}
