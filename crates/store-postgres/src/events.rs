//! A tenant's events, newest first. Ids begin with their time, so they come by the key of their table;
//! those that matched no endpoint, and those with a name, have an index of their own.

use gancho_domain::{TenantScope, Time};
use gancho_store::{EventFilter, EventRow, Page, PageRequest, Result};
use tokio_postgres::Row;

use crate::{
    PostgresStore,
    deliveries::{read_place, write_place},
    fault::store_error,
    rows::{self, uuid},
    session::query,
    terms::Terms,
};

/// The columns of [`event`].
const EVENT: &str = "p.id, p.event_type, p.subject, p.external_id, p.number, p.is_test, \
    cardinality(p.deliveries), p.created_at";

impl PostgresStore {
    pub(crate) async fn page_of_events(
        &self,
        scope: TenantScope,
        filter: &EventFilter,
        page: &PageRequest,
    ) -> Result<Page<EventRow>> {
        let mut terms = Terms::default();
        terms.add("p.tenant_id = ?", uuid(scope.tenant()));
        terms.add("p.kind = ?", filter.kind.number());
        terms.add_if("p.event_type = ?", filter.event_type.clone());
        let name = filter.external_id.as_ref();
        terms.add_if("p.external_id = ?", name.map(|name| name.as_bytes().to_vec()));
        terms.add_if("p.created_at >= ?", filter.since.map(Time::micros));
        terms.add_if("p.id >= ?", filter.since.map(rows::first_id_at));
        terms.add_if("p.created_at < ?", filter.until.map(Time::micros));
        terms.add_if("p.id < ?", filter.until.map(rows::last_id_at));
        terms.add_if("p.id < ?", page.after.as_ref().map(read_place));
        if filter.is_unmatched {
            terms.add_plain("p.deliveries = '{}'");
        }
        let most = terms.value(page.most as i64 + 1);
        let sql = format!(
            "select {EVENT} from parcels p where {} order by p.id desc limit {most}",
            terms.sql()
        );
        let session = self.session().await?;
        let found = query(&session, &sql, &terms.values()).await;
        let found = found.map_err(store_error)?;
        let mut rows = found.iter().map(event).collect::<Result<Vec<_>>>()?;
        let more = rows.len() > page.most;
        rows.truncate(page.most);
        let next = rows.last().filter(|_| more).map(|last| write_place(last.id));
        Ok(Page { rows, next })
    }
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
