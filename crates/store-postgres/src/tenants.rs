//! Tenants.

use async_trait::async_trait;
use gancho_domain::{Tenant, TenantId, tenant::TenantRetention};
use gancho_store::{Result, StoreError, Tenants};
use tokio_postgres::{Row, types::ToSql};

use crate::{
    PostgresStore,
    rows::{self, micros, text, uuid},
    session::{execute, query},
    tx_error::{TxError, store_error},
};

const COLUMNS: &str = "tenant_id, slug, name, plan, default_profile, strict_event_types, \
    publish_rate_count, publish_rate_per_us, created_at, keep_events_us, keep_emails_us, keep_dead_us";

#[async_trait]
impl Tenants for PostgresStore {
    async fn create_tenant(&self, tenant: Tenant) -> Result<()> {
        let sql = format!(
            "insert into tenants ({COLUMNS})
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
        );
        match self.write_tenant(&sql, &tenant).await? {
            Ok(_) => Ok(()),
            Err(TxError::Content(StoreError::Taken(_))) => Err(StoreError::Taken(tenant.slug)),
            Err(error) => Err(error.into_error()),
        }
    }

    async fn change_tenant(&self, tenant: Tenant) -> Result<bool> {
        // The slug is given and not used.
        let sql = "update tenants set name = $3, plan = $4, default_profile = $5,
                strict_event_types = $6, publish_rate_count = $7, publish_rate_per_us = $8,
                created_at = $9, keep_events_us = $10, keep_emails_us = $11, keep_dead_us = $12
            where tenant_id = $1 and $2::text is not null";
        let changed = self.write_tenant(sql, &tenant).await?;
        Ok(changed.map_err(store_error)? > 0)
    }

    async fn tenants(&self, after: Option<&str>, max: usize) -> Result<Vec<Tenant>> {
        let session = self.lists.next(None).await?;
        let max = max as i64;
        let after = after.map(text);
        let mut values: Vec<&(dyn ToSql + Sync)> = vec![&max];
        let from = match &after {
            Some(after) => {
                values.push(after);
                "where slug > $2"
            }
            None => "",
        };
        let sql = format!("select {COLUMNS} from tenants {from} order by slug limit $1");
        let found = query(&session, &sql, &values).await;
        found.map_err(store_error)?.iter().map(tenant).collect()
    }

    async fn tenant(&self, id: TenantId) -> Result<Option<Tenant>> {
        let session = self.session_of(Some(id)).await?;
        let sql = format!("select {COLUMNS} from tenants where tenant_id = $1");
        let found = query(&session, &sql, &[&uuid(id)]).await;
        found.map_err(store_error)?.first().map(tenant).transpose()
    }

    async fn tenant_by_slug(&self, slug: &str) -> Result<Option<Tenant>> {
        let session = self.session_of(None).await?;
        let sql = format!("select {COLUMNS} from tenants where slug = $1");
        let found = query(&session, &sql, &[&text(slug)]).await;
        found.map_err(store_error)?.first().map(tenant).transpose()
    }
}

impl PostgresStore {
    /// Runs a statement with a tenant's values. Returns how many rows it wrote.
    async fn write_tenant(&self, sql: &str, tenant: &Tenant) -> Result<Result<u64, TxError>> {
        let session = self.session().await?;
        let written = execute(
            &session,
            sql,
            &[
                &uuid(tenant.id),
                &text(&tenant.slug),
                &text(&tenant.name),
                &text(&tenant.plan),
                &text(&tenant.default_profile),
                &tenant.strict_event_types,
                &tenant.publish_rate.map(|rate| i64::from(rate.count)),
                &tenant.publish_rate.map(|rate| micros(rate.per)),
                &tenant.created_at.micros(),
                &tenant.retention.events.map(micros),
                &tenant.retention.emails.map(micros),
                &tenant.retention.dead_letters.map(micros),
            ],
        )
        .await;
        Ok(written)
    }
}

fn tenant(row: &Row) -> Result<Tenant> {
    Ok(Tenant {
        id: rows::id(row, 0)?,
        slug: rows::get(row, 1)?,
        name: rows::get(row, 2)?,
        plan: rows::get(row, 3)?,
        default_profile: rows::get(row, 4)?,
        strict_event_types: rows::get(row, 5)?,
        publish_rate: rows::maybe_rate(row, 6)?,
        created_at: rows::time(row, 8)?,
        retention: TenantRetention {
            events: rows::maybe_span(row, 9)?,
            emails: rows::maybe_span(row, 10)?,
            dead_letters: rows::maybe_span(row, 11)?,
        },
    })
}
