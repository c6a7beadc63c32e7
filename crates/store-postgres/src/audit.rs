//! The audit log.

use std::time::Duration;

use async_trait::async_trait;
use gancho_domain::Id;
use gancho_store::{
    Actor, AuditEntry, AuditFilter, AuditLog, ListOrder, Page, PageRequest, Result,
    audit::{id_at, place_of},
};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    PostgresStore,
    rows::{self, text, uuid},
    scan::{self, Ids, RowScan, ScanBudget, Step},
    session::{Session, execute, query},
    tx_error::{corrupt, store_error},
    where_clause::Conditions,
};

const COLUMNS: &str = "id, tenant_id, actor_kind, actor, operation, resource, status, code, request_id, address, reason";

const APPEND: &str = "
insert into audit_log (id, tenant_id, actor_kind, actor, operation, resource, status, code, request_id,
    address, reason, until)
select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::int2[],
    $8::text[], $9::text[], $10::text[], $11::text[], $12::int8[])
on conflict (id) do nothing";

pub(crate) const FORGET: &str = "
delete from audit_log a using (
    select id from audit_log where until <= $1 order by until limit $2) late
where a.id = late.id";

#[async_trait]
impl AuditLog for PostgresStore {
    async fn append_audit(&self, entries: Vec<AuditEntry>, retention: Duration) -> Result<()> {
        let session = self.session().await?;
        let ids: Vec<Uuid> = entries.iter().map(|entry| uuid(entry.id)).collect();
        let tenants: Vec<Option<Uuid>> = entries.iter().map(|it| it.tenant.map(uuid)).collect();
        let kinds: Vec<_> = entries.iter().map(|entry| entry.actor.kind.name()).collect();
        let actors: Vec<_> = entries.iter().map(|entry| text(&entry.actor.name)).collect();
        let operations: Vec<_> = entries.iter().map(|entry| text(&entry.operation)).collect();
        let resources: Vec<_> = entries.iter().map(|entry| text(&entry.resource)).collect();
        let statuses: Vec<i16> = entries.iter().map(|it| it.status.cast_signed()).collect();
        let codes: Vec<_> = entries.iter().map(|entry| text(&entry.code)).collect();
        let requests: Vec<_> = entries.iter().map(|entry| text(&entry.request_id)).collect();
        let addresses: Vec<_> = entries.iter().map(|entry| text(&entry.address)).collect();
        let reasons: Vec<_> = entries.iter().map(|entry| text(&entry.reason)).collect();
        let until: Vec<i64> = entries.iter().map(|it| (it.at() + retention).micros()).collect();
        let appended = execute(
            &session,
            APPEND,
            &[
                &ids,
                &tenants,
                &kinds,
                &actors,
                &operations,
                &resources,
                &statuses,
                &codes,
                &requests,
                &addresses,
                &reasons,
                &until,
            ],
        )
        .await;
        appended.map(|_| ()).map_err(store_error)
    }

    async fn audit(&self, filter: AuditFilter, page: PageRequest) -> Result<Page<AuditEntry>> {
        let session = self.lists.next(filter.tenant).await?;
        let (first, end) = filter.ids();
        let ids = Ids { order: page.order, first: uuid(first), end: uuid(end) };
        let entries = Entries { session: &session, filter: &filter, ids };
        let budget = ScanBudget::new(self.max_scanned, page.max);
        let after = page.after.as_ref().map_or(ids.start(), |at| ids.from(uuid(id_at(at))));
        let (rows, next) = scan::page(&entries, page.max, budget, after).await?;
        let next = next.map(|next| place_of(Id::from_bytes(next.into_bytes())));
        Ok(Page { rows, next })
    }
}

struct Entries<'a> {
    session: &'a Session,
    filter: &'a AuditFilter,
    ids: Ids,
}

impl RowScan for Entries<'_> {
    type Row = AuditEntry;
    type Place = Uuid;

    async fn step(&self, after: Uuid, budget: i64) -> Result<Step<AuditEntry, Uuid>> {
        let (sql, conditions) = looked(self.filter, self.ids, after, budget);
        let rows = query(self.session, &sql, &conditions.values()).await.map_err(store_error)?;
        let mut step = Step { found: Vec::new(), reached: None };
        for row in &rows {
            if rows::get::<i64>(row, 11)? == budget {
                step.reached = rows::get::<Option<Uuid>>(row, 12)?;
            }
            if rows::get::<Option<Uuid>>(row, 0)?.is_some() {
                let entry = read(row)?;
                let place = uuid(entry.id);
                step.found.push((entry, place));
            }
        }
        Ok(step)
    }
}

/// Returns one step as SQL with its values. Each row also has the number of scanned rows, and the last of
/// them.
pub(crate) fn looked(
    filter: &AuditFilter,
    ids: Ids,
    after: Uuid,
    budget: i64,
) -> (String, Conditions) {
    let (order, back) = match ids.order {
        ListOrder::NewestFirst => ("desc", "asc"),
        ListOrder::OldestFirst => ("asc", "desc"),
    };
    let mut conditions = Conditions::default();
    let (after, edge) = (conditions.value(after), conditions.value(ids.edge()));
    conditions.add_plain(&ids.within("id", &after, &edge));
    conditions.add_if("tenant_id = ?", filter.tenant.map(uuid));
    let in_range = conditions.sql();
    let mut conditions = conditions.without_conditions();
    conditions.add_if("actor_kind = ?", filter.actor_kind.map(gancho_store::ActorKind::name));
    conditions.add_if("actor = ?", filter.actor.as_deref().map(owned));
    conditions.add_if("operation = ?", filter.operation.as_deref().map(owned));
    conditions.add_if("resource = ?", filter.resource.as_deref().map(owned));
    if let Some(is_done) = filter.is_done {
        conditions.add_plain(if is_done { "code = ''" } else { "code <> ''" });
    }
    let wanted = conditions.sql();
    let budget = conditions.value(budget);
    let sql = format!(
        "with looked as materialized (
            select {COLUMNS} from audit_log where {in_range} order by id {order} limit {budget}),
        wanted as (select * from looked where {wanted})
        select w.*, s.budget, s.last
        from (select (select count(*) from looked) as budget,
            (select id from looked order by id {back} limit 1) as last) s
        left join wanted w on true order by w.id {order}"
    );
    (sql, conditions)
}

fn owned(value: &str) -> String {
    text(value).into_owned()
}

fn read(row: &Row) -> Result<AuditEntry> {
    let kind: &str = rows::get(row, 2)?;
    Ok(AuditEntry {
        id: rows::id(row, 0)?,
        tenant: rows::get::<Option<Uuid>>(row, 1)?.map(|id| Id::from_bytes(id.into_bytes())),
        actor: Actor::new(
            kind.parse().map_err(|error: String| corrupt(error))?,
            rows::get::<String>(row, 3)?,
        ),
        operation: rows::get(row, 4)?,
        resource: rows::get(row, 5)?,
        status: rows::get::<i16>(row, 6)?.cast_unsigned(),
        code: rows::get(row, 7)?,
        request_id: rows::get(row, 8)?,
        address: rows::get(row, 9)?,
        reason: rows::get(row, 10)?,
    })
}
