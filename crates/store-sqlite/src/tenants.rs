//! Tenants.

use async_trait::async_trait;
use gancho_domain::{Tenant, TenantId, tenant::TenantRetention};
use gancho_store::{Result, StoreError, Tenants};
use rusqlite::{Connection, Row, ToSql, params};

use crate::{SqliteStore, rows, transaction::Tx, tx_error::TxError};

const COLUMNS: &str = "id, slug, name, plan, default_profile, strict_event_types, \
    publish_rate_count, publish_rate_per_us, created_at, keep_events_us, keep_emails_us, keep_dead_us";

#[async_trait]
impl Tenants for SqliteStore {
    async fn create_tenant(&self, tenant: Tenant) -> Result<()> {
        self.write_more(move |tx| {
            let sql = format!(
                "INSERT INTO tenants ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
                 ON CONFLICT DO NOTHING"
            );
            if write(tx, &sql, &tenant)? == 1 {
                return Ok(());
            }
            Err(StoreError::Taken(format!("the slug `{}`", tenant.slug)).into())
        })
        .await
    }

    async fn change_tenant(&self, tenant: Tenant) -> Result<bool> {
        self.write(move |tx| {
            // The slug is bound and not used.
            let sql = "UPDATE tenants SET (name, plan, default_profile, strict_event_types,
                   publish_rate_count, publish_rate_per_us, created_at, keep_events_us,
                   keep_emails_us, keep_dead_us) =
                   (?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
                 WHERE id = ?1 AND ?2 IS NOT NULL";
            Ok(write(tx, sql, &tenant)? == 1)
        })
        .await
    }

    async fn tenants(&self, after: Option<&str>, max: usize) -> Result<Vec<Tenant>> {
        let from = if after.is_some() { "slug > ?1" } else { "?1 IS NULL" };
        let after = after.map(str::to_owned);
        self.read_list(None, move |db| {
            let mut list = db.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM tenants WHERE {from} ORDER BY slug LIMIT ?2"
            ))?;
            let mut found = list.query(params![after, max as i64])?;
            let mut tenants = Vec::new();
            while let Some(row) = found.next()? {
                tenants.push(tenant(row)?);
            }
            Ok(tenants)
        })
        .await
    }

    async fn tenant(&self, id: TenantId) -> Result<Option<Tenant>> {
        self.read_for(Some(id), move |db| find(db, "id = ?1", &id.bytes())).await
    }

    async fn tenant_by_slug(&self, slug: &str) -> Result<Option<Tenant>> {
        let slug = slug.to_owned();
        self.read(move |db| find(db, "slug = ?1", &slug)).await
    }
}

/// Runs a statement with a tenant's values. Returns how many rows it wrote.
fn write(tx: &Tx<'_>, sql: &str, tenant: &Tenant) -> Result<usize, TxError> {
    Ok(tx.db.prepare_cached(sql)?.execute(params![
        tenant.id.bytes(),
        tenant.slug,
        tenant.name,
        tenant.plan,
        tenant.default_profile,
        tenant.strict_event_types,
        tenant.publish_rate.map(|rate| rate.count),
        tenant.publish_rate.map(|rate| rate.per.as_micros() as i64),
        tenant.created_at.micros(),
        tenant.retention.events.map(|keep| keep.as_micros() as i64),
        tenant.retention.emails.map(|keep| keep.as_micros() as i64),
        tenant.retention.dead_letters.map(|keep| keep.as_micros() as i64),
    ])?)
}

fn find(db: &Connection, by: &str, value: &dyn ToSql) -> Result<Option<Tenant>, TxError> {
    let mut find = db.prepare_cached(&format!("SELECT {COLUMNS} FROM tenants WHERE {by}"))?;
    let mut found = find.query([value])?;
    found.next()?.map(tenant).transpose()
}

fn tenant(row: &Row<'_>) -> Result<Tenant, TxError> {
    Ok(Tenant {
        id: rows::id(row, 0)?,
        slug: row.get(1)?,
        name: row.get(2)?,
        plan: row.get(3)?,
        default_profile: row.get(4)?,
        strict_event_types: row.get(5)?,
        publish_rate: rows::maybe_rate(row, 6)?,
        created_at: rows::time(row, 8)?,
        retention: TenantRetention {
            events: rows::maybe_span(row, 9)?,
            emails: rows::maybe_span(row, 10)?,
            dead_letters: rows::maybe_span(row, 11)?,
        },
    })
}
