//! Small documents. The operator's tenant id is zero.

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{TenantId, Time};
use gancho_store::{
    Account, Collection, CollectionLimit, Document, Documents, Precondition, Result,
};
use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

use crate::{
    PostgresStore,
    rows::{self, uuid},
    session::{Transaction, execute, query},
    tx_error::{TxError, corrupt, store_error},
};

const COLUMNS: &str = "tenant_id, key, body, version, until";

#[async_trait]
impl Documents for PostgresStore {
    async fn document(&self, on: Collection, key: &str) -> Result<Option<Document>> {
        let by = "where kind = $1 and tenant_id = $2 and key = $3";
        let owner = owner(on.tenant())?;
        let found =
            self.list_documents(on.tenant(), by, &[&on.kind(), &owner, &key.as_bytes()]).await?;
        Ok(found.into_iter().next())
    }

    async fn find_document(&self, kind: &'static str, key: &str) -> Result<Option<Document>> {
        let by = "where kind = $1 and key = $2 order by kind, key limit 1";
        let found = self.list_documents(Account::Strangers, by, &[&kind, &key.as_bytes()]).await?;
        Ok(found.into_iter().next())
    }

    async fn documents(
        &self,
        on: Collection,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<Document>> {
        let (kind, owner, max) = (on.kind(), owner(on.tenant())?, max as i64);
        let Some(after) = after else {
            let by = "where kind = $1 and tenant_id = $2 order by key limit $3";
            return self.list_documents(on.tenant(), by, &[&kind, &owner, &max]).await;
        };
        let by = "where kind = $1 and tenant_id = $2 and key > $3 order by key limit $4";
        self.list_documents(on.tenant(), by, &[&kind, &owner, &after.as_bytes(), &max]).await
    }

    async fn collection_version(&self, on: Collection) -> Result<u64> {
        let owner = owner(on.tenant())?;
        let session = self.session_of(on.tenant()).await?;
        let sql = "select version from collection_versions where kind = $1 and tenant_id = $2";
        let found = query(&session, sql, &[&on.kind(), &owner]).await.map_err(store_error)?;
        Ok(found.first().map(|row| rows::get::<i64>(row, 0)).transpose()?.unwrap_or(0) as u64)
    }

    async fn documents_of_all(
        &self,
        kind: &'static str,
        after: Option<(Option<TenantId>, String)>,
        max: usize,
    ) -> Result<Vec<Document>> {
        let max = max as i64;
        let Some((tenant, key)) = after else {
            let by = "where kind = $1 order by tenant_id, key limit $2";
            return self.list_documents(None, by, &[&kind, &max]).await;
        };
        let by = "where kind = $1 and (tenant_id, key) > ($2, $3)
            order by tenant_id, key limit $4";
        self.list_documents(None, by, &[&kind, &owner(tenant)?, &key.as_bytes(), &max]).await
    }

    async fn documents_ending(
        &self,
        kind: &'static str,
        from: Time,
        to: Time,
        max: usize,
    ) -> Result<Vec<Document>> {
        let by = "where kind = $1 and until >= $2 and until < $3 order by until, key limit $4";
        let values: [&(dyn ToSql + Sync); 4] = [&kind, &from.micros(), &to.micros(), &(max as i64)];
        self.list_documents(None, by, &values).await
    }

    async fn put_document(
        &self,
        on: Collection,
        key: &str,
        body: Bytes,
        expect: Precondition,
    ) -> Result<Option<u64>> {
        self.write_document(on, key, &body, expect, None).await
    }

    async fn put_document_within(
        &self,
        on: Collection,
        key: &str,
        body: Bytes,
        expect: Precondition,
        limit: CollectionLimit,
    ) -> Result<Option<u64>> {
        self.put_within(on, key, &body, expect, limit).await.map_err(TxError::into_error)
    }

    async fn put_document_until(
        &self,
        on: Collection,
        key: &str,
        body: Bytes,
        expect: Precondition,
        until: Time,
    ) -> Result<Option<u64>> {
        self.write_document(on, key, &body, expect, Some(until)).await
    }

    async fn delete_document(&self, on: Collection, key: &str) -> Result<bool> {
        let owner = owner(on.tenant())?;
        let session = self.session_of(on.tenant()).await?;
        let sql = "delete from records where kind = $1 and tenant_id = $2 and key = $3";
        let gone = execute(&session, sql, &[&on.kind(), &owner, &key.as_bytes()]).await;
        Ok(gone.map_err(store_error)? > 0)
    }
}

const PUT: &str = "
insert into records (kind, tenant_id, key, body, version, until) values ($1, $2, $3, $4, $5, $6)
on conflict (kind, tenant_id, key) do update
set body = excluded.body, version = records.version + 1, until = excluded.until
returning version";

const ADD: &str = "
insert into records (kind, tenant_id, key, body, version, until) values ($1, $2, $3, $4, $5, $6)
on conflict (kind, tenant_id, key) do nothing
returning version";

const CHANGE: &str = "
update records set body = $4, version = version + 1, until = $6
where kind = $1 and tenant_id = $2 and key = $3 and version = $5
returning version";

/// Serializes callers that add to a collection with a limit.
const LOCK: &str = "select pg_advisory_xact_lock(hashtextextended($1 || $2::uuid::text, 0))";

const FITS: &str = "
select (own is not null or number < $4::int8)
   and (bytes - coalesce(own, 0) + $6::int8 <= $5::int8 or $6::int8 <= coalesce(own, -1))
from (select count(*) as number, coalesce(sum(octet_length(body)), 0) as bytes,
             max(octet_length(body)) filter (where key = $3) as own
      from records where kind = $1 and tenant_id = $2) c";

impl PostgresStore {
    async fn put_within(
        &self,
        on: Collection,
        key: &str,
        body: &[u8],
        expect: Precondition,
        limit: CollectionLimit,
    ) -> Result<Option<u64>, TxError> {
        let (sql, version) = statement(expect);
        let (kind, owner, key) = (on.kind(), owner(on.tenant())?, key.as_bytes());
        let transaction = Transaction::begin(self.session_of(on.tenant()).await?).await?;
        let session = transaction.session()?;
        query(session, LOCK, &[&kind, &owner]).await?;
        let [max_count, max_bytes, bytes] =
            [limit.max_count, limit.max_bytes, body.len()].map(|number| number as i64);
        let values: [&(dyn ToSql + Sync); 6] =
            [&kind, &owner, &key, &max_count, &max_bytes, &bytes];
        let fits = query(session, FITS, &values).await?;
        if !fits.first().map_or(Ok(false), |row| rows::get(row, 0))? {
            return Ok(None);
        }
        let until = Option::<i64>::None;
        let put = query(session, sql, &[&kind, &owner, &key, &body, &version, &until]).await?;
        let version = put.first().map(|row| rows::get::<i64>(row, 0)).transpose()?;
        transaction.commit().await?;
        Ok(version.map(|version| version as u64))
    }

    async fn write_document(
        &self,
        on: Collection,
        key: &str,
        body: &[u8],
        expect: Precondition,
        until: Option<Time>,
    ) -> Result<Option<u64>> {
        let (sql, version) = statement(expect);
        let owner = owner(on.tenant())?;
        let session = self.session_of(on.tenant()).await?;
        let until = until.map(Time::micros);
        let values: [&(dyn ToSql + Sync); 6] =
            [&on.kind(), &owner, &key.as_bytes(), &body, &version, &until];
        let put = query(&session, sql, &values).await.map_err(store_error)?;
        put.first().map(|row| Ok(rows::get::<i64>(row, 0)? as u64)).transpose()
    }

    async fn list_documents(
        &self,
        account: impl Into<Account>,
        by: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Document>> {
        let session = self.session_of(account).await?;
        let sql = format!("select {COLUMNS} from records {by}");
        let found = query(&session, &sql, values).await;
        found.map_err(store_error)?.iter().map(document).collect()
    }
}

/// Returns the compare-and-set statement for `expect`, and its version parameter.
fn statement(expect: Precondition) -> (&'static str, i64) {
    match expect {
        Precondition::Anything => (PUT, 1),
        Precondition::Nothing => (ADD, 1),
        Precondition::Version(version) => (CHANGE, version as i64),
    }
}

fn owner(tenant: Option<TenantId>) -> Result<Uuid> {
    match tenant.map(uuid) {
        // No tenant with this id can be created. If one is forged, it has no access to the operator's.
        Some(tenant) if tenant.is_nil() => Err(corrupt("a tenant whose id is zero")),
        Some(tenant) => Ok(tenant),
        None => Ok(Uuid::nil()),
    }
}

fn document(row: &Row) -> Result<Document> {
    let owner: Uuid = rows::get(row, 0)?;
    let key = std::str::from_utf8(rows::get(row, 1)?);
    Ok(Document {
        tenant: if owner.is_nil() { None } else { Some(rows::id(row, 0)?) },
        key: key.map_err(|_| corrupt("a document's key is not UTF-8"))?.to_owned(),
        body: rows::bytes(row, 2)?,
        version: rows::get::<i64>(row, 3)? as u64,
        ends_at: rows::maybe_time(row, 4)?,
    })
}
