//! Tenants' URLs.

use std::time::Duration;

use async_trait::async_trait;
use gancho_domain::{Endpoint, EndpointId, Ordering, Pattern, Rate, TenantScope};
use gancho_store::{Endpoints, Result, plan_text};
use tokio_postgres::Row;

use crate::{
    PostgresStore,
    fault::{corrupt, store_error},
    rows::{self, text, uuid},
    session::{execute, query},
};

const COLUMNS: &str = "tenant_id, id, name, url, events, sealed_secret, profile, is_active, \
    in_order, plan, timeout_us, max_in_flight, rate_count, rate_per_us, created_at";

#[async_trait]
impl Endpoints for PostgresStore {
    async fn save_endpoint(&self, scope: TenantScope, endpoint: Endpoint) -> Result<()> {
        let session = self.session().await?;
        let events: Vec<String> = endpoint.events.iter().map(Pattern::to_string).collect();
        let sql = format!(
            "insert into endpoints ({COLUMNS})
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
             on conflict (tenant_id, id) do update
             set name = excluded.name, url = excluded.url, events = excluded.events,
                 sealed_secret = excluded.sealed_secret, profile = excluded.profile,
                 is_active = excluded.is_active, in_order = excluded.in_order,
                 plan = excluded.plan, timeout_us = excluded.timeout_us,
                 max_in_flight = excluded.max_in_flight, rate_count = excluded.rate_count,
                 rate_per_us = excluded.rate_per_us, created_at = excluded.created_at"
        );
        execute(
            &session,
            &sql,
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
                &endpoint.plan.as_ref().map(plan_text::write),
                &endpoint.timeout.map(micros),
                &endpoint.max_in_flight.map(i64::from),
                &endpoint.rate.map(|rate| i64::from(rate.count)),
                &endpoint.rate.map(|rate| micros(rate.per)),
                &endpoint.created_at.micros(),
            ],
        )
        .await
        .map_err(store_error)?;
        Ok(())
    }

    async fn endpoint(&self, scope: TenantScope, id: EndpointId) -> Result<Option<Endpoint>> {
        let session = self.session().await?;
        let sql = format!("select {COLUMNS} from endpoints where tenant_id = $1 and id = $2");
        let found = query(&session, &sql, &[&uuid(scope.tenant()), &uuid(id)]).await;
        found.map_err(store_error)?.first().map(endpoint).transpose()
    }

    async fn endpoints(&self, scope: TenantScope) -> Result<Vec<Endpoint>> {
        let session = self.session().await?;
        let sql = format!("select {COLUMNS} from endpoints where tenant_id = $1 order by id");
        let found = query(&session, &sql, &[&uuid(scope.tenant())]).await;
        found.map_err(store_error)?.iter().map(endpoint).collect()
    }

    async fn delete_endpoint(&self, scope: TenantScope, id: EndpointId) -> Result<bool> {
        let session = self.session().await?;
        let sql = "delete from endpoints where tenant_id = $1 and id = $2";
        let gone = execute(&session, sql, &[&uuid(scope.tenant()), &uuid(id)]).await;
        Ok(gone.map_err(store_error)? > 0)
    }
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

fn endpoint(row: &Row) -> Result<Endpoint> {
    let events: Vec<&str> = rows::get(row, 4)?;
    let span = |column| -> Result<Option<Duration>> {
        let micros: Option<i64> = rows::get(row, column)?;
        Ok(micros.map(|micros| Duration::from_micros(micros.max(0) as u64)))
    };
    let number = |column| -> Result<Option<u32>> {
        let number: Option<i64> = rows::get(row, column)?;
        let number = number.map(u32::try_from).transpose();
        number.map_err(|_| corrupt("an endpoint's limit is out of range"))
    };
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
        plan: plan.map(plan_text::read).transpose()?,
        timeout: span(10)?,
        max_in_flight: number(11)?,
        rate: number(12)?.zip(span(13)?).map(|(count, per)| Rate { count, per }),
        created_at: rows::time(row, 14)?,
    })
}
