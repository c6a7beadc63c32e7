//! Copies a tenant's rows from one cell to another, and removes them. Every step can be repeated.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{SinkExt, StreamExt, pin_mut};
use gancho_store::Result;
use uuid::Uuid;

use super::{
    MOVED_TABLES, MoveRow, MovedTable,
    guard::{WritableState, enter},
};
use crate::{
    PostgresStore,
    rows::{self, uuid},
    session::{Session, Transaction, execute, query},
    tx_error::TxError,
};

/// A copied part of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedRows {
    pub rows: u64,
    /// Where the next part begins; `None` after the last.
    pub next: Option<String>,
}

impl PostgresStore {
    /// Copies the rows of a table after `after`, as many as fit into one transaction. Replaces existing rows
    /// of the same part.
    pub async fn copy_rows(
        &self,
        to: &Self,
        of: &MoveRow,
        table: MovedTable,
        after: Option<&str>,
    ) -> Result<CopiedRows> {
        self.copy_part(to, of, table, after).await.map_err(TxError::into_error)
    }

    async fn copy_part(
        &self,
        to: &Self,
        of: &MoveRow,
        table: MovedTable,
        after: Option<&str>,
    ) -> Result<CopiedRows, TxError> {
        let tenant = uuid(of.tenant);
        let (source, target) = (self.begin_session().await?, to.begin_session().await?);
        let next = last_key(source.session()?, tenant, table, after).await?;
        let keys = table.place().join(", ");
        let bound = |(sign, at): (&str, Option<&str>)| {
            at.map_or_else(String::new, |at| format!(" and ({keys}) {sign} ({at})"))
        };
        let bounds = match (table.lead().is_empty(), &next) {
            (true, _) => [(">", after), ("<=", next.as_deref())].map(bound).concat(),
            (false, Some(_)) => bound(("=", next.as_deref())),
            (false, None) => " and false".to_owned(),
        };
        let columns = columns(source.session()?, table).await?;
        let select = format!(
            "select {} from {} t where t.tenant_id = '{tenant}'{bounds}",
            sources(table, &columns, of.source),
            table.name
        );
        enter(target.session()?, tenant, of.run, WritableState::Arriving).await?;
        let delete = format!("delete from {} t where t.tenant_id = '{tenant}'{bounds}", table.name);
        target.session()?.batch_execute(&delete).await?;
        let rows = pipe(source.session()?, &select, target.session()?, table, &columns).await?;
        target.commit().await?;
        Ok(CopiedRows { rows, next })
    }

    /// Copies at most `max` rows that have changed since they were copied. Returns how many. The changes are
    /// returned again until they are [forgotten](Self::forget_changes).
    pub async fn copy_changes(&self, to: &Self, of: &MoveRow, max: usize) -> Result<Vec<i64>> {
        self.copy_changed(to, of, max).await.map_err(TxError::into_error)
    }

    async fn copy_changed(&self, to: &Self, of: &MoveRow, max: usize) -> Result<Vec<i64>, TxError> {
        let tenant = uuid(of.tenant);
        let source = self.begin_session().await?;
        let sql = "select id, relation, key::text from move_changes where tenant_id = $1 order by id limit $2";
        let found = query(source.session()?, sql, &[&tenant, &(max as i64)]).await?;
        let mut changed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut ids = Vec::new();
        for row in &found {
            ids.push(rows::get::<i64>(row, 0)?);
            changed.entry(rows::get(row, 1)?).or_default().insert(rows::get(row, 2)?);
        }
        if ids.is_empty() {
            return Ok(ids);
        }
        let target = to.begin_session().await?;
        enter(target.session()?, tenant, of.run, WritableState::Arriving).await?;
        for table in MOVED_TABLES {
            let Some(keys) = changed.get(table.name) else { continue };
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            let keys = format!("[{}]", keys.join(","));
            let columns = columns(source.session()?, table).await?;
            let select = changed_rows(tenant, table, &keys, &columns, of.source);
            let delete = delete_changed(tenant, table, &keys, of.source);
            target.session()?.batch_execute(&delete).await?;
            pipe(source.session()?, &select, target.session()?, table, &columns).await?;
        }
        target.commit().await?;
        Ok(ids)
    }

    /// Forgets changes in the old cell that are in the new one.
    pub async fn forget_changes(&self, of: &MoveRow, ids: &[i64]) -> Result<()> {
        let sql = "delete from move_changes where tenant_id = $1 and id = any ($2)";
        let gone = execute(&self.session().await?, sql, &[&uuid(of.tenant), &ids]).await;
        gone.map(drop).map_err(TxError::into_error)
    }

    /// Forgets all changes in the old cell, if the tenant stays there. Nothing is recorded any more.
    pub async fn forget_all_changes(&self, of: &MoveRow) -> Result<()> {
        let sql = "delete from move_changes where tenant_id = $1";
        let gone = execute(&self.session().await?, sql, &[&uuid(of.tenant)]).await;
        gone.map(drop).map_err(TxError::into_error)
    }

    /// Removes at most one batch of a table's rows from the old cell after the move. Returns how many.
    pub async fn remove_moved(&self, of: &MoveRow, table: MovedTable) -> Result<u64> {
        self.remove_some(of, table.name, table.batch, WritableState::Closed).await
    }

    /// Removes at most one batch from the new cell, if the tenant does not move there after all.
    pub async fn remove_copied(&self, of: &MoveRow, table: MovedTable) -> Result<u64> {
        self.remove_some(of, table.name, table.batch, WritableState::Arriving).await
    }

    /// Removes the rest from the old cell, after the last rows.
    pub async fn remove_moved_rest(&self, of: &MoveRow) -> Result<u64> {
        self.remove_rest(
            of,
            &["dead_counts", "endpoint_versions", "move_changes"],
            WritableState::Closed,
        )
        .await
    }

    /// Removes the rest from the new cell.
    pub async fn remove_copied_rest(&self, of: &MoveRow) -> Result<u64> {
        self.remove_rest(
            of,
            &["dead_counts", "endpoint_versions", "intake"],
            WritableState::Arriving,
        )
        .await
    }

    async fn remove_rest(&self, of: &MoveRow, tables: &[&str], from: WritableState) -> Result<u64> {
        let mut removed = 0;
        for table in tables {
            loop {
                match self.remove_some(of, table, 5000, from).await? {
                    0 => break,
                    gone => removed += gone,
                }
            }
        }
        Ok(removed)
    }

    async fn remove_some(
        &self,
        of: &MoveRow,
        table: &str,
        max: usize,
        from: WritableState,
    ) -> Result<u64> {
        let removed = async {
            let transaction = self.begin_session().await?;
            enter(transaction.session()?, uuid(of.tenant), of.run, from).await?;
            let some = some_of(table);
            // By the place alone: beside the tenant, the server might read all of its rows for each batch.
            let sql = format!("delete from {table} where ctid = any (array({some}))");
            let values: [&(dyn tokio_postgres::types::ToSql + Sync); 2] =
                [&uuid(of.tenant), &(max as i64)];
            let removed = execute(transaction.session()?, &sql, &values).await?;
            transaction.commit().await?;
            Ok::<_, TxError>(removed)
        };
        removed.await.map_err(TxError::into_error)
    }

    pub(super) async fn begin_session(&self) -> Result<Transaction, TxError> {
        Ok(Transaction::begin(self.session().await?).await?)
    }
}

/// Returns the key of the last row of the part, in SQL, if there may be more rows after it.
async fn last_key(
    session: &Session,
    tenant: Uuid,
    table: MovedTable,
    after: Option<&str>,
) -> Result<Option<String>, TxError> {
    if table.key.is_empty() {
        return Ok(None);
    }
    let found = session.query_once(&last_key_of(tenant, table, after)).await?;
    Ok(found.first().map(|row| rows::get(row, 0)).transpose()?)
}

fn last_key_of(tenant: Uuid, table: MovedTable, after: Option<&str>) -> String {
    let (name, keys) = (table.name, table.place().join(", "));
    let texts: Vec<String> =
        table.place().iter().map(|column| format!("quote_literal({column}::text)")).collect();
    let texts = texts.join(", ");
    if table.lead().is_empty() {
        let after = after.map_or_else(String::new, |after| format!(" and ({keys}) > ({after})"));
        return format!(
            "select concat_ws(', ', {texts}) from {name} where tenant_id = '{tenant}'{after}
             order by {keys} offset {} limit 1",
            table.batch - 1
        );
    }
    format!(
        "with recursive {} select concat_ws(', ', {texts}) from leads l
         where exists (select from {name} t where t.tenant_id = '{tenant}' and {} offset 0) limit 1",
        table.leads(after),
        table.has_lead()
    )
}

/// Selects the places of at most `$2` rows of tenant `$1`.
fn some_of(table: &str) -> String {
    match MOVED_TABLES.iter().find(|one| one.name == table && !one.lead().is_empty()) {
        Some(led) => format!(
            "with recursive {} select r.ctid from leads l, lateral (
                select t.ctid from {table} t where t.tenant_id = $1 and {} offset 0) r limit $2",
            led.leads(None),
            led.has_lead()
        ),
        None => format!("select ctid from {table} where tenant_id = $1 limit $2"),
    }
}

/// Selects the rows with these keys, as they are in the new cell.
fn changed_rows(
    tenant: Uuid,
    table: MovedTable,
    keys: &str,
    columns: &[String],
    cell: u32,
) -> String {
    let same = same_key(tenant, table, |column| format!("k.{column}"));
    format!(
        "select {} from (select distinct * from {}) k, lateral (
            select * from {} t where {same} offset 0) t",
        sources(table, columns, cell),
        records(table, keys),
        table.name
    )
}

/// Removes the rows with these keys of the old cell from the new one.
fn delete_changed(tenant: Uuid, table: MovedTable, keys: &str, cell: u32) -> String {
    let same = same_key(tenant, table, |column| table.target_key(column, cell));
    format!(
        "delete from {0} where ctid = any (array(
            select r.ctid from {1} k, lateral (select t.ctid from {0} t where {same} offset 0) r))",
        table.name,
        records(table, keys)
    )
}

fn records(table: MovedTable, keys: &str) -> String {
    format!("jsonb_populate_recordset(null::{}, {}::jsonb)", table.name, literal(keys))
}

/// For a `lateral` that ends with `offset 0`: each key is searched in the index by itself. A join would read all
/// rows of the tenant where the server does not know yet how many there are.
fn same_key(tenant: Uuid, table: MovedTable, key: impl Fn(&str) -> String) -> String {
    let same = table.key.iter().map(|column| format!(" and t.{column} = {}", key(column)));
    format!("t.tenant_id = '{tenant}'{}", same.collect::<String>())
}

async fn columns(session: &Session, table: MovedTable) -> Result<Vec<String>, TxError> {
    let sql = "select attname::text from pg_attribute
        where attrelid = to_regclass($1::text) and attnum > 0 and not attisdropped order by attnum";
    let found = query(session, sql, &[&table.name]).await?;
    Ok(found.iter().map(|row| rows::get(row, 0)).collect::<Result<_>>()?)
}

fn sources(table: MovedTable, columns: &[String], cell: u32) -> String {
    let all: Vec<String> = columns.iter().map(|column| table.source_of(column, cell)).collect();
    all.join(", ")
}

pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

async fn pipe(
    source: &Session,
    select: &str,
    target: &Session,
    table: MovedTable,
    columns: &[String],
) -> Result<u64, TxError> {
    pipe_into(source, select, target, table.name, &columns.join(", ")).await
}

/// Pipes the data as it arrives, so that no more than a part of a row is in memory.
pub(super) async fn pipe_into(
    source: &Session,
    select: &str,
    target: &Session,
    table: &str,
    columns: &str,
) -> Result<u64, TxError> {
    let rows = source.copy_out(&format!("copy ({select}) to stdout (format binary)")).await?;
    let into = format!("copy {table} ({columns}) from stdin (format binary)");
    let sink = target.copy_in(&into).await?;
    pin_mut!(rows, sink);
    while let Some(chunk) = rows.next().await {
        sink.feed(chunk?).await?;
    }
    Ok(sink.finish().await?)
}

#[cfg(test)]
mod tests;
