//! Who owns things.

use async_trait::async_trait;
use gancho_domain::{Tenant, TenantId};
use gancho_store::{Result, StoreError, Tenants};
use rusqlite::{Connection, ToSql, params};

use crate::{SqliteStore, fault::Fault, rows};

#[async_trait]
impl Tenants for SqliteStore {
    async fn create_tenant(&self, tenant: Tenant) -> Result<()> {
        self.write_more(move |tx| {
            let made = tx
                .db
                .prepare_cached(
                    "INSERT INTO tenants (id, slug, name, created_at) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT DO NOTHING",
                )?
                .execute(params![
                    tenant.id.bytes(),
                    tenant.slug,
                    tenant.name,
                    tenant.created_at.micros()
                ])?;
            if made == 1 {
                return Ok(());
            }
            Err(StoreError::Taken(format!("the slug `{}`", tenant.slug)).into())
        })
        .await
    }

    async fn tenant(&self, id: TenantId) -> Result<Option<Tenant>> {
        self.read(move |db| find(db, "id = ?1", &id.bytes())).await
    }

    async fn tenant_by_slug(&self, slug: &str) -> Result<Option<Tenant>> {
        let slug = slug.to_owned();
        self.read(move |db| find(db, "slug = ?1", &slug)).await
    }
}

fn find(db: &Connection, by: &str, value: &dyn ToSql) -> Result<Option<Tenant>, Fault> {
    let mut find =
        db.prepare_cached(&format!("SELECT id, slug, name, created_at FROM tenants WHERE {by}"))?;
    let mut found = find.query([value])?;
    let Some(row) = found.next()? else {
        return Ok(None);
    };
    Ok(Some(Tenant {
        id: rows::id(row, 0)?,
        slug: row.get(1)?,
        name: row.get(2)?,
        created_at: rows::time(row, 3)?,
    }))
}
