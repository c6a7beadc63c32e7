//! The endpoints of tenants.

use async_trait::async_trait;
use gancho_domain::{
    DisableReason, Endpoint, EndpointId, Health, Ordering, Pattern, TenantScope, Time,
};
use gancho_store::{Endpoints, Result, retry_plan_codec, rotated_secrets_codec};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    PostgresStore,
    pauses::{NO_LANE, OF_ENDPOINT},
    rows::{self, text, uuid},
    session::{Session, Transaction, execute, query},
    states::sql,
    tx_error::{TxError, corrupt, store_error},
};

const COLUMNS: &str = "tenant_id, id, name, url, events, sealed_secret, profile, is_active, \
    in_order, plan, timeout_us, max_in_flight, rate_count, rate_per_us, created_at, old_secrets, \
    sealed_headers, metadata, failing_since, warned_at, disabled, updated_at, version, external_id";

/// The values of an endpoint, as [`write`] passes them.
const VALUES: &str = "$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, \
    $18, $19, $20, $21, $22, $23, $24";

/// Replaces all columns of an existing endpoint but the key.
const REPLACE: &str = "set (name, url, events, sealed_secret, profile, is_active, in_order, plan, \
    timeout_us, max_in_flight, rate_count, rate_per_us, created_at, old_secrets, sealed_headers, \
    metadata, failing_since, warned_at, disabled, updated_at, version, external_id) = ($3, $4, $5, $6, \
    $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, \
    endpoints.version + 1, $24)";

#[async_trait]
impl Endpoints for PostgresStore {
    async fn add_endpoint(
        &self,
        scope: TenantScope,
        endpoint: Endpoint,
        max_endpoints: Option<u32>,
    ) -> Result<bool> {
        let added = self.add(scope, &endpoint, max_endpoints).await;
        added.map_err(TxError::into_error)
    }

    async fn change_endpoint(&self, scope: TenantScope, endpoint: Endpoint) -> Result<bool> {
        let session = self.session_of(Some(scope.tenant())).await?;
        let sql = format!(
            "update endpoints {REPLACE} where tenant_id = $1 and id = $2 and version = $23"
        );
        let changed = write(&session, &sql, scope, &endpoint).await;
        Ok(changed.map_err(store_error)? > 0)
    }

    async fn save_endpoint(&self, scope: TenantScope, endpoint: Endpoint) -> Result<()> {
        let session = self.session_of(Some(scope.tenant())).await?;
        let sql = format!(
            "insert into endpoints ({COLUMNS}) values ({VALUES})
             on conflict (tenant_id, id) do update {REPLACE}"
        );
        write(&session, &sql, scope, &endpoint).await.map_err(store_error)?;
        Ok(())
    }

    async fn endpoint(&self, scope: TenantScope, id: EndpointId) -> Result<Option<Endpoint>> {
        let session = self.session_of(Some(scope.tenant())).await?;
        let sql = format!("select {COLUMNS} from endpoints where tenant_id = $1 and id = $2");
        let found = query(&session, &sql, &[&uuid(scope.tenant()), &uuid(id)]).await;
        found.map_err(store_error)?.first().map(endpoint).transpose()
    }

    async fn endpoint_by_external_id(
        &self,
        scope: TenantScope,
        external_id: &str,
    ) -> Result<Option<Endpoint>> {
        let session = self.session_of(Some(scope.tenant())).await?;
        let sql =
            format!("select {COLUMNS} from endpoints where tenant_id = $1 and external_id = $2");
        let found = query(&session, &sql, &[&uuid(scope.tenant()), &external_id]).await;
        found.map_err(store_error)?.first().map(endpoint).transpose()
    }

    async fn endpoints(&self, scope: TenantScope) -> Result<Vec<Endpoint>> {
        let session = self.session_of(Some(scope.tenant())).await?;
        let sql = format!("select {COLUMNS} from endpoints where tenant_id = $1 order by id");
        let found = query(&session, &sql, &[&uuid(scope.tenant())]).await;
        found.map_err(store_error)?.iter().map(endpoint).collect()
    }

    async fn newest_endpoints(
        &self,
        scope: TenantScope,
        before: Option<EndpointId>,
        max: usize,
    ) -> Result<Vec<Endpoint>> {
        let session = self.lists.next(Some(scope.tenant())).await?;
        let (before, max) = (before.map_or(Uuid::max(), uuid), max as i64);
        let sql = format!(
            "select {COLUMNS} from endpoints where tenant_id = $1 and id < $2
             order by id desc limit $3"
        );
        let found = query(&session, &sql, &[&uuid(scope.tenant()), &before, &max]).await;
        found.map_err(store_error)?.iter().map(endpoint).collect()
    }

    async fn endpoints_version(&self, scope: TenantScope) -> Result<u64> {
        let session = self.session_of(Some(scope.tenant())).await?;
        let sql = "select version from endpoint_versions where tenant_id = $1";
        let found = query(&session, sql, &[&uuid(scope.tenant())]).await.map_err(store_error)?;
        Ok(found.first().map(|row| rows::get::<i64>(row, 0)).transpose()?.unwrap_or(0) as u64)
    }

    async fn delete_endpoint(&self, scope: TenantScope, id: EndpointId) -> Result<bool> {
        let (gone, lifted) = self.delete(scope, id).await.map_err(TxError::into_error)?;
        if lifted {
            self.bells.ring_all();
        }
        Ok(gone)
    }
}

impl PostgresStore {
    pub(crate) async fn newest_of_all_endpoints(
        &self,
        before: Option<EndpointId>,
        max: usize,
    ) -> Result<Vec<Endpoint>> {
        let session = self.lists.next(None).await?;
        let (before, max) = (before.map_or(Uuid::max(), uuid), max as i64);
        let sql =
            format!("select {COLUMNS} from endpoints where id < $1 order by id desc limit $2");
        let found = query(&session, &sql, &[&before, &max]).await;
        found.map_err(store_error)?.iter().map(endpoint).collect()
    }

    /// Deletes an endpoint. Returns whether it existed, and whether it was paused.
    async fn delete(&self, scope: TenantScope, id: EndpointId) -> Result<(bool, bool), TxError> {
        let transaction = Transaction::begin(self.session_of(Some(scope.tenant())).await?).await?;
        let session = transaction.session()?;
        let (tenant, id) = (uuid(scope.tenant()), uuid(id));
        let sql = "delete from endpoints where tenant_id = $1 and id = $2";
        let gone = execute(session, sql, &[&tenant, &id]).await?;
        let sql = sql!(
            "delete from pauses
            where kind = {OF_ENDPOINT} and lane = {NO_LANE} and tenant_id = $1 and target_id = $2"
        );
        let lifted = execute(session, sql, &[&tenant, &id]).await?;
        transaction.commit().await?;
        Ok((gone > 0, lifted > 0))
    }

    async fn add(
        &self,
        scope: TenantScope,
        endpoint: &Endpoint,
        max_endpoints: Option<u32>,
    ) -> Result<bool, TxError> {
        let transaction = Transaction::begin(self.session_of(Some(scope.tenant())).await?).await?;
        let session = transaction.session()?;
        if let Some(max) = max_endpoints
            && count(session, scope).await? >= i64::from(max)
        {
            transaction.commit().await?;
            return Ok(false);
        }
        let sql = format!("insert into endpoints ({COLUMNS}) values ({VALUES})");
        write(session, &sql, scope, endpoint).await?;
        transaction.commit().await?;
        Ok(true)
    }
}

/// Counts the tenant's endpoints. Locks the tenant's row first, so that two callers do not both find the last
/// slot free. The count is a separate statement, so that it sees what the previous caller has written.
async fn count(session: &Session, scope: TenantScope) -> Result<i64, TxError> {
    let tenant = uuid(scope.tenant());
    let hold = "select from tenants where tenant_id = $1 for no key update";
    query(session, hold, &[&tenant]).await?;
    let sql = "select count(*) from endpoints where tenant_id = $1";
    let found = query(session, sql, &[&tenant]).await?;
    Ok(found.first().map(|row| rows::get(row, 0)).transpose()?.unwrap_or(0))
}

/// Runs a statement with an endpoint's values. Returns how many rows it wrote.
async fn write(
    session: &Session,
    sql: &str,
    scope: TenantScope,
    endpoint: &Endpoint,
) -> Result<u64, TxError> {
    let events: Vec<String> = endpoint.events.iter().map(Pattern::to_string).collect();
    let health = &endpoint.health;
    let disabled = health.disabled.map(|why| match why {
        DisableReason::Gone => 1_i16,
        DisableReason::Failing => 2,
    });
    execute(
        session,
        sql,
        &[
            &uuid(scope.tenant()),
            &uuid(endpoint.id),
            &text(&endpoint.name),
            &text(&endpoint.url),
            &events,
            &endpoint.sealed_secret,
            &text(&endpoint.profile),
            &endpoint.is_active,
            &(endpoint.ordering == Ordering::PerSubject),
            &endpoint.plan.as_ref().map(retry_plan_codec::write),
            &endpoint.timeout.map(rows::micros),
            &endpoint.max_in_flight.map(i64::from),
            &endpoint.rate.map(|rate| i64::from(rate.count)),
            &endpoint.rate.map(|rate| rows::micros(rate.per)),
            &endpoint.created_at.micros(),
            &rotated_secrets_codec::write(&endpoint.old_secrets),
            &endpoint.sealed_headers,
            &text(&endpoint.metadata),
            &health.failing_since.map(Time::micros),
            &health.warned_at.map(Time::micros),
            &disabled,
            &endpoint.updated_at.micros(),
            &(endpoint.version as i64),
            &endpoint.external_id,
        ],
    )
    .await
}

fn endpoint(row: &Row) -> Result<Endpoint> {
    let events: Vec<&str> = rows::get(row, 4)?;
    let in_order: bool = rows::get(row, 8)?;
    let plan: Option<&str> = rows::get(row, 9)?;
    Ok(Endpoint {
        tenant: rows::id(row, 0)?,
        id: rows::id(row, 1)?,
        name: rows::get(row, 2)?,
        url: rows::get(row, 3)?,
        events: events
            .iter()
            .map(|pattern| pattern.parse())
            .collect::<Result<_, _>>()
            .map_err(|error| corrupt(format!("an endpoint's event: {error}")))?,
        sealed_secret: rows::get(row, 5)?,
        profile: rows::get(row, 6)?,
        is_active: rows::get(row, 7)?,
        ordering: if in_order { Ordering::PerSubject } else { Ordering::BestEffort },
        plan: plan.map(retry_plan_codec::read).transpose()?,
        timeout: rows::maybe_span(row, 10)?,
        max_in_flight: rows::maybe_limit(row, 11)?,
        rate: rows::maybe_rate(row, 12)?,
        created_at: rows::time(row, 14)?,
        old_secrets: rotated_secrets_codec::read(rows::get(row, 15)?)?,
        sealed_headers: rows::get(row, 16)?,
        metadata: rows::get(row, 17)?,
        health: Health {
            failing_since: rows::maybe_time(row, 18)?,
            warned_at: rows::maybe_time(row, 19)?,
            disabled: match rows::get::<Option<i16>>(row, 20)? {
                None => None,
                Some(1) => Some(DisableReason::Gone),
                Some(2) => Some(DisableReason::Failing),
                Some(other) => return Err(corrupt(format!("no reason has the number {other}"))),
            },
        },
        updated_at: rows::time(row, 21)?,
        version: rows::get::<i64>(row, 22)? as u64,
        external_id: rows::get(row, 23)?,
    })
}
