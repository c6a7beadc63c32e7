//! Addresses that get no more e-mails of a tenant.

use async_trait::async_trait;
use gancho_domain::{TenantId, TenantScope};
use gancho_store::{NewSuppression, Result, Suppression, Suppressions, TenantRow};
use rusqlite::{Connection, Row, ToSql, params};

use crate::{SqliteStore, rows, transaction::Tx, tx_error::TxError};

const COLUMNS: &str = "address, reason, detail, since";

#[async_trait]
impl Suppressions for SqliteStore {
    async fn suppress(&self, scope: TenantScope, new: Vec<NewSuppression>) -> Result<u64> {
        let account = Some(scope.tenant());
        self.write_more_for(account, new.len(), move |tx| add(tx, scope, &new)).await
    }

    async fn suppression(&self, scope: TenantScope, address: &str) -> Result<Option<Suppression>> {
        let address = address.to_owned();
        self.read_for(Some(scope.tenant()), move |db| {
            let by = "WHERE tenant_id = ?1 AND address = ?2";
            Ok(list(db, by, &[&scope.tenant().bytes(), &address])?.pop())
        })
        .await
    }

    async fn suppressions(
        &self,
        scope: TenantScope,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<Suppression>> {
        let from = if after.is_some() { "address > ?2" } else { "?2 IS NULL" };
        let after = after.map(str::to_owned);
        self.read_for(Some(scope.tenant()), move |db| {
            let by = format!("WHERE tenant_id = ?1 AND {from} ORDER BY address LIMIT ?3");
            list(db, &by, &[&scope.tenant().bytes(), &after, &(max as i64)])
        })
        .await
    }

    async fn remove_suppression(&self, scope: TenantScope, address: &str) -> Result<bool> {
        let address = address.to_owned();
        self.write_for(Some(scope.tenant()), 1, move |tx| {
            let gone = tx
                .db
                .prepare_cached("DELETE FROM suppressions WHERE tenant_id = ?1 AND address = ?2")?
                .execute(params![scope.tenant().bytes(), address])?;
            Ok(gone == 1)
        })
        .await
    }
}

/// Adds suppressions. Returns how many are new.
pub(crate) fn add(tx: &Tx<'_>, scope: TenantScope, new: &[NewSuppression]) -> Result<u64, TxError> {
    let mut insert = tx.db.prepare_cached(
        "INSERT INTO suppressions (tenant_id, address, reason, detail, since)
         VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
    )?;
    let mut replace = tx.db.prepare_cached(
        "UPDATE suppressions SET reason = ?3, detail = ?4, since = ?5
         WHERE tenant_id = ?1 AND address = ?2",
    )?;
    let mut added = 0;
    for NewSuppression { suppression, replaces } in new {
        let Suppression { address, reason, detail, since } = suppression;
        let (tenant, since) = (scope.tenant().bytes(), since.micros());
        if insert.execute(params![tenant, address, reason, detail, since])? == 1 {
            added += 1;
        } else if *replaces {
            replace.execute(params![tenant, address, reason, detail, since])?;
        }
    }
    Ok(added)
}

fn list(db: &Connection, by: &str, values: &[&dyn ToSql]) -> Result<Vec<Suppression>, TxError> {
    let mut list = db.prepare_cached(&format!("SELECT {COLUMNS} FROM suppressions {by}"))?;
    let mut found = list.query(values)?;
    let mut suppressions = Vec::new();
    while let Some(row) = found.next()? {
        suppressions.push(suppression(row)?);
    }
    Ok(suppressions)
}

/// Returns suppressions of all tenants, in the order of the table.
pub(crate) fn of_all(
    db: &Connection,
    after: Option<(TenantId, String)>,
    max: usize,
) -> Result<Vec<TenantRow<Suppression>>, TxError> {
    let (tenant, address) = after.unwrap_or((TenantId::from_bits(0), String::new()));
    let mut list = db.prepare_cached(&format!(
        "SELECT {COLUMNS}, tenant_id FROM suppressions
         WHERE (tenant_id, address) > (?1, ?2) ORDER BY tenant_id, address LIMIT ?3"
    ))?;
    let mut found = list.query(params![tenant.bytes(), address, max as i64])?;
    let mut suppressions = Vec::new();
    while let Some(row) = found.next()? {
        suppressions.push(TenantRow { tenant: rows::id(row, 4)?, row: suppression(row)? });
    }
    Ok(suppressions)
}

fn suppression(row: &Row<'_>) -> Result<Suppression, TxError> {
    Ok(Suppression {
        address: row.get(0)?,
        reason: row.get(1)?,
        detail: row.get(2)?,
        since: rows::time(row, 3)?,
    })
}
