//! Addresses that get no more e-mails of a tenant.

use std::collections::BTreeMap;

use async_trait::async_trait;
use gancho_domain::{TenantId, TenantScope};
use gancho_store::{NewSuppression, Result, Suppression, Suppressions, TenantRow};
use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

use crate::{
    PostgresStore,
    rows::{self, text, uuid},
    session::{Session, Transaction, execute, query},
    tx_error::{TxError, corrupt, store_error},
};

const COLUMNS: &str = "address, reason, detail, since";

const ADD: &str = "
insert into suppressions (tenant_id, address, reason, detail, since)
select * from unnest($1::uuid[], $2::bytea[], $3::text[], $4::text[], $5::int8[])
on conflict (tenant_id, address) do nothing";

const REPLACE: &str = "
update suppressions s set reason = k.reason, detail = k.detail, since = k.since
from unnest($1::uuid[], $2::bytea[], $3::text[], $4::text[], $5::int8[])
    as k(tenant_id, address, reason, detail, since)
where s.tenant_id = k.tenant_id and s.address = k.address";

#[async_trait]
impl Suppressions for PostgresStore {
    async fn suppress(&self, scope: TenantScope, new: Vec<NewSuppression>) -> Result<u64> {
        self.suppress_once(scope, &new).await.map_err(TxError::into_error)
    }

    async fn suppression(&self, scope: TenantScope, address: &str) -> Result<Option<Suppression>> {
        let by = "where tenant_id = $1 and address = $2";
        let values: [&(dyn ToSql + Sync); 2] = [&uuid(scope.tenant()), &address.as_bytes()];
        Ok(self.list_suppressions(scope, by, &values).await?.into_iter().next())
    }

    async fn suppressions(
        &self,
        scope: TenantScope,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<Suppression>> {
        let (tenant, max) = (uuid(scope.tenant()), max as i64);
        let Some(after) = after else {
            let by = "where tenant_id = $1 order by address limit $2";
            return self.list_suppressions(scope, by, &[&tenant, &max]).await;
        };
        let by = "where tenant_id = $1 and address > $2 order by address limit $3";
        self.list_suppressions(scope, by, &[&tenant, &after.as_bytes(), &max]).await
    }

    async fn remove_suppression(&self, scope: TenantScope, address: &str) -> Result<bool> {
        let session = self.session_of(Some(scope.tenant())).await?;
        let sql = "delete from suppressions where tenant_id = $1 and address = $2";
        let gone = execute(&session, sql, &[&uuid(scope.tenant()), &address.as_bytes()]).await;
        Ok(gone.map_err(store_error)? > 0)
    }
}

/// Entries by tenant and address, in the order in which all transactions write them: two writers of the same
/// rows wait for each other but cannot deadlock.
type Entries<'a> = BTreeMap<(TenantId, &'a str), &'a Suppression>;

/// Adds suppressions. Returns how many are new.
pub(crate) async fn add(
    session: &Session,
    new: &[(TenantId, &NewSuppression)],
) -> Result<u64, TxError> {
    let (mut first, mut replacing) = (Entries::new(), Entries::new());
    for (tenant, NewSuppression { suppression, replaces }) in new {
        let key = (*tenant, suppression.address.as_str());
        first.entry(key).or_insert(suppression);
        if *replaces {
            replacing.insert(key, suppression);
        }
    }
    let added = write(session, ADD, &first).await?;
    write(session, REPLACE, &replacing).await?;
    Ok(added)
}

async fn write(session: &Session, sql: &str, entries: &Entries<'_>) -> Result<u64, TxError> {
    if entries.is_empty() {
        return Ok(0);
    }
    let tenants: Vec<Uuid> = entries.keys().map(|key| uuid(key.0)).collect();
    let addresses: Vec<&[u8]> = entries.keys().map(|key| key.1.as_bytes()).collect();
    let reasons: Vec<_> = entries.values().map(|one| text(&one.reason)).collect();
    let details: Vec<_> = entries.values().map(|one| one.detail.as_deref().map(text)).collect();
    let since: Vec<i64> = entries.values().map(|one| one.since.micros()).collect();
    execute(session, sql, &[&tenants, &addresses, &reasons, &details, &since]).await
}

impl PostgresStore {
    async fn suppress_once(
        &self,
        scope: TenantScope,
        new: &[NewSuppression],
    ) -> Result<u64, TxError> {
        let transaction = Transaction::begin(self.session_of(Some(scope.tenant())).await?).await?;
        let new: Vec<_> = new.iter().map(|new| (scope.tenant(), new)).collect();
        let added = add(transaction.session()?, &new).await?;
        transaction.commit().await?;
        Ok(added)
    }

    /// Returns suppressions of all tenants, by tenant and address.
    pub(crate) async fn list_all_suppressions(
        &self,
        after: Option<(TenantId, String)>,
        max: usize,
    ) -> Result<Vec<TenantRow<Suppression>>> {
        let session = self.lists.next(None).await?;
        let sql = format!(
            "select {COLUMNS}, tenant_id from suppressions
             where (tenant_id, address) > ($1, $2) order by tenant_id, address limit $3"
        );
        let (tenant, address) = after.unwrap_or((TenantId::from_bits(0), String::new()));
        let values: [&(dyn ToSql + Sync); 3] = [&uuid(tenant), &address.as_bytes(), &(max as i64)];
        let found = query(&session, &sql, &values).await.map_err(store_error)?;
        let owned = |row: &Row| Ok(TenantRow { tenant: rows::id(row, 4)?, row: suppression(row)? });
        found.iter().map(owned).collect()
    }

    async fn list_suppressions(
        &self,
        scope: TenantScope,
        by: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Suppression>> {
        let session = self.session_of(Some(scope.tenant())).await?;
        let sql = format!("select {COLUMNS} from suppressions {by}");
        let found = query(&session, &sql, values).await;
        found.map_err(store_error)?.iter().map(suppression).collect()
    }
}

fn suppression(row: &Row) -> Result<Suppression> {
    let address = std::str::from_utf8(rows::get(row, 0)?);
    Ok(Suppression {
        address: address.map_err(|_| corrupt("a suppressed address is not UTF-8"))?.to_owned(),
        reason: rows::get(row, 1)?,
        detail: rows::get(row, 2)?,
        since: rows::time(row, 3)?,
    })
}
