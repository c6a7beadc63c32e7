//! The ledger of received webhooks.

use async_trait::async_trait;
use gancho_domain::ParcelId;
use gancho_ledger::{Hash, Head, Line};
use gancho_store::{AcceptOutcome, Ledger, Result};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    PostgresStore,
    accept::BatchParcel,
    rows::{self, uuid},
    session::{Session, execute, query},
    tx_error::{TxError, corrupt, store_error},
};

#[async_trait]
impl Ledger for PostgresStore {
    async fn ledger_lines(&self, after: u64, max: usize) -> Result<Vec<Line>> {
        let session = self.session().await?;
        let sql =
            "select number, entry, link from ledger where number > $1 order by number limit $2";
        let found = query(&session, sql, &[&(after as i64), &(max as i64)]).await;
        found.map_err(store_error)?.iter().map(line).collect()
    }

    async fn ledger_line_of(&self, parcel: ParcelId) -> Result<Option<Line>> {
        let session = self.session().await?;
        let sql = "select number, entry, link from ledger where parcel_id = $1";
        let found = query(&session, sql, &[&uuid(parcel)]).await;
        found.map_err(store_error)?.first().map(line).transpose()
    }

    async fn ledger_size(&self) -> Result<u64> {
        let session = self.session().await?;
        let found = query(&session, "select number from ledger_head", &[]).await;
        let found = found.map_err(store_error)?;
        found.first().map_or(Ok(0), |row| Ok(rows::get::<i64>(row, 0)? as u64))
    }
}

fn line(row: &Row) -> Result<Line> {
    Ok(Line {
        number: rows::get::<i64>(row, 0)? as u64,
        entry: rows::get::<&[u8]>(row, 1)?.to_vec(),
        link: hash(row, 2)?,
    })
}

fn hash(row: &Row, column: usize) -> Result<Hash> {
    let bytes: &[u8] = rows::get(row, column)?;
    bytes.try_into().map(Hash).map_err(|_| corrupt("a link of the ledger is not a hash"))
}

/// Appends a line for each accepted parcel that has one. The end of the ledger is one row that every writer
/// must lock, so this comes last in a transaction: its holder waits for no lock.
pub(crate) async fn write(
    session: &Session,
    incoming: &[BatchParcel<'_>],
    accepted: &[AcceptOutcome],
) -> Result<(), TxError> {
    let new: Vec<(ParcelId, &[u8])> = incoming
        .iter()
        .zip(accepted)
        .filter(|(_, answer)| matches!(answer, AcceptOutcome::New { .. }))
        .filter_map(|(one, _)| Some((one.new.parcel.id, &*one.new.ledger.as_ref()?.entry)))
        .collect();
    if new.is_empty() {
        return Ok(());
    }
    let found = query(session, "select number, link from ledger_head for update", &[]).await?;
    let row = found.first().ok_or_else(|| corrupt("the ledger has no end"))?;
    let mut head = Head { number: rows::get::<i64>(row, 0)? as u64, link: hash(row, 1)? };
    let mut lines = Vec::with_capacity(new.len());
    for (_, entry) in &new {
        let line = head.next(entry.to_vec());
        head = line.head();
        lines.push(line);
    }
    let numbers: Vec<i64> = lines.iter().map(|line| line.number as i64).collect();
    let parcels: Vec<Uuid> = new.iter().map(|(parcel, _)| uuid(*parcel)).collect();
    let entries: Vec<&[u8]> = lines.iter().map(|line| line.entry.as_slice()).collect();
    let hashes: Vec<&[u8]> = lines.iter().map(|line| line.link.0.as_slice()).collect();
    execute(
        session,
        "insert into ledger (number, parcel_id, entry, link)
         select * from unnest($1::int8[], $2::uuid[], $3::bytea[], $4::bytea[])",
        &[&numbers, &parcels, &entries, &hashes],
    )
    .await?;
    let link = head.link.0.as_slice();
    execute(
        session,
        "update ledger_head set number = $1, link = $2",
        &[&(head.number as i64), &link],
    )
    .await?;
    Ok(())
}
