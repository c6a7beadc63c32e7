//! Rolls up due chunks, a few series at a time: a reader adds up, and the writer writes the sums unless the
//! rows have changed meanwhile.

use gancho_domain::{Figures, Time};
use gancho_store::{
    Result, Series,
    statistics::level::{DueChunk, Level, SeriesKey, place_to_bytes},
};
use rusqlite::{Connection, params};

use super::{due_chunks, figures, mark_due, put, series_key};
use crate::{
    SqliteStore,
    transaction::Tx,
    tx_error::{TxError, corrupt},
};

/// The sums of some series of a chunk.
struct ChunkSums {
    due: DueChunk,
    above: Level,
    sums: Vec<(SeriesKey, Figures)>,
    /// Whether there are no series after them.
    is_last: bool,
}

impl SqliteStore {
    pub(super) async fn roll_up_step(&self, max: usize, now: Time) -> Result<bool> {
        let found = self.read_aside(move |db| sum_next(db, max.max(1), now)).await?;
        let Some(found) = found else { return Ok(false) };
        self.write_more(move |tx| write_sums(tx, &found)).await?;
        Ok(true)
    }
}

/// Adds up the next series of the oldest chunk that is due and over. `None`: there is nothing to do.
fn sum_next(db: &Connection, max: usize, now: Time) -> Result<Option<ChunkSums>, TxError> {
    let due = due_chunks(db)?;
    let over = due.into_iter().find(|due| due.level.is_over(due.chunk, now));
    let Some(due) = over else { return Ok(None) };
    let above = due.level.above().ok_or_else(|| corrupt("days are rolled up to nothing"))?;
    let mut list = db.prepare_cached(
        "SELECT tenant_id, target_id, lane, figures FROM statistics
         WHERE level = ?1 AND chunk = ?2 AND (tenant_id, target_id, lane) > (?3, ?4, ?5)
         ORDER BY tenant_id, target_id, lane",
    )?;
    // Lanes have higher numbers.
    let (tenant, target, lane) = due.place.unwrap_or(([0; 16], [0; 16], -1));
    let mut found =
        list.query(params![due.level.number(), due.chunk.secs(), tenant, target, lane])?;
    let (mut sums, mut is_last) = (Vec::<(SeriesKey, Figures)>::new(), true);
    while let Some(row) = found.next()? {
        let (key, figures) = (series_key(row, 0)?, figures(row, 3)?);
        if let Some((_, sum)) = sums.last_mut().filter(|(last, _)| *last == key) {
            sum.merge(&figures);
        } else if sums.len() < max {
            sums.push((key, figures));
        } else {
            is_last = false;
            break;
        }
    }
    Ok(Some(ChunkSums { due, above, sums, is_last }))
}

/// Writes the sums, unless another call has changed or rolled up the chunk since it was read.
fn write_sums(tx: &Tx<'_>, found: &ChunkSums) -> Result<(), TxError> {
    let ChunkSums { due, above, sums, is_last } = found;
    let place = sums.last().map(|(key, _)| place_to_bytes(*key));
    let moved = tx
        .db
        .prepare_cached(
            "UPDATE statistics_due SET version = version + 1, place = ?4
             WHERE level = ?1 AND chunk = ?2 AND version = ?3",
        )?
        .execute(params![due.level.number(), due.chunk.secs(), due.version, place])?;
    if moved == 0 {
        return Ok(());
    }
    for (key, figures) in sums {
        let series = Series::from_key(*key).ok_or_else(|| corrupt("unknown lane of a series"))?;
        put(tx, *above, &series, due.chunk, (0, 0), figures)?;
    }
    if above.above().is_some() && !sums.is_empty() {
        mark_due(tx, *above, above.chunk_step().floor(due.chunk))?;
    }
    if *is_last {
        tx.db
            .prepare_cached("DELETE FROM statistics_due WHERE level = ?1 AND chunk = ?2")?
            .execute(params![due.level.number(), due.chunk.secs()])?;
    }
    Ok(())
}
