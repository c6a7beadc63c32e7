//! Lists over all tenants. Events and endpoints have an index by id; deliveries are found by their time
//! buckets, which name the tenants with deliveries in a period.

use async_trait::async_trait;
use gancho_domain::{Endpoint, EndpointId, EventId, ReplayId, TenantId};
use gancho_store::{
    AllTenants, DeliveryFilter, DeliveryRow, EventFilter, EventRow, ListOrder, Page, PageRequest,
    ReplayJob, Result, Suppression, TenantRow,
};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    PostgresStore,
    delivery_list::{OUTCOME, add_filter, max_scanned, parcel_columns, read_place, write_place},
    rows::{self, DELIVERY, uuid},
    scan::{Ids, RowScan, ScanBudget, Step, page},
    session::{Session, query},
    tx_error::store_error,
    where_clause::Conditions,
};

#[async_trait]
impl AllTenants for PostgresStore {
    async fn all_deliveries(
        &self,
        filter: DeliveryFilter,
        request: PageRequest,
    ) -> Result<Page<TenantRow<DeliveryRow>>> {
        let session = self.lists.next(None).await?;
        let ids = rows::ids_at(ListOrder::NewestFirst, filter.since, filter.until);
        let budget = ScanBudget::new(max_scanned(self.max_scanned, &filter), request.max);
        let after = request.after.as_ref().map_or(ids.start(), |place| ids.from(read_place(place)));
        let row_scan = AllDeliveries { session: &session, filter: &filter, ids };
        let (found, next) = page(&row_scan, request.max, budget, after).await?;
        Ok(Page { rows: read(&session, &found).await?, next: next.map(write_place) })
    }

    async fn all_events(
        &self,
        filter: EventFilter,
        request: PageRequest,
    ) -> Result<Page<TenantRow<EventRow>>> {
        self.page_of_events(None, &filter, &request.in_order(ListOrder::NewestFirst)).await
    }

    async fn all_endpoints(&self, before: Option<EndpointId>, max: usize) -> Result<Vec<Endpoint>> {
        self.newest_of_all_endpoints(before, max).await
    }

    async fn all_suppressions(
        &self,
        after: Option<(TenantId, String)>,
        max: usize,
    ) -> Result<Vec<TenantRow<Suppression>>> {
        self.list_all_suppressions(after, max).await
    }

    async fn all_replays(&self, before: Option<ReplayId>, max: usize) -> Result<Vec<ReplayJob>> {
        self.newest_of_all_replays(before, max).await
    }

    async fn external_id_owners(&self, external_id: &str, max: usize) -> Result<Vec<TenantId>> {
        let session = self.lists.next(None).await?;
        // The index begins with the tenant, so each tenant costs one look-up in it.
        let sql = "select t.tenant_id from tenants t where exists (
                 select from parcels p where p.tenant_id = t.tenant_id and p.external_id = $1)
             limit $2";
        let found = query(&session, sql, &[&external_id.as_bytes(), &(max as i64)]).await;
        found.map_err(store_error)?.iter().map(|row| rows::id(row, 0)).collect()
    }

    async fn event_owner(&self, id: EventId) -> Result<Option<TenantId>> {
        let session = self.session_of(None).await?;
        let sql = "select tenant_id from parcels where id = $1 limit 1";
        let found = query(&session, sql, &[&uuid(id)]).await.map_err(store_error)?;
        found.first().map(|row| rows::id(row, 0)).transpose()
    }

    async fn endpoint_owner(&self, id: EndpointId) -> Result<Option<TenantId>> {
        let session = self.session_of(None).await?;
        let sql = "select tenant_id from endpoints where id = $1 limit 1";
        let found = query(&session, sql, &[&uuid(id)]).await.map_err(store_error)?;
        found.first().map(|row| rows::id(row, 0)).transpose()
    }
}

struct AllDeliveries<'a> {
    session: &'a Session,
    filter: &'a DeliveryFilter,
    ids: Ids,
}

/// A tenant and one of its deliveries.
type Key = (Uuid, Uuid);

impl RowScan for AllDeliveries<'_> {
    type Row = Key;
    type Place = Uuid;

    async fn step(&self, after: Uuid, budget: i64) -> Result<Step<Key, Uuid>> {
        let (sql, conditions) = scan_sql(self.filter, self.ids, after, budget);
        let found = query(self.session, &sql, &conditions.values()).await.map_err(store_error)?;
        let mut step = Step { found: Vec::new(), reached: None };
        for row in &found {
            if let Some(id) = rows::get::<Option<Uuid>>(row, 0)? {
                step.found.push(((rows::get(row, 2)?, id), id));
            }
            if let Some(reached) = rows::get(row, 1)? {
                step.reached = Some(reached);
            }
        }
        Ok(step)
    }
}

/// Returns one step as SQL with its values. Its rows have the id of a match, or the position that was
/// reached.
pub(crate) fn scan_sql(
    filter: &DeliveryFilter,
    ids: Ids,
    after: Uuid,
    budget: i64,
) -> (String, Conditions) {
    let mut conditions = Conditions::default();
    add_filter(&mut conditions, filter, "d.tenant_id");
    let fits = conditions.sql();
    let mut conditions = conditions.without_conditions();
    let (after, budget) = (conditions.value(after), conditions.value(budget));
    let edge = conditions.value(ids.edge());
    let of_parcel = match parcel_columns(filter) {
        Some(columns) => format!(
            "(select {columns} from parcels p
                where p.tenant_id = d.tenant_id and p.id = d.parcel_id offset 0)"
        ),
        None => "(select)".to_owned(),
    };
    let sql = format!(
        "with looked as materialized (
             select * from deliveries_of_all({after}, {edge}, {budget}::bigint::int))
         select case when f.fits then d.id end, d.reached, d.tenant_id
         from looked d cross join lateral (
             select exists (select from {of_parcel} p where {fits}) as fits offset 0) f
         where (f.fits and d.id is not null) or d.reached is not null order by d.place"
    );
    (sql, conditions)
}

/// Reads rows in the order of the keys.
async fn read(session: &Session, keys: &[Key]) -> Result<Vec<TenantRow<DeliveryRow>>> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let (tenants, ids): (Vec<Uuid>, Vec<Uuid>) = keys.iter().copied().unzip();
    let sql = format!(
        "select {DELIVERY}, k.tenant_id
         from unnest($1::uuid[], $2::uuid[]) with ordinality as k(tenant_id, id, place)
         cross join lateral (select * from deliveries d
             where d.tenant_id = k.tenant_id and d.id = k.id offset 0) d
         cross join lateral (select p.id, p.event_type, p.external_id, p.is_test from parcels p
             where p.tenant_id = k.tenant_id and p.id = d.parcel_id offset 0) p
         {OUTCOME} order by k.place"
    );
    let found = query(session, &sql, &[&tenants, &ids]).await.map_err(store_error)?;
    let owned = |row: &Row| Ok(TenantRow { tenant: rows::id(row, 18)?, row: rows::delivery(row)? });
    found.iter().map(owned).collect()
}
