//! Who owns things.

use async_trait::async_trait;
use gancho_domain::{Tenant, TenantId};
use gancho_store::{Result, StoreError, Tenants};
use tokio_postgres::{Row, error::SqlState};

use crate::{
    PostgresStore,
    fault::{error_of, store_error},
    rows::{self, text, uuid},
    session::{execute, query},
};

#[async_trait]
impl Tenants for PostgresStore {
    async fn create_tenant(&self, tenant: Tenant) -> Result<()> {
        let session = self.session().await?;
        let made = execute(
            &session,
            "insert into tenants (tenant_id, slug, name, created_at) values ($1, $2, $3, $4)",
            &[
                &uuid(tenant.id),
                &text(&tenant.slug),
                &text(&tenant.name),
                &tenant.created_at.micros(),
            ],
        )
        .await;
        match made {
            Ok(_) => Ok(()),
            Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => {
                Err(StoreError::Taken(tenant.slug))
            }
            Err(error) => Err(error_of(&error)),
        }
    }

    async fn tenant(&self, id: TenantId) -> Result<Option<Tenant>> {
        let session = self.session().await?;
        let sql = "select tenant_id, slug, name, created_at from tenants where tenant_id = $1";
        let found = query(&session, sql, &[&uuid(id)]).await;
        found.map_err(store_error)?.first().map(tenant).transpose()
    }

    async fn tenant_by_slug(&self, slug: &str) -> Result<Option<Tenant>> {
        let session = self.session().await?;
        let sql = "select tenant_id, slug, name, created_at from tenants where slug = $1";
        let found = query(&session, sql, &[&text(slug)]).await;
        found.map_err(store_error)?.first().map(tenant).transpose()
    }
}

fn tenant(row: &Row) -> Result<Tenant> {
    Ok(Tenant {
        id: rows::id(row, 0)?,
        slug: rows::get(row, 1)?,
        name: rows::get(row, 2)?,
        created_at: rows::time(row, 3)?,
    })
}
