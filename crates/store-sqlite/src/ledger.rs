//! The ledger of received webhooks.

use async_trait::async_trait;
use gancho_domain::ParcelId;
use gancho_ledger::{Hash, Head, Line};
use gancho_store::{Ledger, Result};
use rusqlite::{Connection, Row, params};

use crate::{
    SqliteStore,
    rows::seq,
    transaction::Tx,
    tx_error::{TxError, corrupt},
};

#[async_trait]
impl Ledger for SqliteStore {
    async fn ledger_lines(&self, after: u64, max: usize) -> Result<Vec<Line>> {
        self.read_aside(move |db| {
            let mut list = db.prepare_cached(
                "SELECT number, entry, link FROM ledger WHERE number > ?1 ORDER BY number LIMIT ?2",
            )?;
            let mut found = list.query(params![after as i64, max as i64])?;
            let mut lines = Vec::new();
            while let Some(row) = found.next()? {
                lines.push(line(row)?);
            }
            Ok(lines)
        })
        .await
    }

    async fn ledger_line_of(&self, parcel: ParcelId) -> Result<Option<Line>> {
        self.read(move |db| {
            let mut find =
                db.prepare_cached("SELECT number, entry, link FROM ledger WHERE parcel = ?1")?;
            find.query([seq(parcel)])?.next()?.map(line).transpose()
        })
        .await
    }

    async fn ledger_size(&self) -> Result<u64> {
        self.read(|db| {
            let mut last = db.prepare_cached("SELECT coalesce(max(number), 0) FROM ledger")?;
            Ok(last.query_row([], |row| row.get::<_, i64>(0))? as u64)
        })
        .await
    }
}

fn line(row: &Row<'_>) -> Result<Line, TxError> {
    let number: i64 = row.get(0)?;
    let blob = |column| {
        row.get_ref(column)?
            .as_blob()
            .map_err(|_| corrupt(format!("line {number} of the ledger is not of bytes")))
    };
    let link = blob(2)?.try_into();
    let link = link.map_err(|_| corrupt(format!("the link of line {number} is not a hash")))?;
    Ok(Line { number: number as u64, entry: blob(1)?.to_vec(), link: Hash(link) })
}

fn head(db: &Connection) -> Result<Head, TxError> {
    let mut last =
        db.prepare_cached("SELECT number, link FROM ledger ORDER BY number DESC LIMIT 1")?;
    let mut found = last.query([])?;
    match found.next()? {
        Some(row) => {
            let number: i64 = row.get(0)?;
            Ok(Head { number: number as u64, link: Hash(row.get(1)?) })
        }
        None => Ok(Head::start()),
    }
}

/// Appends a line. There is one writer, so the end is where it was last seen.
pub(crate) fn append(tx: &Tx<'_>, parcel: ParcelId, entry: &[u8]) -> Result<(), TxError> {
    let head = match tx.cache.ledger_head.get() {
        Some(head) => head,
        None => head(tx.db)?,
    };
    let line = head.next(entry.to_vec());
    tx.db
        .prepare_cached("INSERT INTO ledger (number, parcel, entry, link) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![line.number as i64, seq(parcel), line.entry, line.link.0])?;
    tx.cache.ledger_head.set(Some(Head { number: line.number, link: line.link }));
    Ok(())
}
