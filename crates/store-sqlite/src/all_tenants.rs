//! Lists over all tenants. Rows are in order of time, so a page walks the table itself.

use async_trait::async_trait;
use gancho_domain::{Endpoint, EndpointId, EventId, ReplayId, TenantId};
use gancho_store::{
    AllTenants, DeliveryFilter, DeliveryRow, EventFilter, EventRow, ListOrder, Page, PageRequest,
    ReplayJob, Result, Suppression, TenantRow,
};
use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    SqliteStore, deliveries, endpoints, events, replays,
    rows::{self, seq},
    scan::ScanBudget,
    suppressions,
    tx_error::TxError,
};

/// One look-up in the tree for each tenant; the buffer has no index and is read completely.
const OWNERS_OF_EXTERNAL_ID: &str = "
    SELECT t.id FROM tenants t WHERE EXISTS (
      SELECT 1 FROM external_ids n WHERE n.tenant_id = t.id AND n.external_id = ?1
        AND EXISTS (SELECT 1 FROM parcels q WHERE q.seq = n.parcel))
    UNION
    SELECT n.tenant_id FROM external_lately n WHERE n.external_id = ?1
      AND EXISTS (SELECT 1 FROM tenants t WHERE t.id = n.tenant_id)
      AND EXISTS (SELECT 1 FROM parcels q WHERE q.seq = n.parcel)
    LIMIT ?2";

#[async_trait]
impl AllTenants for SqliteStore {
    async fn all_deliveries(
        &self,
        filter: DeliveryFilter,
        page: PageRequest,
    ) -> Result<Page<TenantRow<DeliveryRow>>> {
        let mut budget = ScanBudget::new(self.max_scanned);
        let page = page.in_order(ListOrder::NewestFirst);
        self.read_list(None, move |db| {
            let found = deliveries::page_of_all(db, &filter, &page, &mut budget)?;
            with_tenants(found, |row| owner(db, "deliveries", seq(row.id)))
        })
        .await
    }

    async fn all_events(
        &self,
        filter: EventFilter,
        page: PageRequest,
    ) -> Result<Page<TenantRow<EventRow>>> {
        let mut budget = ScanBudget::new(self.max_scanned);
        let page = page.in_order(ListOrder::NewestFirst);
        self.read_list(None, move |db| {
            let found = events::page_of(db, None, &filter, &page, &mut budget)?;
            with_tenants(found, |row| owner(db, "parcels", seq(row.id)))
        })
        .await
    }

    async fn all_endpoints(&self, before: Option<EndpointId>, max: usize) -> Result<Vec<Endpoint>> {
        let before = before.unwrap_or(EndpointId::from_bits(u128::MAX));
        self.read_list(None, move |db| endpoints::newest_of_all(db, before, max)).await
    }

    async fn all_suppressions(
        &self,
        after: Option<(TenantId, String)>,
        max: usize,
    ) -> Result<Vec<TenantRow<Suppression>>> {
        self.read_list(None, move |db| suppressions::of_all(db, after, max)).await
    }

    async fn all_replays(&self, before: Option<ReplayId>, max: usize) -> Result<Vec<ReplayJob>> {
        let before = before.unwrap_or(ReplayId::from_bits(u128::MAX));
        self.read_list(None, move |db| replays::newest_of_all(db, before, max)).await
    }

    async fn external_id_owners(&self, external_id: &str, max: usize) -> Result<Vec<TenantId>> {
        let external_id = external_id.to_owned();
        self.read_list(None, move |db| {
            let mut find = db.prepare_cached(OWNERS_OF_EXTERNAL_ID)?;
            let mut found = find.query(params![external_id, max as i64])?;
            let mut owners = Vec::new();
            while let Some(row) = found.next()? {
                owners.push(rows::id(row, 0)?);
            }
            Ok(owners)
        })
        .await
    }

    async fn event_owner(&self, id: EventId) -> Result<Option<TenantId>> {
        self.read(move |db| {
            let mut find =
                db.prepare_cached("SELECT tenant_id FROM parcels WHERE seq = ?1 AND id = ?2")?;
            let mut found = find.query(params![seq(id), id.bytes()])?;
            found.next()?.map(|row| rows::id(row, 0)).transpose()
        })
        .await
    }

    async fn endpoint_owner(&self, id: EndpointId) -> Result<Option<TenantId>> {
        self.read(move |db| {
            let mut find = db.prepare_cached("SELECT tenant_id FROM endpoints WHERE id = ?1")?;
            let mut found = find.query([id.bytes()])?;
            found.next()?.map(|row| rows::id(row, 0)).transpose()
        })
        .await
    }
}

/// Leaves out rows that were removed since they were read.
fn with_tenants<T>(
    page: Page<T>,
    owner: impl Fn(&T) -> Result<Option<TenantId>, TxError>,
) -> Result<Page<TenantRow<T>>, TxError> {
    let mut rows = Vec::with_capacity(page.rows.len());
    for row in page.rows {
        if let Some(tenant) = owner(&row)? {
            rows.push(TenantRow { tenant, row });
        }
    }
    Ok(Page { rows, next: page.next })
}

fn owner(db: &Connection, table: &str, row: i64) -> Result<Option<TenantId>, TxError> {
    let mut find = db.prepare_cached(&format!("SELECT tenant_id FROM {table} WHERE seq = ?1"))?;
    find.query_row([row], |row| Ok(rows::id(row, 0))).optional()?.transpose()
}
