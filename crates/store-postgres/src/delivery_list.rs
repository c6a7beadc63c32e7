//! Pages of a tenant's deliveries, newest first or oldest first.
//!
//! Deliveries of a lane or a target are found by its time buckets (see `time_buckets.rs`). Failed ones have
//! indexes of their own; those of an event are listed in its parcel. If the filter has a publisher's own id,
//! the list is ordered by event, and within it by delivery.

mod place;

use gancho_domain::{Lane, Status, TenantScope, Time};
use gancho_store::{
    DeliveryFilter, DeliveryRow, ListOrder, MAX_SEARCHED_BYTES, Page, PageRequest, Result,
};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::{
    PostgresStore,
    rows::{self, DELIVERY, uuid},
    scan::{Ids, RowScan, ScanBudget, Step, page},
    session::{Session, query},
    states::{DEAD, DELIVERED, LEASED, PENDING, Sql, WAITING, sql},
    tx_error::store_error,
    where_clause::Conditions,
};

use self::place::{NamedPlace, read_named_place, write_named_place};
pub(crate) use self::place::{read_place, write_place};

impl PostgresStore {
    pub(crate) async fn page_of_deliveries(
        &self,
        scope: TenantScope,
        filter: &DeliveryFilter,
        request: &PageRequest,
    ) -> Result<Page<DeliveryRow>> {
        let session = self.lists.next(Some(scope.tenant())).await?;
        let ids = rows::ids_at(request.order, filter.since, filter.until);
        let list = ListQuery { session: &session, scope, filter, ids };
        let budget = ScanBudget::new(max_scanned(self.max_scanned, filter), request.max);
        let (ids, next) = if filter.external_id.is_some() && filter.event.is_none() {
            list.named(request, budget).await?
        } else {
            let place = request.after.as_ref();
            let after = place.map_or(ids.start(), |place| ids.from(read_place(place)));
            let (ids, next) = page(&list, request.max, budget, after).await?;
            (ids, next.map(write_place))
        };
        Ok(Page { rows: read(&session, scope, &ids).await?, next })
    }
}

/// A list query: the filter, and whose deliveries it searches.
struct ListQuery<'a> {
    session: &'a Session,
    scope: TenantScope,
    filter: &'a DeliveryFilter,
    ids: Ids,
}

impl ListQuery<'_> {
    /// Lists the deliveries of events with an external id, one event after the other.
    async fn named(
        &self,
        request: &PageRequest,
        budget: ScanBudget,
    ) -> Result<(Vec<Uuid>, Option<[u8; 32]>)> {
        // An event may have been sent again long after it was created, so no event is too old.
        let start = match request.order {
            ListOrder::NewestFirst => (self.ids.end, Uuid::max()),
            ListOrder::OldestFirst => (Uuid::nil(), Uuid::nil()),
        };
        let begin = request.after.as_ref().map_or(start, read_named_place);
        let (ids, next) = page(&ExternalIdScan(self), request.max, budget, begin).await?;
        Ok((ids, next.map(write_named_place)))
    }
}

/// Reads deliveries in the order of the ids.
pub(crate) async fn read(
    session: &Session,
    scope: TenantScope,
    ids: &[Uuid],
) -> Result<Vec<DeliveryRow>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let sql = format!(
        "select {DELIVERY} from unnest($2::uuid[]) with ordinality as k(id, place)
         cross join lateral (select * from deliveries d
             where d.tenant_id = $1 and d.id = k.id offset 0) d
         cross join lateral (select p.id, p.event_type, p.external_id, p.is_test from parcels p
             where p.tenant_id = $1 and p.id = d.parcel_id offset 0) p
         {OUTCOME} order by k.place"
    );
    let found = query(session, &sql, &[&uuid(scope.tenant()), &ids]).await;
    found.map_err(store_error)?.iter().map(rows::delivery).collect()
}

impl RowScan for ListQuery<'_> {
    type Row = Uuid;
    type Place = Uuid;

    async fn step(&self, after: Uuid, budget: i64) -> Result<Step<Uuid, Uuid>> {
        let (sql, conditions) = scan_sql(self.scope, self.filter, self.ids, after, budget);
        let found = query(self.session, &sql, &conditions.values()).await.map_err(store_error)?;
        let mut step = Step { found: Vec::new(), reached: None };
        for row in &found {
            if let Some(id) = rows::get::<Option<Uuid>>(row, 0)? {
                step.found.push((id, id));
            }
            if let Some(reached) = rows::get(row, 1)? {
                step.reached = Some(reached);
            }
        }
        Ok(step)
    }
}

/// Deliveries by the publisher's own id: by event, and within it by delivery.
struct ExternalIdScan<'a>(&'a ListQuery<'a>);

impl RowScan for ExternalIdScan<'_> {
    type Row = Uuid;
    type Place = NamedPlace;

    /// Each event and each of its deliveries counts as a row.
    async fn step(
        &self,
        (event, delivery): NamedPlace,
        budget: i64,
    ) -> Result<Step<Uuid, NamedPlace>> {
        let list = self.0;
        let name = list.filter.external_id.as_ref().map(String::as_bytes);
        let tenant = uuid(list.scope.tenant());
        // By event, then by delivery; after all deliveries of an event follows the next event.
        let (sql, beyond, behind_all, next) = match list.ids.order {
            ListOrder::NewestFirst => {
                (EVENTS_NAMED, "<", Uuid::nil(), event.as_u128().saturating_sub(1))
            }
            ListOrder::OldestFirst => {
                (EVENTS_NAMED_UPWARD, ">", Uuid::max(), event.as_u128().saturating_add(1))
            }
        };
        let first = if delivery == behind_all { Uuid::from_u128(next) } else { event };
        let values: [&(dyn ToSql + Sync); 4] = [&tenant, &name, &first, &budget];
        let events = query(list.session, sql, &values).await.map_err(store_error)?;
        let (mut ids, mut weight) = (Vec::<Uuid>::new(), 0);
        for row in &events {
            weight += 1 + rows::get::<i32>(row, 1)?;
            if !ids.is_empty() && i64::from(weight) > budget {
                break;
            }
            ids.push(rows::get(row, 0)?);
        }
        let is_end = ids.len() == events.len() && (events.len() as i64) < budget;
        let reached = ids.last().filter(|_| !is_end).map(|last| (*last, behind_all));
        let mut conditions = fitting(list.scope, list.filter);
        let events = conditions.value(ids);
        let within = (conditions.value(event), conditions.value(delivery));
        conditions.add_plain(&format!("(p.id <> {} or d.id {beyond} {})", within.0, within.1));
        let sql = format!(
            "select d.id, p.id from unnest({events}::uuid[]) as k(id)
             cross join lateral (select p.id, p.event_type, p.external_id, p.subject, p.deliveries{body} from parcels p
                 where p.tenant_id = $1 and p.id = k.id offset 0) p
             cross join lateral unnest(p.deliveries) as n(id)
             cross join lateral (select * from deliveries d
                 where d.tenant_id = $1 and d.id = n.id offset 0) d
             where {} order by p.id {word}, d.id {word}",
            conditions.sql(),
            word = list.ids.word(),
            body = if list.filter.text.is_some() { ", p.body" } else { "" },
        );
        let found = query(list.session, &sql, &conditions.values()).await.map_err(store_error)?;
        let place = |row| -> Result<_> {
            let (delivery, event) = (rows::get(row, 0)?, rows::get(row, 1)?);
            Ok((delivery, (event, delivery)))
        };
        Ok(Step { found: found.iter().map(place).collect::<Result<_>>()?, reached })
    }
}

pub(crate) static OUTCOME: Sql = Sql::new(|| {
    format!(
        "
    left join attempts a on a.tenant_id = d.tenant_id and a.delivery_id = d.id
        and a.number = d.attempts
    left join dead_letters l on l.tenant_id = d.tenant_id and l.delivery_id = d.id
        and d.state = {DEAD}"
    )
});

/// Events that have the id, from the newest on, and the number of deliveries of each.
const EVENTS_NAMED: &str = "
select p.id, cardinality(p.deliveries) from parcels p
where p.tenant_id = $1 and p.external_id = $2 and p.id <= $3
order by p.id desc limit $4";

/// The same from the oldest on.
const EVENTS_NAMED_UPWARD: &str = "
select p.id, cardinality(p.deliveries) from parcels p
where p.tenant_id = $1 and p.external_id = $2 and p.id >= $3
order by p.id limit $4";

/// Returns one step as SQL with its values. Its rows have the id of a match, or the position that was reached.
pub(crate) fn scan_sql(
    scope: TenantScope,
    filter: &DeliveryFilter,
    ids: Ids,
    after: Uuid,
    budget: i64,
) -> (String, Conditions) {
    let conditions = fitting(scope, filter);
    let fits = conditions.sql();
    let mut conditions = conditions.without_conditions();
    let (after, budget) = (conditions.value(after), conditions.value(budget));
    let edge = conditions.value(ids.edge());
    let range = ScanRange { ids, after: &after, edge: &edge, budget: &budget };
    let (looked, is_walk) = match (filter.event, filter.endpoint, filter.lane, filter.status) {
        (Some(event), ..) => (range.of_event(&conditions.value(uuid(event))), false),
        (None, Some(target), _, Some(Status::Failed)) => {
            let by =
                format!("d.state = {DEAD} and d.target_id = {}", conditions.value(uuid(target)));
            (range.by_index(&by), false)
        }
        (None, None, Some(lane), Some(Status::Failed)) => {
            let by = format!("d.state = {DEAD} and d.lane = {}", conditions.value(lane.number()));
            (range.by_index(&by), false)
        }
        (None, None, None, _) => (range.by_index("true"), false),
        (None, target, lane, _) => {
            let (target, lane) =
                (conditions.value(target.map(uuid)), conditions.value(lane.map(Lane::number)));
            let walk = match ids.order {
                ListOrder::NewestFirst => "deliveries_in_spans",
                ListOrder::OldestFirst => "deliveries_in_spans_upward",
            };
            (
                format!(
                    "select w.id, w.target_id, w.parcel_id, w.created_at, w.attempts, w.lane, w.state,
                         w.place, w.reached
                     from {walk}($1, {target}, {lane}, {after}, {edge}, {budget}::bigint::int) w"
                ),
                true,
            )
        }
    };
    let of_parcel = match parcel_columns(filter) {
        Some(columns) => format!(
            "(select {columns} from parcels p
                where p.tenant_id = $1 and p.id = d.parcel_id offset 0)"
        ),
        None => "(select)".to_owned(),
    };
    // A walk itself returns how far it came.
    let reached = if is_walk {
        "d.reached".to_owned()
    } else {
        format!("case when d.place = {budget} then d.id end as reached")
    };
    let sql = format!(
        "with looked as materialized ({looked})
         select case when f.fits then d.id end, {reached}
         from looked d cross join lateral (
             select exists (select from {of_parcel} p where {fits}) as fits offset 0) f
         where f.fits or {} order by d.place",
        if is_walk { "d.reached is not null".to_owned() } else { format!("d.place = {budget}") },
    );
    (sql, conditions)
}

/// Builds the conditions on a delivery `d` and its parcel `p`.
fn fitting(scope: TenantScope, filter: &DeliveryFilter) -> Conditions {
    let mut conditions = Conditions::default();
    // The first value of every statement here.
    let _tenant = conditions.value(uuid(scope.tenant()));
    add_filter(&mut conditions, filter, "$1");
    conditions
}

/// Adds the filter's conditions. `tenant` is the SQL of the tenant of `d`.
pub(crate) fn add_filter(conditions: &mut Conditions, filter: &DeliveryFilter, tenant: &str) {
    conditions.add_if("d.target_id = ?", filter.endpoint.map(uuid));
    conditions.add_if("d.lane = ?", filter.lane.map(Lane::number));
    conditions.add_if("d.created_at >= ?", filter.since.map(Time::micros));
    conditions.add_if("d.created_at < ?", filter.until.map(Time::micros));
    if let Some(status) = filter.status {
        conditions.add_plain(having(status));
    }
    conditions.add_if("p.event_type = ?", filter.event_type.clone());
    conditions.add_if("starts_with(p.event_type, ?)", filter.event_type_prefix.clone());
    let name = filter.external_id.as_ref();
    conditions.add_if("p.external_id = ?", name.map(|name| name.as_bytes().to_vec()));
    let subject = filter.subject.as_ref();
    conditions.add_if("p.subject = ?", subject.map(|subject| subject.as_bytes().to_vec()));
    if has_outcome(filter) {
        let mut of_outcome = Vec::new();
        if let Some(code) = &filter.error_code {
            let code = conditions.value(code.clone());
            of_outcome.push(format!("coalesce(l.code, a.code) = {code}"));
        }
        if let Some(status) = filter.response_status {
            let status = conditions.value(i32::from(status));
            of_outcome.push(format!("a.response_status = {status}::int"));
        }
        conditions.add_plain(&format!(
            "exists (select from (select) o
                left join attempts a on a.tenant_id = {tenant} and a.delivery_id = d.id
                    and a.number = d.attempts
                left join dead_letters l on l.tenant_id = {tenant} and l.delivery_id = d.id
                    and d.state = {DEAD}
                where {})",
            of_outcome.join(" and ")
        ));
    }
    let text = filter.text.as_ref();
    let contains = format!("position(? in substring(p.body from 1 for {MAX_SEARCHED_BYTES})) > 0");
    conditions.add_if(&contains, text.map(|text| text.as_bytes().to_vec()));
}

/// Returns the columns of parcels that a filter reads.
pub(crate) fn parcel_columns(filter: &DeliveryFilter) -> Option<&'static str> {
    let event_type = filter.event_type.as_ref().or(filter.event_type_prefix.as_ref());
    match (&filter.text, event_type, &filter.external_id, &filter.subject) {
        (Some(_), ..) => Some("p.event_type, p.external_id, p.subject, p.body"),
        (None, None, None, None) => None,
        (None, ..) => Some("p.event_type, p.external_id, p.subject"),
    }
}

/// Whether a filter reads the last attempt and the dead letter of a delivery.
fn has_outcome(filter: &DeliveryFilter) -> bool {
    filter.error_code.is_some() || filter.response_status.is_some()
}

/// Returns how many rows a page may scan. Searching a body costs much more than scanning a row.
pub(crate) fn max_scanned(max: usize, filter: &DeliveryFilter) -> usize {
    match filter.text {
        Some(_) => (max / BODY_COST).max(1),
        None if parcel_columns(filter).is_some() => (max / PARCEL_COST).max(1),
        None if has_outcome(filter) => (max / OUTCOME_COST).max(1),
        None => max,
    }
}

/// The cost of reading the state of a delivery, in scanned rows.
const OUTCOME_COST: usize = 4;

/// The cost of reading a delivery's parcel, in scanned rows.
const PARCEL_COST: usize = 8;

/// The cost of searching a body, in rows that are merely scanned.
const BODY_COST: usize = 50;

const LOOKED: &str = "d.id, d.target_id, d.parcel_id, d.created_at, d.attempts, d.lane, d.state";

/// The rows that one step scans, with the statement's parameters for its bounds.
struct ScanRange<'a> {
    ids: Ids,
    after: &'a str,
    edge: &'a str,
    budget: &'a str,
}

impl ScanRange<'_> {
    fn by_index(&self, by: &str) -> String {
        let (word, budget) = (self.ids.word(), self.budget);
        let within = self.ids.within("d.id", self.after, self.edge);
        format!(
            "select {LOOKED}, row_number() over (order by d.id {word}) as place from (
               select {LOOKED} from deliveries d
               where d.tenant_id = $1 and {by} and {within} order by d.id {word} limit {budget}) d"
        )
    }

    fn of_event(&self, event: &str) -> String {
        let (word, budget) = (self.ids.word(), self.budget);
        let within = self.ids.within("n.id", self.after, self.edge);
        format!(
            "select {LOOKED}, row_number() over (order by d.id {word}) as place from (
               select n.id from parcels p cross join lateral unnest(p.deliveries) as n(id)
               where p.tenant_id = $1 and p.id = {event} and {within}
               order by n.id {word} limit {budget}) n
             cross join lateral (select {LOOKED} from deliveries d
               where d.tenant_id = $1 and d.id = n.id offset 0) d"
        )
    }
}

fn having(status: Status) -> &'static str {
    match status {
        Status::Pending => sql!("d.state in ({PENDING}, {LEASED}, {WAITING}) and d.attempts = 0"),
        Status::Retrying => sql!("d.state in ({PENDING}, {LEASED}, {WAITING}) and d.attempts > 0"),
        Status::Delivered => sql!("d.state = {DELIVERED}"),
        Status::Failed => sql!("d.state = {DEAD}"),
    }
}
