//! The migrations: numbered files, run forward at the start, never changed.

use deadpool_postgres::Object;
use gancho_store::{Result, SchemaVersion, StoreError};
use tokio_postgres::{Client, Transaction};

use crate::{database_url::DatabaseUrl, publish_function, schema, session, tx_error::store_error};

pub(crate) struct Migration {
    pub number: i32,
    pub name: &'static str,
    pub sql: &'static str,
}

pub(crate) const ALL: &[Migration] = &[
    Migration { number: 1, name: "core", sql: include_str!("../migrations/0001_core.sql") },
    Migration { number: 2, name: "leaving", sql: include_str!("../migrations/0002_leaving.sql") },
    Migration {
        number: 3,
        name: "claim_round",
        sql: include_str!("../migrations/0003_claim_round.sql"),
    },
    Migration { number: 4, name: "lists", sql: include_str!("../migrations/0004_lists.sql") },
    Migration {
        number: 5,
        name: "endpoint_versions",
        sql: include_str!("../migrations/0005_endpoint_versions.sql"),
    },
    Migration { number: 6, name: "requests", sql: include_str!("../migrations/0006_requests.sql") },
    Migration { number: 7, name: "upkeep", sql: include_str!("../migrations/0007_upkeep.sql") },
    Migration {
        number: 8,
        name: "oldest_first",
        sql: include_str!("../migrations/0008_oldest_first.sql"),
    },
    Migration {
        number: 9,
        name: "dead_counts",
        sql: include_str!("../migrations/0009_dead_counts.sql"),
    },
    Migration {
        number: 10,
        name: "claim_plans",
        sql: include_str!("../migrations/0010_claim_plans.sql"),
    },
    Migration {
        number: 11,
        name: "proven_targets",
        sql: include_str!("../migrations/0011_proven_targets.sql"),
    },
    Migration { number: 12, name: "work", sql: include_str!("../migrations/0012_work.sql") },
    Migration {
        number: 13,
        name: "statistics",
        sql: include_str!("../migrations/0013_statistics.sql"),
    },
    Migration { number: 14, name: "audit", sql: include_str!("../migrations/0014_audit.sql") },
    Migration {
        number: 15,
        name: "all_tenants",
        sql: include_str!("../migrations/0015_all_tenants.sql"),
    },
    Migration { number: 16, name: "nodes", sql: include_str!("../migrations/0016_nodes.sql") },
    Migration {
        number: 17,
        name: "deleted_tenants",
        sql: include_str!("../migrations/0017_deleted_tenants.sql"),
    },
    Migration {
        number: 18,
        name: "external_ids",
        sql: include_str!("../migrations/0018_external_ids.sql"),
    },
    Migration { number: 19, name: "traces", sql: include_str!("../migrations/0019_traces.sql") },
    Migration { number: 20, name: "erased", sql: include_str!("../migrations/0020_erased.sql") },
    Migration { number: 21, name: "intake", sql: include_str!("../migrations/0021_intake.sql") },
    Migration {
        number: 22,
        name: "compression",
        sql: include_str!("../migrations/0022_compression.sql"),
    },
    Migration {
        number: 23,
        name: "tenant_retention",
        sql: include_str!("../migrations/0023_tenant_retention.sql"),
    },
    Migration { number: 24, name: "cells", sql: include_str!("../migrations/0024_cells.sql") },
    Migration {
        number: 25,
        name: "document_ends",
        sql: include_str!("../migrations/0025_document_ends.sql"),
    },
    Migration {
        number: 26,
        name: "shared_settings",
        sql: include_str!("../migrations/0026_shared_settings.sql"),
    },
    Migration {
        number: 27,
        name: "provider_codes",
        sql: include_str!("../migrations/0027_provider_codes.sql"),
    },
    Migration { number: 28, name: "moves", sql: include_str!("../migrations/0028_moves.sql") },
    Migration {
        number: 29,
        name: "oldest_first_again",
        sql: include_str!("../migrations/0029_oldest_first_again.sql"),
    },
    Migration {
        number: 30,
        name: "audit_reasons",
        sql: include_str!("../migrations/0030_audit_reasons.sql"),
    },
    Migration {
        number: 31,
        name: "collection_versions",
        sql: include_str!("../migrations/0031_collection_versions.sql"),
    },
    Migration {
        number: 32,
        name: "bounded_lists",
        sql: include_str!("../migrations/0032_bounded_lists.sql"),
    },
    Migration {
        number: 33,
        name: "claim_order",
        sql: include_str!("../migrations/0033_claim_order.sql"),
    },
];

/// The key of the advisory lock: any number that no other program uses on the same database.
const LOCK: i64 = 0x6761_6e63_686f;

const TABLE: &str = "create table if not exists schema_migrations (
    number   integer     primary key,
    name     text        not null,
    checksum bigint      not null,
    ran_at   timestamptz not null default now())";

/// Migrates the tables to this version, in the schema of this name or where they are. Returns the schema.
/// Nodes that start together wait for each other.
pub(crate) async fn run(step: Transaction<'_>, name: Option<&str>) -> Result<String> {
    step.execute("select pg_advisory_xact_lock($1)", &[&LOCK]).await.map_err(store_error)?;
    let tables = schema::find_or_create(&step, name).await?;
    step.batch_execute(&schema::local_search_path(&tables)).await.map_err(store_error)?;
    step.batch_execute(TABLE).await.map_err(store_error)?;
    let ran = step
        .query("select number, name, checksum from schema_migrations order by number", &[])
        .await
        .map_err(store_error)?;
    let ran: Vec<(i32, String, i64)> =
        ran.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    check(&ran)?;
    for migration in &ALL[ran.len()..] {
        tracing::info!(
            number = migration.number,
            name = migration.name,
            "applying a database migration"
        );
        step.batch_execute(migration.sql).await.map_err(store_error)?;
        step.execute(
            "insert into schema_migrations (number, name, checksum) values ($1, $2, $3)",
            &[&migration.number, &migration.name, &checksum(migration.sql)],
        )
        .await
        .map_err(store_error)?;
    }
    publish_function::install(&step, &tables).await?;
    step.commit().await.map_err(store_error)?;
    Ok(tables)
}

/// The newest schema that this program knows.
pub const SCHEMA_VERSION: u32 = ALL.len() as u32;

/// Returns the schema version of a database, without changing it. An empty database has none.
pub async fn schema_version(url: &str) -> Result<SchemaVersion> {
    let url = DatabaseUrl::parse(url)?;
    let mut client = session::of(&session::connections(&url.server()?, 1, String::new())?).await?;
    // One transaction, because a pooler may be in between.
    let step = transaction(&mut client).await?;
    let tables = schema::find(&step, url.schema.as_deref()).await?;
    step.batch_execute(&schema::local_search_path(&tables)).await.map_err(store_error)?;
    let exists = step.query_one("select to_regclass('schema_migrations') is not null", &[]).await;
    let exists: bool = exists.map_err(store_error)?.get(0);
    let found: i64 = if exists {
        let count = step.query_one("select count(*) from schema_migrations", &[]).await;
        count.map_err(store_error)?.get(0)
    } else {
        0
    };
    Ok(SchemaVersion { found: u32::try_from(found).unwrap_or(u32::MAX), known: SCHEMA_VERSION })
}

/// Checks that the migrations that ran are the first ones that this program knows.
fn check(ran: &[(i32, String, i64)]) -> Result<()> {
    for (place, (number, name, sum)) in ran.iter().enumerate() {
        let Some(known) = ALL.get(place) else {
            return Err(StoreError::Refused(format!(
                "the database was migrated by a newer version of this program (step {number}, \
                 {name}): start that version or a later one, or restore a backup made before the \
                 upgrade"
            )));
        };
        if known.number != *number || checksum(known.sql) != *sum {
            return Err(StoreError::Refused(format!(
                "step {number} ({name}) of the database differs from the one this program knows: it \
                 was made by another build. Start the build that made it, or point this one at an \
                 empty database"
            )));
        }
    }
    Ok(())
}

/// Computes an FNV-1a hash. It only detects a changed file.
fn checksum(text: &str) -> i64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash as i64
}

/// Starts a transaction of the driver, which prepares statements: inside a transaction that works through a
/// pooler too.
pub(crate) async fn transaction(client: &mut Object) -> Result<Transaction<'_>> {
    Client::transaction(client).await.map_err(store_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(migration: &Migration) -> (i32, String, i64) {
        (migration.number, migration.name.to_owned(), checksum(migration.sql))
    }

    #[test]
    fn steps_are_numbered_without_a_hole() {
        for (place, migration) in ALL.iter().enumerate() {
            assert_eq!(migration.number as usize, place + 1);
        }
    }

    #[test]
    fn what_ran_must_be_known() {
        let mut all: Vec<_> = ALL.iter().map(ran).collect();
        assert_eq!(check(&all), Ok(()));
        assert_eq!(check(&[]), Ok(()));
        all[0].2 += 1;
        assert!(matches!(check(&all), Err(StoreError::Refused(text)) if text.contains("differs")));
        all[0].2 -= 1;
        all.push((99, "later".into(), 0));
        assert!(matches!(check(&all), Err(StoreError::Refused(text)) if text.contains("newer")));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod upgrade_tests {
    use gancho_testkit::postgres::fresh_database;

    use super::*;
    use crate::{Options, PostgresStore};

    /// faults.md 21: the migration counts the dead letters of an earlier version.
    #[tokio::test]
    async fn dead_letters_of_before_are_counted() {
        let database = fresh_database().await.unwrap();
        let store = PostgresStore::connect(&database.url(), Options::default()).await.unwrap();
        let session = store.session().await.unwrap();
        let step = ALL.iter().find(|step| step.name == "dead_counts").unwrap();
        session
            .batch_execute(&format!(
                "drop trigger dead_letters_are_counted on dead_letters;
                 drop function count_dead_letter;
                 drop table dead_counts;
                 insert into dead_letters values
                   ('00000000-0000-0000-0000-000000000001', gen_random_uuid(), 2, 1, 'A', 'no', 1, 1, 1),
                   ('00000000-0000-0000-0000-000000000001', gen_random_uuid(), 2, 1, 'A', 'no', 2, 2, 2),
                   ('00000000-0000-0000-0000-000000000002', gen_random_uuid(), 2, 1, 'B', 'no', 1, 1, 1);
                 begin;
                 {}
                 commit;
                 delete from dead_letters where moved_at = 1",
                step.sql
            ))
            .await
            .unwrap();
        let sums = "select code, sum(change)::bigint from dead_counts group by code order by code";
        let sums = session.query(sums, &[]).await.unwrap();
        let sums: Vec<(String, i64)> = sums.iter().map(|row| (row.get(0), row.get(1))).collect();
        assert_eq!(sums, [("A".to_owned(), 1), ("B".to_owned(), 0)]);
    }

    /// The migration moves work that earlier versions stored among the records, including ids, cursors and leases.
    #[tokio::test]
    async fn work_among_the_records_is_brought_along() {
        let database = fresh_database().await.unwrap();
        let store = PostgresStore::connect(&database.url(), Options::default()).await.unwrap();
        let session = store.session().await.unwrap();
        let step = ALL.iter().find(|step| step.name == "work").unwrap();
        session
            .batch_execute(&format!(
                "drop table replays, email_reports, suppressions; {OLD_RECORDS}; begin; {}; commit",
                step.sql
            ))
            .await
            .unwrap();
        let text = async |sql: &str| -> Vec<String> {
            session.query(sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
        };
        let id = |bits: u128| uuid::Uuid::from_u128(bits);
        let replay: gancho_domain::ReplayId = REPLAY.parse().unwrap();
        assert_eq!(
            text(
                "select concat_ws(' ', id, tenant_id, state, total, is_exact, done, skipped, failed, cursor,
                   runner, lease_until, created_at, started_at, finished_at, error) from replays"
            )
            .await,
            [format!(
                "{} {} running 50 t 1 2 0 {{\"after\": \"0f\", \"events\": 0}} rpl_X 3099 100 200",
                id(replay.bits()),
                id(0xAA)
            )]
        );
        assert_eq!(
            text("select convert_from(request, 'UTF8') from replays").await,
            [concat!(
                r#"{"to": null, "rate": 7, "filter": {"of": "deliveries", "events": []}, "#,
                r#""oldest_first": true}"#
            )]
        );
        let email: gancho_domain::EmailId = EMAIL.parse().unwrap();
        let delivery: gancho_domain::DeliveryId = DELIVERY.parse().unwrap();
        assert_eq!(
            text(
                "select concat_ws(' ', tenant_id, email_id, delivery_id, code, reason, error,
                   is_provisional, at, until) from email_reports"
            )
            .await,
            [format!(
                "{} {} {} BOUNCE_TEMPORARY full 4.2.2 t 300 900",
                id(0xAA),
                id(email.bits()),
                id(delivery.bits())
            )]
        );
        assert_eq!(
            text(
                "select concat_ws(' ', convert_from(address, 'UTF8'), reason, detail, since)
                 from suppressions order by address"
            )
            .await,
            ["a@x.example bounce why 5", "b@x.example manual 6"]
        );
        assert_eq!(text("select convert_from(key, 'UTF8') from records").await, ["left alone"]);
    }

    const REPLAY: &str = "rpl_01K7ZX4QZ3M8N2T6V9WBCDEFGH";
    const EMAIL: &str = "out_7ZZZZZZZZZZZZZZZZZZZZZZZZZ";
    const DELIVERY: &str = "dlv_01K7ZX4QZ3M8N2T6V9WBCDEFGJ";
    /// Reports were ordered by the inverted delivery id.
    const OLD_RECORDS: &str = "insert into records (kind, tenant_id, key, body, version, until)
        select kind, owner::uuid, convert_to(key, 'UTF8'), convert_to(body, 'UTF8'), 1, until from (values
        ('replay', '00000000-0000-0000-0000-0000000000aa', 'turned round',
            '{\"id\":\"rpl_01K7ZX4QZ3M8N2T6V9WBCDEFGH\",\"tenant\":null,\"state\":\"running\",
            \"filter\":{\"of\":\"deliveries\",\"events\":[]},\"to\":null,\"rate\":7,\"total\":50,
            \"is_total_exact\":true,\"done\":1,\"skipped\":2,\"failed\":0,\"error\":null,\"created_at\":100,
            \"started_at\":200,\"finished_at\":null,\"cursor\":{\"after\":\"0f\",\"events\":0},
            \"oldest_first\":true,\"lease\":{\"by\":\"rpl_X\",\"until\":3099}}', null::bigint),
        ('replay_open', '00000000-0000-0000-0000-000000000000', 'turned round', '', null),
        ('email_feedback', '00000000-0000-0000-0000-0000000000aa', 'out_7ZZZZZZZZZZZZZZZZZZZZZZZZZ',
            '{\"code\":\"BOUNCE_TEMPORARY\",\"reason\":\"full\",\"error\":\"4.2.2\",\"at\":300}', 900),
        ('email_feedback_order', '00000000-0000-0000-0000-0000000000aa',
            'fe66002da01c5dd5d2e4961d2728c1ed', 'out_7ZZZZZZZZZZZZZZZZZZZZZZZZZ', 900),
        ('suppression', '00000000-0000-0000-0000-0000000000aa', 'a@x.example',
            '{\"reason\":\"bounce\",\"detail\":\"why\",\"since\":5}', null),
        ('suppression', '00000000-0000-0000-0000-0000000000aa', 'b@x.example',
            '{\"reason\":\"manual\",\"since\":6}', null),
        ('api_key', '00000000-0000-0000-0000-0000000000aa', 'left alone', '', null))
        as old(kind, owner, key, body, until)";
}
