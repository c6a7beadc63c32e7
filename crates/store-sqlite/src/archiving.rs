//! Dead letters for the archive.

use async_trait::async_trait;
use gancho_domain::{Attempt, Time};
use gancho_store::{
    Account, ArchiveSelection, ArchivedLetter, Archiving, FullDeadLetter, ImportOutcome, Result,
};
use rusqlite::{Connection, Row, params};

use crate::{
    SqliteStore,
    dead_letters::{LETTER, dead_letter},
    import,
    rows::{self, ATTEMPT, seq},
    states::{DEAD, sql},
    tx_error::TxError,
    where_clause::Conditions,
};

#[async_trait]
impl Archiving for SqliteStore {
    async fn dead_overflow(&self, max_per_tenant: u64) -> Result<Vec<ArchiveSelection>> {
        let max = i64::try_from(max_per_tenant).unwrap_or(i64::MAX);
        self.read_aside(move |db| overflow(db, max)).await
    }

    async fn letters_to_archive(
        &self,
        which: ArchiveSelection,
        max: usize,
        max_bytes: usize,
    ) -> Result<Vec<FullDeadLetter>> {
        self.read_aside(move |db| leaving(db, which, max, max_bytes)).await
    }

    async fn remove_archived(&self, letters: Vec<ArchivedLetter>) -> Result<u64> {
        self.write(move |tx| {
            let mut remove = tx.db.prepare_cached(sql!(
                "DELETE FROM dead_letters WHERE delivery = ?1 AND moved_at = ?2 AND EXISTS
                   (SELECT 1 FROM deliveries d
                    WHERE d.seq = ?1 AND d.id = ?3 AND d.tenant_id = ?4 AND d.state = {DEAD})"
            ))?;
            let mut gone = 0;
            for left in &letters {
                gone += remove.execute(params![
                    seq(left.delivery),
                    left.moved_at.micros(),
                    left.delivery.bytes(),
                    left.tenant.bytes(),
                ])?;
            }
            Ok(gone as u64)
        })
        .await
    }

    async fn import_dead(
        &self,
        letters: Vec<FullDeadLetter>,
        now: Time,
    ) -> Result<Vec<ImportOutcome>> {
        let rows = letters.iter().map(import::rows).sum();
        self.write_more_for(Account::Gateway, rows, move |tx| {
            letters.iter().map(|one| import::import(tx, one, now)).collect()
        })
        .await
    }
}

/// Returns the overflow of tenants whose count exceeds the maximum. For each it reads only the index, up to
/// the first dead letter that is too many.
pub(crate) fn overflow(db: &Connection, max: i64) -> Result<Vec<ArchiveSelection>, TxError> {
    let mut beyond = db.prepare_cached(
        "SELECT c.tenant_id, l.moved_at, d.id FROM
           (SELECT tenant_id FROM dead_counts GROUP BY tenant_id HAVING sum(count) > ?1) c
         CROSS JOIN dead_letters l ON l.delivery =
           (SELECT delivery FROM dead_letters WHERE tenant_id = c.tenant_id
            ORDER BY moved_at DESC, delivery DESC LIMIT 1 OFFSET ?1)
         CROSS JOIN deliveries d ON d.seq = l.delivery",
    )?;
    let mut found = beyond.query([max])?;
    let mut overflow = Vec::new();
    while let Some(row) = found.next()? {
        overflow.push(ArchiveSelection::Overflow(
            rows::id(row, 0)?,
            rows::time(row, 1)?,
            rows::id(row, 2)?,
        ));
    }
    Ok(overflow)
}

fn leaving(
    db: &Connection,
    which: ArchiveSelection,
    max: usize,
    max_bytes: usize,
) -> Result<Vec<FullDeadLetter>, TxError> {
    let mut conditions = Conditions::default();
    let order = match which {
        ArchiveSelection::Expired(by) => {
            conditions.add("l.expires_at <= $", by.micros());
            "l.expires_at, l.delivery"
        }
        ArchiveSelection::Overflow(tenant, moved_at, delivery) => {
            conditions.add("l.tenant_id = $", tenant.bytes());
            conditions.add("l.moved_at <= $", moved_at.micros());
            conditions.add("(l.moved_at < ?2 OR l.delivery <= $)", seq(delivery));
            "l.moved_at, l.delivery"
        }
    };
    // In this order of tables, the index gives the order and nothing has to be sorted.
    let mut list = db.prepare_cached(&format!(
        "SELECT {LETTER}
         FROM dead_letters l CROSS JOIN deliveries d CROSS JOIN parcels p
         WHERE d.seq = l.delivery AND d.state = {DEAD} AND p.seq = d.parcel AND {}
         ORDER BY {order} LIMIT {max}",
        conditions.sql()
    ))?;
    let mut found = list.query(&*conditions.values())?;
    let (mut letters, mut bytes) = (Vec::new(), 0);
    while bytes < max_bytes
        && let Some(row) = found.next()?
    {
        let whole = whole(db, row)?;
        bytes += weight(&whole);
        letters.push(whole);
    }
    Ok(letters)
}

fn whole(db: &Connection, row: &Row<'_>) -> Result<FullDeadLetter, TxError> {
    let letter = dead_letter(row)?;
    let mut log = db.prepare_cached(&format!(
        "SELECT {ATTEMPT} FROM attempts WHERE delivery = ?1 ORDER BY number"
    ))?;
    let mut found = log.query([seq(letter.delivery)])?;
    let mut attempts = Vec::new();
    while let Some(row) = found.next()? {
        attempts.push(rows::attempt(row)?);
    }
    Ok(FullDeadLetter { letter, attempts })
}

fn weight(whole: &FullDeadLetter) -> usize {
    let of = |one: &Attempt| {
        one.request_headers.len() + one.response_headers.len() + one.response_body.len()
    };
    whole.letter.original.len() + whole.attempts.iter().map(of).sum::<usize>()
}
