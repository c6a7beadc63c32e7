//! The audit log.

use std::time::Duration;

use async_trait::async_trait;
use gancho_domain::{Id, Time};
use gancho_store::{
    Actor, AuditEntry, AuditFilter, AuditLog, ListOrder, Page, PageRequest, Result,
    audit::{id_at, place_of},
};
use rusqlite::{Connection, Row, params};

use crate::{
    SqliteStore, rows,
    transaction::Tx,
    tx_error::{TxError, corrupt},
    where_clause::Conditions,
};

const COLUMNS: &str = "id, tenant_id, actor_kind, actor, operation, resource, status, code, request_id, address, reason";

#[async_trait]
impl AuditLog for SqliteStore {
    async fn append_audit(&self, entries: Vec<AuditEntry>, retention: Duration) -> Result<()> {
        // Entries are recorded even while the disk is nearly full; their number is bounded.
        self.write(move |tx| append(tx, &entries, retention)).await
    }

    async fn audit(&self, filter: AuditFilter, page: PageRequest) -> Result<Page<AuditEntry>> {
        let max_scanned = self.max_scanned;
        self.read_list(filter.tenant, move |db| list(db, &filter, &page, max_scanned)).await
    }
}

fn append(tx: &Tx<'_>, entries: &[AuditEntry], retention: Duration) -> Result<(), TxError> {
    let mut insert = tx.db.prepare_cached(&format!(
        "INSERT INTO audit_log ({COLUMNS}, until)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) ON CONFLICT DO NOTHING"
    ))?;
    for entry in entries {
        insert.execute(params![
            entry.id.bytes(),
            entry.tenant.map(Id::bytes),
            entry.actor.kind.name(),
            entry.actor.name,
            entry.operation,
            entry.resource,
            entry.status,
            entry.code,
            entry.request_id,
            entry.address,
            entry.reason,
            (entry.at() + retention).micros(),
        ])?;
    }
    Ok(())
}

fn list(
    db: &Connection,
    filter: &AuditFilter,
    page: &PageRequest,
    max_scanned: usize,
) -> Result<Page<AuditEntry>, TxError> {
    let (beyond, order) = match page.order {
        ListOrder::NewestFirst => ("id < $", "DESC"),
        ListOrder::OldestFirst => ("id > $", "ASC"),
    };
    let (first, end) = filter.ids();
    let mut conditions = Conditions::default();
    conditions.add("id >= $", first.bytes());
    conditions.add("id < $", end.bytes());
    if let Some(place) = &page.after {
        conditions.add(beyond, id_at(place).bytes());
    }
    if let Some(tenant) = filter.tenant {
        conditions.add("tenant_id = $", tenant.bytes());
    }
    let sql =
        format!("SELECT {COLUMNS} FROM audit_log WHERE {} ORDER BY id {order}", conditions.sql());
    let mut list = db.prepare_cached(&sql)?;
    let mut found = list.query(&*conditions.values())?;
    let (mut rows, mut budget, mut last) = (Vec::new(), 0, None);
    while let Some(row) = found.next()? {
        if rows.len() == page.max || budget == max_scanned {
            return Ok(Page { rows, next: last.map(place_of) });
        }
        let entry = read(row)?;
        (budget, last) = (budget + 1, Some(entry.id));
        if is_wanted(&entry, filter) {
            rows.push(entry);
        }
    }
    Ok(Page { rows, next: None })
}

/// Whether an entry matches the conditions that no index covers.
fn is_wanted(entry: &AuditEntry, filter: &AuditFilter) -> bool {
    let is = |wanted: &Option<String>, text: &str| wanted.as_ref().is_none_or(|it| it == text);
    filter.actor_kind.is_none_or(|kind| kind == entry.actor.kind)
        && is(&filter.actor, &entry.actor.name)
        && is(&filter.operation, &entry.operation)
        && is(&filter.resource, &entry.resource)
        && filter.is_done.is_none_or(|is_done| is_done == entry.is_done())
}

fn read(row: &Row<'_>) -> Result<AuditEntry, TxError> {
    let has_tenant = row.get_ref(1)?.as_blob().is_ok();
    let kind: String = row.get(2)?;
    Ok(AuditEntry {
        id: rows::id(row, 0)?,
        tenant: if has_tenant { Some(rows::id(row, 1)?) } else { None },
        actor: Actor::new(
            kind.parse().map_err(|error: String| corrupt(error))?,
            row.get::<_, String>(3)?,
        ),
        operation: row.get(4)?,
        resource: row.get(5)?,
        status: row.get(6)?,
        code: row.get(7)?,
        request_id: row.get(8)?,
        address: row.get(9)?,
        reason: row.get(10)?,
    })
}

/// Removes entries whose retention has ended. Returns whether there are more.
pub(crate) fn prune(tx: &Tx<'_>, max: usize, now: Time) -> Result<bool, TxError> {
    let gone = tx
        .db
        .prepare_cached(
            "DELETE FROM audit_log WHERE id IN
               (SELECT id FROM audit_log INDEXED BY audit_log_by_end
                WHERE until <= ?1 ORDER BY until LIMIT ?2)",
        )?
        .execute(params![now.micros(), max as i64])?;
    Ok(gone == max)
}
