//! The endpoints of tenants.

use async_trait::async_trait;
use gancho_domain::{
    DisableReason, Endpoint, EndpointId, Health, Ordering, Pattern, TenantScope, Time,
};
use gancho_store::{Endpoints, Result, StoreError, retry_plan_codec, rotated_secrets_codec};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::{
    SqliteStore,
    pauses::NO_LANE,
    rows,
    states::sql,
    transaction::Tx,
    tx_error::{TxError, corrupt},
};

const COLUMNS: &str = "id, tenant_id, name, url, events, sealed_secret, profile, is_active, \
    in_order, plan, timeout_us, max_in_flight, rate_count, rate_per_us, created_at, old_secrets, \
    sealed_headers, metadata, failing_since, warned_at, disabled, updated_at, version, external_id";

/// The values of an endpoint, as [`write`] binds them.
const VALUES: &str = "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, \
    ?18, ?19, ?20, ?21, ?22, ?23, ?24";

/// Replaces all columns of an existing endpoint but the key.
const REPLACE: &str = "SET (name, url, events, sealed_secret, profile, is_active, in_order, plan, \
    timeout_us, max_in_flight, rate_count, rate_per_us, created_at, old_secrets, sealed_headers, \
    metadata, failing_since, warned_at, disabled, updated_at, external_id) = (?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, \
    ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?24), version = version + 1";

/// An endpoint and the version of its tenant's; its largest columns have some pages.
const ROWS: usize = 4;
/// Counting this number of endpoints takes as long as writing a row.
const COUNTED_PER_ROW: usize = 128;

#[async_trait]
impl Endpoints for SqliteStore {
    async fn add_endpoint(
        &self,
        scope: TenantScope,
        endpoint: Endpoint,
        max_endpoints: Option<u32>,
    ) -> Result<bool> {
        let counted = max_endpoints.map_or(0, |max| max as usize / COUNTED_PER_ROW);
        self.write_more_for(Some(scope.tenant()), ROWS + counted, move |tx| {
            check_external_id(tx, scope, &endpoint)?;
            if let Some(max) = max_endpoints
                && count(tx, scope)? >= max
            {
                return Ok(false);
            }
            let sql = format!(
                "INSERT INTO endpoints ({COLUMNS}) VALUES ({VALUES}) ON CONFLICT DO NOTHING"
            );
            if write(tx, &sql, scope, &endpoint)? == 0 {
                return Err(StoreError::Taken(format!("the id {}", endpoint.id)).into());
            }
            Ok(true)
        })
        .await
    }

    async fn change_endpoint(&self, scope: TenantScope, endpoint: Endpoint) -> Result<bool> {
        self.write_for(Some(scope.tenant()), ROWS, move |tx| {
            check_external_id(tx, scope, &endpoint)?;
            let sql = format!(
                "UPDATE endpoints {REPLACE} WHERE id = ?1 AND tenant_id = ?2 AND version = ?23"
            );
            Ok(write(tx, &sql, scope, &endpoint)? == 1)
        })
        .await
    }

    async fn save_endpoint(&self, scope: TenantScope, endpoint: Endpoint) -> Result<()> {
        self.write_more_for(Some(scope.tenant()), ROWS, move |tx| {
            check_external_id(tx, scope, &endpoint)?;
            let sql = format!(
                "INSERT INTO endpoints ({COLUMNS}) VALUES ({VALUES})
                 ON CONFLICT (tenant_id, id) DO UPDATE {REPLACE}"
            );
            write(tx, &sql, scope, &endpoint).map(drop)
        })
        .await
    }

    async fn endpoint(&self, scope: TenantScope, id: EndpointId) -> Result<Option<Endpoint>> {
        self.read_for(Some(scope.tenant()), move |db| {
            let mut find = db.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM endpoints WHERE tenant_id = ?1 AND id = ?2"
            ))?;
            let mut found = find.query(params![scope.tenant().bytes(), id.bytes()])?;
            found.next()?.map(endpoint).transpose()
        })
        .await
    }

    async fn endpoint_by_external_id(
        &self,
        scope: TenantScope,
        external_id: &str,
    ) -> Result<Option<Endpoint>> {
        let external_id = external_id.to_owned();
        self.read_for(Some(scope.tenant()), move |db| {
            let mut find = db.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM endpoints WHERE tenant_id = ?1 AND external_id = ?2"
            ))?;
            let mut found = find.query(params![scope.tenant().bytes(), external_id])?;
            found.next()?.map(endpoint).transpose()
        })
        .await
    }

    async fn endpoints(&self, scope: TenantScope) -> Result<Vec<Endpoint>> {
        self.read_for(Some(scope.tenant()), move |db| {
            let mut list = db.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM endpoints WHERE tenant_id = ?1 ORDER BY id"
            ))?;
            let mut found = list.query([scope.tenant().bytes()])?;
            let mut endpoints = Vec::new();
            while let Some(row) = found.next()? {
                endpoints.push(endpoint(row)?);
            }
            Ok(endpoints)
        })
        .await
    }

    async fn newest_endpoints(
        &self,
        scope: TenantScope,
        before: Option<EndpointId>,
        max: usize,
    ) -> Result<Vec<Endpoint>> {
        let before = before.unwrap_or(EndpointId::from_bits(u128::MAX));
        self.read_list(Some(scope.tenant()), move |db| {
            let mut list = db.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM endpoints WHERE tenant_id = ?1 AND id < ?2
                 ORDER BY id DESC LIMIT ?3"
            ))?;
            let tenant = scope.tenant().bytes();
            let mut found = list.query(params![tenant, before.bytes(), max as i64])?;
            let mut endpoints = Vec::new();
            while let Some(row) = found.next()? {
                endpoints.push(endpoint(row)?);
            }
            Ok(endpoints)
        })
        .await
    }

    async fn endpoints_version(&self, scope: TenantScope) -> Result<u64> {
        self.read_for(Some(scope.tenant()), move |db| {
            let version: Option<i64> = db
                .prepare_cached("SELECT version FROM endpoint_versions WHERE tenant_id = ?1")?
                .query_row([scope.tenant().bytes()], |row| row.get(0))
                .optional()?;
            Ok(version.unwrap_or(0) as u64)
        })
        .await
    }

    async fn delete_endpoint(&self, scope: TenantScope, id: EndpointId) -> Result<bool> {
        self.write_for(Some(scope.tenant()), ROWS, move |tx| {
            let gone = tx
                .db
                .prepare_cached("DELETE FROM endpoints WHERE tenant_id = ?1 AND id = ?2")?
                .execute(params![scope.tenant().bytes(), id.bytes()])?;
            let lifted = tx
                .db
                .prepare_cached(sql!(
                    "DELETE FROM pauses WHERE lane = {NO_LANE} AND tenant_id = ?1 AND target_id = ?2"
                ))?
                .execute(params![scope.tenant().bytes(), id.bytes()])?;
            if lifted > 0 {
                tx.ring();
            }
            Ok(gone == 1)
        })
        .await
    }
}

/// Refuses an external id that another endpoint of the tenant has, before anything is written. This is safe
/// because there is only one writer.
fn check_external_id(tx: &Tx<'_>, scope: TenantScope, endpoint: &Endpoint) -> Result<(), TxError> {
    let Some(external_id) = &endpoint.external_id else { return Ok(()) };
    let mut find = tx.db.prepare_cached(
        "SELECT 1 FROM endpoints WHERE tenant_id = ?1 AND external_id = ?2 AND id <> ?3",
    )?;
    if find.exists(params![scope.tenant().bytes(), external_id, endpoint.id.bytes()])? {
        return Err(StoreError::Taken(format!("the external id `{external_id}`")).into());
    }
    Ok(())
}

fn count(tx: &Tx<'_>, scope: TenantScope) -> Result<u32, TxError> {
    Ok(tx
        .db
        .prepare_cached("SELECT count(*) FROM endpoints WHERE tenant_id = ?1")?
        .query_row([scope.tenant().bytes()], |row| row.get(0))?)
}

/// Returns endpoints of all tenants, newest first.
pub(crate) fn newest_of_all(
    db: &Connection,
    before: EndpointId,
    max: usize,
) -> Result<Vec<Endpoint>, TxError> {
    let mut list = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM endpoints INDEXED BY endpoints_by_id WHERE id < ?1
         ORDER BY id DESC LIMIT ?2"
    ))?;
    let mut found = list.query(params![before.bytes(), max as i64])?;
    let mut endpoints = Vec::new();
    while let Some(row) = found.next()? {
        endpoints.push(endpoint(row)?);
    }
    Ok(endpoints)
}

/// Runs a statement with an endpoint's values. Returns how many rows it wrote.
fn write(
    tx: &Tx<'_>,
    sql: &str,
    scope: TenantScope,
    endpoint: &Endpoint,
) -> Result<usize, TxError> {
    let patterns: Vec<String> = endpoint.events.iter().map(ToString::to_string).collect();
    let health = &endpoint.health;
    Ok(tx.db.prepare_cached(sql)?.execute(params![
        endpoint.id.bytes(),
        scope.tenant().bytes(),
        endpoint.name,
        endpoint.url,
        patterns.join("\n"),
        endpoint.sealed_secret,
        endpoint.profile,
        endpoint.is_active,
        endpoint.ordering == Ordering::PerSubject,
        endpoint.plan.as_ref().map(retry_plan_codec::write),
        endpoint.timeout.map(|timeout| timeout.as_micros() as i64),
        endpoint.max_in_flight,
        endpoint.rate.map(|rate| rate.count),
        endpoint.rate.map(|rate| rate.per.as_micros() as i64),
        endpoint.created_at.micros(),
        rotated_secrets_codec::write(&endpoint.old_secrets),
        endpoint.sealed_headers,
        endpoint.metadata,
        health.failing_since.map(Time::micros),
        health.warned_at.map(Time::micros),
        health.disabled.map(|why| match why {
            DisableReason::Gone => 1,
            DisableReason::Failing => 2,
        }),
        endpoint.updated_at.micros(),
        endpoint.version as i64,
        endpoint.external_id,
    ])?)
}

fn endpoint(row: &Row<'_>) -> Result<Endpoint, TxError> {
    let patterns: String = row.get(4)?;
    let events = patterns
        .lines()
        .map(|pattern| pattern.parse::<Pattern>().map_err(|error| corrupt(error.to_string())))
        .collect::<Result<_, _>>()?;
    Ok(Endpoint {
        id: rows::id(row, 0)?,
        tenant: rows::id(row, 1)?,
        name: row.get(2)?,
        url: row.get(3)?,
        events,
        sealed_secret: row.get(5)?,
        profile: row.get(6)?,
        is_active: row.get(7)?,
        ordering: if row.get(8)? { Ordering::PerSubject } else { Ordering::BestEffort },
        plan: row
            .get::<_, Option<String>>(9)?
            .as_deref()
            .map(retry_plan_codec::read)
            .transpose()?,
        timeout: rows::maybe_span(row, 10)?,
        max_in_flight: row.get(11)?,
        rate: rows::maybe_rate(row, 12)?,
        created_at: rows::time(row, 14)?,
        old_secrets: rotated_secrets_codec::read(&row.get::<_, String>(15)?)?,
        sealed_headers: row.get(16)?,
        metadata: row.get(17)?,
        health: Health {
            failing_since: rows::maybe_time(row, 18)?,
            warned_at: rows::maybe_time(row, 19)?,
            disabled: match row.get::<_, Option<i64>>(20)? {
                None => None,
                Some(1) => Some(DisableReason::Gone),
                Some(2) => Some(DisableReason::Failing),
                Some(other) => return Err(corrupt(format!("no reason has the number {other}"))),
            },
        },
        updated_at: rows::time(row, 21)?,
        version: row.get::<_, i64>(22)? as u64,
        external_id: row.get(23)?,
    })
}
