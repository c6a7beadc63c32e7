//! Tenants' URLs.

use std::time::Duration;

use async_trait::async_trait;
use gancho_domain::{Endpoint, EndpointId, Ordering, Pattern, Rate, TenantScope};
use gancho_store::{Endpoints, Result, plan_text};
use rusqlite::{Row, params};

use crate::{
    SqliteStore,
    fault::{Fault, corrupt},
    rows,
};

const COLUMNS: &str = "id, tenant_id, name, url, events, sealed_secret, profile, is_active, \
    in_order, plan, timeout_us, max_in_flight, rate_count, rate_per_us, created_at";

#[async_trait]
impl Endpoints for SqliteStore {
    async fn save_endpoint(&self, scope: TenantScope, endpoint: Endpoint) -> Result<()> {
        self.write_more(move |tx| {
            let patterns: Vec<String> = endpoint.events.iter().map(ToString::to_string).collect();
            tx.db
                .prepare_cached(&format!(
                    "INSERT OR REPLACE INTO endpoints ({COLUMNS})
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"
                ))?
                .execute(params![
                    endpoint.id.bytes(),
                    scope.tenant().bytes(),
                    endpoint.name,
                    endpoint.url,
                    patterns.join("\n"),
                    endpoint.sealed_secret,
                    endpoint.profile,
                    endpoint.is_active,
                    endpoint.ordering == Ordering::PerSubject,
                    endpoint.plan.as_ref().map(plan_text::write),
                    endpoint.timeout.map(|timeout| timeout.as_micros() as i64),
                    endpoint.max_in_flight,
                    endpoint.rate.map(|rate| rate.count),
                    endpoint.rate.map(|rate| rate.per.as_micros() as i64),
                    endpoint.created_at.micros(),
                ])?;
            Ok(())
        })
        .await
    }

    async fn endpoint(&self, scope: TenantScope, id: EndpointId) -> Result<Option<Endpoint>> {
        self.read(move |db| {
            let mut find = db.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM endpoints WHERE tenant_id = ?1 AND id = ?2"
            ))?;
            let mut found = find.query(params![scope.tenant().bytes(), id.bytes()])?;
            found.next()?.map(endpoint).transpose()
        })
        .await
    }

    async fn endpoints(&self, scope: TenantScope) -> Result<Vec<Endpoint>> {
        self.read(move |db| {
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

    async fn delete_endpoint(&self, scope: TenantScope, id: EndpointId) -> Result<bool> {
        self.write(move |tx| {
            let gone = tx
                .db
                .prepare_cached("DELETE FROM endpoints WHERE tenant_id = ?1 AND id = ?2")?
                .execute(params![scope.tenant().bytes(), id.bytes()])?;
            Ok(gone == 1)
        })
        .await
    }
}

fn endpoint(row: &Row<'_>) -> Result<Endpoint, Fault> {
    let patterns: String = row.get(4)?;
    let events = patterns
        .lines()
        .map(|pattern| pattern.parse::<Pattern>().map_err(|error| corrupt(error.to_string())))
        .collect::<Result<_, _>>()?;
    let micros = |column| -> Result<Option<Duration>, Fault> {
        Ok(row.get::<_, Option<i64>>(column)?.map(|micros| Duration::from_micros(micros as u64)))
    };
    let rate = row.get::<_, Option<u32>>(12)?.zip(micros(13)?);
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
        plan: row.get::<_, Option<String>>(9)?.as_deref().map(plan_text::read).transpose()?,
        timeout: micros(10)?,
        max_in_flight: row.get(11)?,
        rate: rate.map(|(count, per)| Rate { count, per }),
        created_at: rows::time(row, 14)?,
    })
}
