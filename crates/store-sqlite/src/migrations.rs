//! The schema, in numbered steps, forward only. Never change a step that was released.

use std::{cmp::Ordering, path::Path};

use gancho_store::{Result, SchemaVersion, StoreError};
use rusqlite::{Connection, OpenFlags};

use crate::tx_error::store_error;

const STEPS: &[&str] = &[
    include_str!("../migrations/0001_core.sql"),
    include_str!("../migrations/0002_leaving.sql"),
    include_str!("../migrations/0003_lately.sql"),
    include_str!("../migrations/0004_lists.sql"),
    include_str!("../migrations/0005_endpoint_versions.sql"),
    include_str!("../migrations/0006_requests.sql"),
    include_str!("../migrations/0007_upkeep.sql"),
    include_str!("../migrations/0008_dead_counts.sql"),
    include_str!("../migrations/0009_work.sql"),
    include_str!("../migrations/0010_fan_out_parts.sql"),
    include_str!("../migrations/0011_statistics.sql"),
    include_str!("../migrations/0012_ordered_fan_out.sql"),
    include_str!("../migrations/0013_audit.sql"),
    include_str!("../migrations/0014_all_tenants.sql"),
    include_str!("../migrations/0015_nodes.sql"),
    include_str!("../migrations/0016_deleted_tenants.sql"),
    include_str!("../migrations/0017_external_ids.sql"),
    include_str!("../migrations/0018_traces.sql"),
    include_str!("../migrations/0019_erased.sql"),
    include_str!("../migrations/0020_tenant_retention.sql"),
    include_str!("../migrations/0021_document_ends.sql"),
    include_str!("../migrations/0022_shared_settings.sql"),
    include_str!("../migrations/0023_provider_codes.sql"),
    include_str!("../migrations/0024_audit_reasons.sql"),
    include_str!("../migrations/0025_collection_versions.sql"),
];

/// Marks the file as Gancho's: "Ganc".
const APPLICATION: i32 = 0x4761_6e63;

pub(crate) fn run(db: &Connection) -> Result<()> {
    let known = STEPS.len() as i32;
    let read = |pragma| {
        db.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0)).map_err(|e| store_error(&e))
    };
    let (application, found) = (read("application_id")?, read("user_version")?);
    if application != APPLICATION && (application != 0 || found != 0 || has_tables(db)?) {
        return Err(StoreError::Refused(
            "this SQLite file belongs to another program. Give Gancho a file of its own".into(),
        ));
    }
    if found > known {
        return Err(StoreError::Refused(format!(
            "this database was written by a newer Gancho (schema {found}, this one knows {known}). Start the newer version again; going back is not possible"
        )));
    }
    for (number, step) in (1..).zip(STEPS).skip(found as usize) {
        // One transaction: a kill in the middle leaves the schema as it was.
        db.execute_batch(&format!(
            "BEGIN IMMEDIATE;\n{step}\nPRAGMA application_id = {APPLICATION};\nPRAGMA user_version = {number};\nCOMMIT;"
        ))
        .map_err(|error| {
            let _ = db.execute_batch("ROLLBACK");
            StoreError::Refused(format!("migration {number} failed and was rolled back: {error}"))
        })?;
    }
    Ok(())
}

/// Returns the schema of a file that this version can open, possibly after migrating it.
pub(crate) fn schema_of(db: &Connection) -> Result<i32> {
    let read = |pragma| {
        db.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0)).map_err(|e| store_error(&e))
    };
    let (application, found) = (read("application_id")?, read("user_version")?);
    let known = STEPS.len() as i32;
    if application != APPLICATION || found > known {
        return Err(StoreError::Refused(format!(
            "this is not a Gancho database, or one of a newer version (schema {found}, this one knows {known})"
        )));
    }
    Ok(found)
}

/// Returns the schema that this version writes.
pub(crate) const fn newest() -> i32 {
    STEPS.len() as i32
}

/// Checks that a file that is only read has the schema of this version.
pub(crate) fn fits(db: &Connection) -> Result<()> {
    let known = STEPS.len() as i32;
    let read = |pragma| {
        db.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0)).map_err(|e| store_error(&e))
    };
    let (application, found) = (read("application_id")?, read("user_version")?);
    let refused = |text: String| Err(StoreError::Refused(text));
    if application == 0 && found == 0 && !has_tables(db)? {
        let text =
            "this database is empty. If it is a copy, copy the file that ends in -wal as well";
        return refused(text.into());
    }
    if application != APPLICATION {
        return refused("this is not a Gancho database".into());
    }
    match found.cmp(&known) {
        Ordering::Equal => Ok(()),
        Ordering::Greater => refused(format!(
            "this database was written by a newer Gancho (schema {found}, this one knows {known}). Use the newer version"
        )),
        Ordering::Less => refused(format!(
            "this database is of an older Gancho (schema {found}, this one writes {known}). Start the gateway on it once, which brings it up to this version"
        )),
    }
}

/// The newest schema that this program knows.
pub const SCHEMA_VERSION: u32 = STEPS.len() as u32;

/// Returns the schema of a file, without changing it. A file that does not exist has none.
pub fn schema(path: impl AsRef<Path>) -> Result<SchemaVersion> {
    let path = path.as_ref();
    if !path.exists() {
        return Ok(SchemaVersion { found: 0, known: SCHEMA_VERSION });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags).map_err(|error| store_error(&error))?;
    let read = |pragma| {
        db.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0)).map_err(|e| store_error(&e))
    };
    let (application, found) = (read("application_id")?, read("user_version")?);
    if application != APPLICATION && (application != 0 || found != 0 || has_tables(&db)?) {
        return Err(StoreError::Refused("this SQLite file belongs to another program".into()));
    }
    Ok(SchemaVersion { found: found.unsigned_abs(), known: SCHEMA_VERSION })
}

fn has_tables(db: &Connection) -> Result<bool> {
    db.query_row("SELECT count(*) > 0 FROM sqlite_schema", [], |row| row.get(0))
        .map_err(|error| store_error(&error))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    /// faults.md 21: the migration counts the dead letters of an earlier version.
    #[test]
    fn dead_letters_of_before_are_counted() {
        let db = Connection::open_in_memory().unwrap();
        for step in &STEPS[..7] {
            db.execute_batch(step).unwrap();
        }
        db.execute_batch(&format!(
            "PRAGMA application_id = {APPLICATION};
             PRAGMA user_version = 7;
             INSERT INTO dead_letters VALUES (1, x'01', 2, 1, 'A', 'no', 1, 1, 1),
               (2, x'01', 2, 1, 'A', 'no', 1, 1, 1), (3, x'02', 2, 1, 'B', 'no', 1, 1, 1)"
        ))
        .unwrap();
        run(&db).unwrap();
        db.execute_batch("DELETE FROM dead_letters WHERE delivery IN (1, 3)").unwrap();
        let mut counts = db.prepare("SELECT hex(tenant_id), code, count FROM dead_counts").unwrap();
        let counts = counts.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        let counts: Vec<(String, String, i64)> = counts.unwrap().map(Result::unwrap).collect();
        assert_eq!(counts, [("01".to_owned(), "A".to_owned(), 1)]);
    }

    /// The migration moves work that earlier versions stored among the records, including ids, cursors and
    /// leases.
    #[test]
    fn work_among_the_records_is_brought_along() {
        let db = Connection::open_in_memory().unwrap();
        for step in &STEPS[..8] {
            db.execute_batch(step).unwrap();
        }
        db.execute_batch(&format!(
            "PRAGMA application_id = {APPLICATION}; PRAGMA user_version = 8; {OLD_RECORDS}"
        ))
        .unwrap();
        run(&db).unwrap();
        let text = |sql: &str| -> Vec<String> {
            let mut found = db.prepare(sql).unwrap();
            let found = found.query_map([], |row| row.get(0)).unwrap();
            found.map(Result::unwrap).collect()
        };
        let replay: gancho_domain::ReplayId = REPLAY.parse().unwrap();
        assert_eq!(
            text("SELECT hex(id) || hex(tenant_id) || state || total || is_exact || done || skipped ||
                    failed || cursor || runner || lease_until || created_at || started_at FROM replays
                  WHERE finished_at IS NULL AND error IS NULL"),
            [format!(
                "{:032X}AArunning501120{{\"after\":\"0f\",\"events\":0}}rpl_X3099100200",
                replay.bits()
            )]
        );
        assert_eq!(
            text("SELECT CAST(request AS TEXT) FROM replays"),
            [
                r#"{"filter":{"of":"deliveries","events":[]},"to":null,"rate":7,"oldest_first":true}"#
            ]
        );
        let email: gancho_domain::EmailId = EMAIL.parse().unwrap();
        let delivery: gancho_domain::DeliveryId = DELIVERY.parse().unwrap();
        assert_eq!(
            text("SELECT hex(tenant_id) || hex(email_id) || hex(delivery_id) || delivery || code || reason ||
                    error || is_provisional || at || until FROM email_reports"),
            [format!(
                "AA{:032X}{:032X}{}BOUNCE_TEMPORARYfull4.2.21300900",
                email.bits(),
                delivery.bits(),
                gancho_domain::id::lead(delivery)
            )]
        );
        assert_eq!(
            text(
                "SELECT hex(tenant_id) || address || reason || coalesce(detail, '-') || since
                  FROM suppressions ORDER BY address"
            ),
            ["AAa@x.examplebouncewhy5", "AAb@x.examplemanual-6"]
        );
        assert_eq!(text("SELECT key FROM records"), ["left alone"]);
    }

    const REPLAY: &str = "rpl_01K7ZX4QZ3M8N2T6V9WBCDEFGH";
    const EMAIL: &str = "out_7ZZZZZZZZZZZZZZZZZZZZZZZZZ";
    const DELIVERY: &str = "dlv_01K7ZX4QZ3M8N2T6V9WBCDEFGJ";
    /// Reports were ordered by the inverted delivery id.
    const OLD_RECORDS: &str = "INSERT INTO records (kind, tenant_id, key, body, version, until) VALUES
         ('replay', x'AA', 'turned round', CAST('{\"id\":\"rpl_01K7ZX4QZ3M8N2T6V9WBCDEFGH\",\"tenant\":null,
           \"state\":\"running\",\"filter\":{\"of\":\"deliveries\",\"events\":[]},\"to\":null,\"rate\":7,
           \"total\":50,\"is_total_exact\":true,\"done\":1,\"skipped\":2,\"failed\":0,\"error\":null,
           \"created_at\":100,\"started_at\":200,\"finished_at\":null,
           \"cursor\":{\"after\":\"0f\",\"events\":0},\"oldest_first\":true,
           \"lease\":{\"by\":\"rpl_X\",\"until\":3099}}' AS BLOB), 3, NULL),
         ('replay_open', x'', 'turned round', x'', 1, NULL),
         ('email_feedback', x'AA', 'out_7ZZZZZZZZZZZZZZZZZZZZZZZZZ',
           CAST('{\"code\":\"BOUNCE_TEMPORARY\",\"reason\":\"full\",\"error\":\"4.2.2\",\"at\":300}' AS BLOB),
           1, 900),
         ('email_feedback_order', x'AA', 'fe66002da01c5dd5d2e4961d2728c1ed', CAST('out_7ZZZZZZZZZZZZZZZZZZZZZZZZZ' AS BLOB), 1, 900),
         ('suppression', x'AA', 'a@x.example',
           CAST('{\"reason\":\"bounce\",\"detail\":\"why\",\"since\":5}' AS BLOB), 1, NULL),
         ('suppression', x'AA', 'b@x.example',
           CAST('{\"reason\":\"manual\",\"since\":6}' AS BLOB), 2, NULL),
         ('api_key', x'AA', 'left alone', x'', 1, NULL)";
}
