//! Small documents. The operator's tenant id is an empty blob.

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{TenantId, Time};
use gancho_store::{
    Account, Collection, CollectionLimit, Document, Documents, Precondition, Result,
};
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};

use crate::{
    SqliteStore, rows,
    transaction::Tx,
    tx_error::TxError,
    writer::{Share, Step, pages},
};

/// Adding up this number of documents takes as long as writing a row.
const SCANNED_PER_ROW: usize = 64;

const COLUMNS: &str = "tenant_id, key, body, version, until";

#[async_trait]
impl Documents for SqliteStore {
    async fn document(&self, on: Collection, key: &str) -> Result<Option<Document>> {
        let key = key.to_owned();
        self.read_for(on.tenant(), move |db| {
            let by = "WHERE kind = ?1 AND tenant_id = ?2 AND key = ?3";
            Ok(list(db, by, &[&on.kind(), &owner(on.tenant()), &key])?.pop())
        })
        .await
    }

    async fn find_document(&self, kind: &'static str, key: &str) -> Result<Option<Document>> {
        let key = key.to_owned();
        self.read_for(Account::Strangers, move |db| {
            let by = "INDEXED BY records_by_key WHERE kind = ?1 AND key = ?2 LIMIT 1";
            Ok(list(db, by, &[&kind, &key])?.pop())
        })
        .await
    }

    async fn documents(
        &self,
        on: Collection,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<Document>> {
        let from = if after.is_some() { "key > ?3" } else { "?3 IS NULL" };
        let after = after.map(str::to_owned);
        self.read_for(on.tenant(), move |db| {
            let by = format!("WHERE kind = ?1 AND tenant_id = ?2 AND {from} ORDER BY key LIMIT ?4");
            list(db, &by, &[&on.kind(), &owner(on.tenant()), &after, &(max as i64)])
        })
        .await
    }

    async fn collection_version(&self, on: Collection) -> Result<u64> {
        self.read_for(on.tenant(), move |db| {
            let version: Option<i64> = db
                .prepare_cached(
                    "SELECT version FROM collection_versions WHERE kind = ?1 AND tenant_id = ?2",
                )?
                .query_row(params![on.kind(), owner(on.tenant())], |row| row.get(0))
                .optional()?;
            Ok(version.unwrap_or(0) as u64)
        })
        .await
    }

    async fn documents_of_all(
        &self,
        kind: &'static str,
        after: Option<(Option<TenantId>, String)>,
        max: usize,
    ) -> Result<Vec<Document>> {
        let from = if after.is_some() { "(tenant_id, key) > (?2, ?3)" } else { "?2 IS ?3" };
        let (tenant, key) = after.map(|(tenant, key)| (owner(tenant), key)).unzip();
        self.read(move |db| {
            let by = format!("WHERE kind = ?1 AND {from} ORDER BY tenant_id, key LIMIT ?4");
            list(db, &by, &[&kind, &tenant, &key, &(max as i64)])
        })
        .await
    }

    async fn documents_ending(
        &self,
        kind: &'static str,
        from: Time,
        to: Time,
        max: usize,
    ) -> Result<Vec<Document>> {
        self.read_aside(move |db| {
            let by = "INDEXED BY records_of_kind_by_end
                WHERE kind = ?1 AND until >= ?2 AND until < ?3 ORDER BY until, key LIMIT ?4";
            list(db, by, &[&kind, &from.micros(), &to.micros(), &(max as i64)])
        })
        .await
    }

    async fn put_document(
        &self,
        on: Collection,
        key: &str,
        body: Bytes,
        expect: Precondition,
    ) -> Result<Option<u64>> {
        self.write_document(on, key, body, expect, None).await
    }

    async fn put_document_within(
        &self,
        on: Collection,
        key: &str,
        body: Bytes,
        expect: Precondition,
        limit: CollectionLimit,
    ) -> Result<Option<u64>> {
        let key = key.to_owned();
        let (sql, version) = statement(expect);
        let rows = 1 + pages(body.len()) + limit.max_count / SCANNED_PER_ROW;
        let put = move |tx: &Tx<'_>| {
            let (kind, owner) = (on.kind(), owner(on.tenant()));
            let fits: bool = tx.db.prepare_cached(FITS)?.query_row(
                params![
                    kind,
                    owner,
                    key,
                    limit.max_count as i64,
                    limit.max_bytes as i64,
                    body.len() as i64
                ],
                |row| row.get(0),
            )?;
            if !fits {
                return Ok(None);
            }
            let values = params![kind, owner, key, &*body, version, Option::<i64>::None];
            let version: Option<i64> =
                tx.db.prepare_cached(sql)?.query_row(values, |row| row.get(0)).optional()?;
            Ok(version.map(|version| version as u64))
        };
        self.writer.run(Step::Growth, share(on, rows), put).await
    }

    async fn put_document_until(
        &self,
        on: Collection,
        key: &str,
        body: Bytes,
        expect: Precondition,
        until: Time,
    ) -> Result<Option<u64>> {
        self.write_document(on, key, body, expect, Some(until)).await
    }

    async fn delete_document(&self, on: Collection, key: &str) -> Result<bool> {
        let key = key.to_owned();
        let delete = move |tx: &Tx<'_>| {
            let gone = tx
                .db
                .prepare_cached(
                    "DELETE FROM records WHERE kind = ?1 AND tenant_id = ?2 AND key = ?3",
                )?
                .execute(params![on.kind(), owner(on.tenant()), key])?;
            Ok(gone == 1)
        };
        self.writer.run(Step::Upkeep, share(on, 1), delete).await
    }
}

impl SqliteStore {
    async fn write_document(
        &self,
        on: Collection,
        key: &str,
        body: Bytes,
        expect: Precondition,
        until: Option<Time>,
    ) -> Result<Option<u64>> {
        let key = key.to_owned();
        let until = until.map(Time::micros);
        let (sql, version) = statement(expect);
        // While the disk is nearly full, existing documents can be changed, and the operator can add some.
        let is_growth = on.tenant().is_some() && !matches!(expect, Precondition::Version(_));
        let step = if is_growth { Step::Growth } else { Step::Upkeep };
        let rows = 1 + pages(body.len());
        let put = move |tx: &Tx<'_>| {
            let version: Option<i64> = tx
                .db
                .prepare_cached(sql)?
                .query_row(
                    params![on.kind(), owner(on.tenant()), key, &*body, version, until],
                    |row| row.get(0),
                )
                .optional()?;
            Ok(version.map(|version| version as u64))
        };
        self.writer.run(step, share(on, rows), put).await
    }
}

/// Documents of tenants are written in turn. The gateway itself writes the operator's, such as leases, and they
/// do not wait.
fn share(on: Collection, rows: usize) -> Option<Share> {
    on.tenant().map(|tenant| Share { account: Account::Tenant(tenant), rows })
}

const FITS: &str = "
SELECT (own IS NOT NULL OR number < ?4)
   AND (bytes - coalesce(own, 0) + ?6 <= ?5 OR ?6 <= coalesce(own, -1))
FROM (SELECT count(*) AS number, coalesce(sum(length(body)), 0) AS bytes,
             max(length(body)) FILTER (WHERE key = ?3) AS own
      FROM records WHERE kind = ?1 AND tenant_id = ?2)";

const PUT: &str = "INSERT INTO records (kind, tenant_id, key, body, version, until)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT DO UPDATE SET body = excluded.body, version = version + 1, until = excluded.until
    RETURNING version";

const ADD: &str = "INSERT INTO records (kind, tenant_id, key, body, version, until)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING RETURNING version";

const CHANGE: &str = "UPDATE records SET body = ?4, version = version + 1, until = ?6
    WHERE kind = ?1 AND tenant_id = ?2 AND key = ?3 AND version = ?5 RETURNING version";

/// Returns the compare-and-set statement for `expect`, and its version parameter.
fn statement(expect: Precondition) -> (&'static str, i64) {
    match expect {
        Precondition::Anything => (PUT, 1),
        Precondition::Nothing => (ADD, 1),
        Precondition::Version(version) => (CHANGE, version as i64),
    }
}

fn owner(tenant: Option<TenantId>) -> Vec<u8> {
    tenant.map(|tenant| tenant.bytes().to_vec()).unwrap_or_default()
}

fn list(db: &Connection, by: &str, values: &[&dyn ToSql]) -> Result<Vec<Document>, TxError> {
    let mut list = db.prepare_cached(&format!("SELECT {COLUMNS} FROM records {by}"))?;
    let mut found = list.query(values)?;
    let mut documents = Vec::new();
    while let Some(row) = found.next()? {
        documents.push(document(row)?);
    }
    Ok(documents)
}

fn document(row: &Row<'_>) -> Result<Document, TxError> {
    let is_operators = row.get_ref(0)?.as_blob() == Ok(&[]);
    Ok(Document {
        tenant: if is_operators { None } else { Some(rows::id(row, 0)?) },
        key: row.get(1)?,
        body: rows::bytes(row, 2)?,
        version: row.get::<_, i64>(3)? as u64,
        ends_at: rows::maybe_time(row, 4)?,
    })
}
