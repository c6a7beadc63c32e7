//! The events of a tenant or of all tenants, newest first or oldest first. Ids begin with their time, so the
//! key of the table has the order. Events that matched no endpoint, and events with an external id, have
//! their own index.

use std::collections::HashMap;

use gancho_domain::{TenantScope, Time};
use gancho_store::{EventFilter, EventOutline, EventRow, Page, PageRequest, Result, TenantRow};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    PostgresStore,
    deliveries::{from_parcels, list, of_parcels},
    delivery_list::{read_place, write_place},
    rows::{self, uuid},
    scan::{Ids, RowScan, ScanBudget, Step, page},
    session::{Session, query},
    tx_error::store_error,
    where_clause::Conditions,
};

/// The columns of [`event`].
const EVENT: &str = "p.id, p.event_type, p.subject, p.external_id, p.number, p.is_test, \
    cardinality(p.deliveries), p.created_at";

impl PostgresStore {
    pub(crate) async fn page_of_events(
        &self,
        scope: Option<TenantScope>,
        filter: &EventFilter,
        request: &PageRequest,
    ) -> Result<Page<TenantRow<EventRow>>> {
        let session = self.lists.next(scope.map(TenantScope::tenant)).await?;
        let budget = ScanBudget::new(self.max_scanned, request.max);
        let ids = rows::ids_at(request.order, filter.since, filter.until);
        let after = request.after.as_ref().map_or(ids.start(), |place| ids.from(read_place(place)));
        let events = Events { session: &session, scope, filter, ids };
        let (rows, next) = page(&events, request.max, budget, after).await?;
        Ok(Page { rows, next: next.map(write_place) })
    }
}

impl PostgresStore {
    /// Returns events with the sizes of their bodies. Bodies are not compressed, so their sizes are known
    /// without reading them.
    pub(crate) async fn outlines(
        &self,
        scope: TenantScope,
        ids: Vec<Uuid>,
    ) -> Result<Vec<EventOutline>> {
        let session = self.lists.next(Some(scope.tenant())).await?;
        let sql = format!(
            "select {EVENT}, octet_length(p.body)
             from unnest($2::uuid[]) with ordinality as k(id, place)
             cross join lateral (select * from parcels p
                 where p.tenant_id = $1 and p.id = k.id offset 0) p
             order by k.place"
        );
        let found = query(&session, &sql, &[&uuid(scope.tenant()), &ids]).await;
        let found = found.map_err(store_error)?;
        let mut conditions = of_parcels(scope);
        conditions.add("p.id = any (?)", ids);
        let mut deliveries = HashMap::<_, Vec<_>>::new();
        for row in list(&session, &from_parcels(&conditions, "order by d.id"), &conditions).await? {
            deliveries.entry(row.event).or_default().push(row);
        }
        let outline = |found: &Row| {
            let row = event(found)?;
            let deliveries = deliveries.get(&row.id).cloned().unwrap_or_default();
            Ok(EventOutline { row, size: rows::count(found, 8)? as usize, deliveries })
        };
        found.iter().map(outline).collect()
    }
}

struct Events<'a> {
    session: &'a Session,
    /// `None`: of all tenants.
    scope: Option<TenantScope>,
    filter: &'a EventFilter,
    ids: Ids,
}

impl RowScan for Events<'_> {
    type Row = TenantRow<EventRow>;
    type Place = Uuid;

    async fn step(&self, after: Uuid, budget: i64) -> Result<Step<TenantRow<EventRow>, Uuid>> {
        let (sql, conditions) = scan_sql(self.scope, self.filter, self.ids, after, budget);
        let found = query(self.session, &sql, &conditions.values()).await.map_err(store_error)?;
        let mut step = Step { found: Vec::new(), reached: None };
        for row in &found {
            let id: Uuid = rows::get(row, 0)?;
            if rows::get(row, 8)? {
                let row = TenantRow { tenant: rows::id(row, 10)?, row: event(row)? };
                step.found.push((row, id));
            }
            if rows::get(row, 9)? {
                step.reached = Some(id);
            }
        }
        Ok(step)
    }
}

/// Returns one step as SQL with its values: the matches, and the last scanned row if there may be more.
pub(crate) fn scan_sql(
    scope: Option<TenantScope>,
    filter: &EventFilter,
    ids: Ids,
    after: Uuid,
    budget: i64,
) -> (String, Conditions) {
    let mut conditions = Conditions::default();
    conditions.add("p.kind = ?", filter.kind.number());
    conditions.add_if("p.event_type = ?", filter.event_type.clone());
    conditions.add_if("p.created_at >= ?", filter.since.map(Time::micros));
    conditions.add_if("p.created_at < ?", filter.until.map(Time::micros));
    let fits = conditions.sql();
    let mut within = conditions.without_conditions();
    within.add_if("p.tenant_id = ?", scope.map(|scope| uuid(scope.tenant())));
    let (after, edge) = (within.value(after), within.value(ids.edge()));
    within.add_plain(&ids.within("p.id", &after, &edge));
    let name = filter.external_id.as_ref();
    within.add_if("p.external_id = ?", name.map(|name| name.as_bytes().to_vec()));
    if filter.is_unmatched {
        within.add_plain("p.deliveries = '{}'");
    }
    let budget = within.value(budget);
    let sql = format!(
        "select {EVENT}, p.fits, p.place = {budget}, p.tenant_id from (
           select p.*, row_number() over (order by p.id {word}) as place from (
             select p.id, p.event_type, p.subject, p.external_id, p.number, p.is_test, p.deliveries,
               p.created_at, p.tenant_id, {fits} as fits
             from parcels p where {} order by p.id {word} limit {budget}) p) p
         where p.fits or p.place = {budget} order by p.place",
        within.sql(),
        word = ids.word()
    );
    (sql, within)
}

fn event(row: &Row) -> Result<EventRow> {
    Ok(EventRow {
        id: rows::id(row, 0)?,
        event_type: rows::get::<&str>(row, 1)?.into(),
        subject: rows::maybe_text(row, 2)?,
        external_id: rows::maybe_text(row, 3)?,
        number: rows::get::<Option<i64>>(row, 4)?.map(|number| number as u64),
        is_test: rows::get(row, 5)?,
        deliveries: u64::from(rows::count(row, 6)?),
        created_at: rows::time(row, 7)?,
    })
}
