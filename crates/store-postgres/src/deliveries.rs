//! Reading the log, and arming a delivery anew.

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{DeliveryId, EventId, Id, Lane, ParcelId, State, Status, TenantScope, Time};
use gancho_store::{
    Deliveries, DeliveryFilter, DeliveryRow, DeliveryView, EventFilter, EventRow, EventView,
    NewDelivery, Page, PageRequest, Rearmed, Result,
};
use uuid::Uuid;

use crate::{
    PostgresStore,
    fault::{corrupt, store_error},
    rows::{self, ATTEMPT, DELIVERY, PARCEL, uuid},
    session::query,
    terms::Terms,
};

#[async_trait]
impl Deliveries for PostgresStore {
    async fn event(&self, scope: TenantScope, id: EventId) -> Result<Option<EventView>> {
        let session = self.session().await?;
        let sql = format!("select {PARCEL} from parcels p where p.tenant_id = $1 and p.id = $2");
        let found = query(&session, &sql, &[&uuid(scope.tenant()), &uuid(id)]).await;
        let found = found.map_err(store_error)?;
        let Some(row) = found.first() else {
            return Ok(None);
        };
        let (parcel, number) = rows::parcel(row, 0)?;
        drop(session);
        let mut terms = of_parcels(scope);
        terms.add_plain("d.id = any (p.deliveries)");
        terms.add("p.id = ?", uuid(id));
        let deliveries = self.list(&from_parcels(&terms, "order by d.id"), &terms).await?;
        Ok(Some(EventView { parcel, number, deliveries }))
    }

    async fn delivery(&self, scope: TenantScope, id: DeliveryId) -> Result<Option<DeliveryView>> {
        let mut terms = Terms::default();
        terms.add("d.tenant_id = ?", uuid(scope.tenant()));
        terms.add("d.id = ?", uuid(id));
        let found = self.list(&from_deliveries(&terms, ""), &terms).await?;
        let Some(row) = found.into_iter().next() else {
            return Ok(None);
        };
        let session = self.session().await?;
        let tenant = uuid(scope.tenant());
        let sql = format!("select {PARCEL} from parcels p where p.tenant_id = $1 and p.id = $2");
        let found = query(&session, &sql, &[&tenant, &uuid(row.event)]).await;
        let found = found.map_err(store_error)?;
        let parcel = found.first().ok_or_else(|| corrupt("a delivery of nothing"))?;
        let (parcel, number) = rows::parcel(parcel, 0)?;
        let sql = format!(
            "select {ATTEMPT} from attempts where tenant_id = $1 and delivery_id = $2
             order by number"
        );
        let attempts = query(&session, &sql, &[&tenant, &uuid(id)]).await;
        let attempts = attempts.map_err(store_error)?;
        Ok(Some(DeliveryView {
            row,
            parcel,
            number,
            attempts: attempts.iter().map(rows::attempt).collect::<Result<_>>()?,
        }))
    }

    async fn deliveries(
        &self,
        scope: TenantScope,
        filter: DeliveryFilter,
        page: PageRequest,
    ) -> Result<Page<DeliveryRow>> {
        let (sql, terms) = listed(scope, &filter, &page);
        let mut rows = self.list(&sql, &terms).await?;
        let more = rows.len() > page.most;
        rows.truncate(page.most);
        let next = rows.last().filter(|_| more).map(|last| write_place(last.id));
        Ok(Page { rows, next })
    }

    async fn events(
        &self,
        scope: TenantScope,
        filter: EventFilter,
        page: PageRequest,
    ) -> Result<Page<EventRow>> {
        self.page_of_events(scope, &filter, &page).await
    }

    async fn openings(
        &self,
        scope: TenantScope,
        ids: Vec<ParcelId>,
        most_bytes: usize,
    ) -> Result<Vec<(ParcelId, Bytes)>> {
        let session = self.session().await?;
        let ids: Vec<Uuid> = ids.into_iter().map(uuid).collect();
        let most = i32::try_from(most_bytes).unwrap_or(i32::MAX);
        // Bodies are not compressed, so that only the pieces asked for are read.
        let sql = "select p.id, substring(p.body from 1 for $3)
            from unnest($2::uuid[]) with ordinality as k(id, place)
            cross join lateral (select p.id, p.body from parcels p
                where p.tenant_id = $1 and p.id = k.id offset 0) p
            order by k.place";
        let found = query(&session, sql, &[&uuid(scope.tenant()), &ids, &most]).await;
        let found = found.map_err(store_error)?;
        found.iter().map(|row| Ok((rows::id(row, 0)?, rows::bytes(row, 1)?))).collect()
    }

    async fn send_again(
        &self,
        scope: TenantScope,
        event: EventId,
        deliveries: Vec<NewDelivery>,
    ) -> Result<bool> {
        let sent = self.add_deliveries(scope, event, &deliveries).await?;
        if sent {
            self.bells.ring_all();
        }
        Ok(sent)
    }

    async fn rearm(&self, scope: TenantScope, id: DeliveryId, now: Time) -> Result<Rearmed> {
        let session = self.session().await?;
        // The row is read as it was before, and locked, so that both parts see the same.
        let found = query(
            &session,
            "with found as materialized (
               select tenant_id, id, state from deliveries
               where tenant_id = $1 and id = $2 for update
             ), armed as (
               update deliveries d set state = 2, owner = 0, due_at = $3,
                 attempts_before = case when d.state >= 5 then d.attempts else d.attempts_before end,
                 lost_leases = 0
               from found f
               where d.tenant_id = f.tenant_id and d.id = f.id and f.state <> 3
             )
             select state from found",
            &[&uuid(scope.tenant()), &uuid(id), &now.micros()],
        )
        .await
        .map_err(store_error)?;
        let Some(row) = found.first() else {
            return Ok(Rearmed::Unknown);
        };
        if rows::state(row, 0)? == State::Leased {
            return Ok(Rearmed::InFlight);
        }
        self.bells.ring_all();
        Ok(Rearmed::Due)
    }
}

impl PostgresStore {
    async fn list(&self, sql: &str, terms: &Terms) -> Result<Vec<DeliveryRow>> {
        let session = self.session().await?;
        let found = query(&session, sql, &terms.values()).await;
        let found = found.map_err(store_error)?;
        found.iter().map(rows::delivery).collect()
    }
}

/// A page of deliveries, as SQL and its values.
pub(crate) fn listed(
    scope: TenantScope,
    filter: &DeliveryFilter,
    page: &PageRequest,
) -> (String, Terms) {
    // A parcel names its deliveries, so what is asked of parcels begins with them.
    let by_parcel = filter.event.is_some() || filter.external_id.is_some();
    let by_span = !by_parcel && filter.status != Some(Status::Failed);
    let mut terms = of_parcels(scope);
    terms.add_if("p.id = ?", filter.event.map(uuid));
    let name = filter.external_id.as_ref();
    terms.add_if("p.external_id = ?", name.map(|name| name.as_bytes().to_vec()));
    terms.add_if("d.target_id = ?", filter.endpoint.map(uuid));
    terms.add_if("d.lane = ?", filter.lane.map(Lane::number));
    terms.add_if("p.event_type = ?", filter.event_type.clone());
    terms.add_if("d.created_at >= ?", filter.since.map(Time::micros));
    terms.add_if("d.created_at < ?", filter.until.map(Time::micros));
    terms.add_if("d.id < ?", page.after.as_ref().map(read_place));
    if let Some(status) = filter.status {
        terms.add_plain(having(status));
    }
    let most = terms.value(page.most as i64 + 1);
    let tail = format!("order by d.id desc limit {most}");
    if by_parcel {
        (from_parcels(&terms, &tail), terms)
    } else if by_span && (filter.endpoint.is_some() || filter.lane.is_some()) {
        from_spans(terms, filter, page, &most)
    } else {
        (from_deliveries(&terms, &tail), terms)
    }
}

/// One tenant's, in every table that is joined.
fn of_parcels(scope: TenantScope) -> Terms {
    let mut terms = Terms::default();
    terms.add("p.tenant_id = ?", uuid(scope.tenant()));
    terms.add_plain("d.tenant_id = $1");
    terms
}

const OUTCOME: &str = "
    left join attempts a on a.tenant_id = d.tenant_id and a.delivery_id = d.id
        and a.number = d.attempts
    left join dead_letters l on l.tenant_id = d.tenant_id and l.delivery_id = d.id
        and d.state = 6";

fn from_deliveries(terms: &Terms, tail: &str) -> String {
    format!(
        "select {DELIVERY} from deliveries d
         join parcels p on p.tenant_id = d.tenant_id and p.id = d.parcel_id
         {OUTCOME} where {} {tail}",
        terms.sql()
    )
}

/// A target's and a lane's deliveries lie in their spans (see `spans.rs`), several targets' in the same.
/// Those that failed have an index of their own.
fn from_spans(
    terms: Terms,
    filter: &DeliveryFilter,
    page: &PageRequest,
    most: &str,
) -> (String, Terms) {
    let wheres = terms.sql();
    let mut within = terms.anew();
    within.add_plain("s.tenant_id = $1");
    within.add_if("s.target_id = ?", filter.endpoint.map(uuid));
    within.add_if("s.lane = ?", filter.lane.map(Lane::number));
    within.add_if("s.from_id <= ?", page.after.as_ref().map(read_place));
    within.add_if("s.to_id > ?", filter.since.map(rows::first_id_at));
    within.add_if("s.from_id <= ?", filter.until.map(rows::last_id_at));
    let sql = format!(
        "select {DELIVERY} from (
           select distinct on (s.from_id) s.from_id, s.to_id from spans s where {}
           order by s.from_id desc) s
         join deliveries d on d.tenant_id = $1 and d.id >= s.from_id and d.id < s.to_id
         join parcels p on p.tenant_id = d.tenant_id and p.id = d.parcel_id
         {OUTCOME} where {wheres} order by s.from_id desc, d.id desc limit {most}",
        within.sql()
    );
    (sql, within)
}

fn from_parcels(terms: &Terms, tail: &str) -> String {
    format!(
        "select {DELIVERY} from parcels p cross join lateral unnest(p.deliveries) as n(id)
         join deliveries d on d.tenant_id = p.tenant_id and d.id = n.id
         {OUTCOME} where {} {tail}",
        terms.sql()
    )
}

const fn having(status: Status) -> &'static str {
    match status {
        Status::Pending => "d.state in (2, 3, 4) and d.attempts = 0",
        Status::Retrying => "d.state in (2, 3, 4) and d.attempts > 0",
        Status::Delivered => "d.state = 5",
        Status::Failed => "d.state = 6",
    }
}

/// A list in order of ids goes on after an id.
pub(crate) fn write_place<K>(last: Id<K>) -> [u8; 32] {
    let mut place = [0; 32];
    place[..16].copy_from_slice(&last.bytes());
    place
}

pub(crate) fn read_place(place: &[u8; 32]) -> Uuid {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&place[..16]);
    Uuid::from_bytes(bytes)
}
