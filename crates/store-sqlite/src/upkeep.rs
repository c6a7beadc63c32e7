//! Keeping the file small and knowing how full it is.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use gancho_domain::{Failure, Lane, TenantId, Time, decide, id};
use gancho_store::{LaneDepth, Result, Space, Upkeep};
use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    SqliteStore, external_ids, fault::Fault, once, order, rows, settle::bury, space, spans,
    transaction::Tx,
};

#[async_trait]
impl Upkeep for SqliteStore {
    async fn prune(&self, before: Time, most: usize, now: Time) -> Result<u64> {
        let place = self.prune_place.clone();
        self.write(move |tx| {
            let gone = prune(tx, &place, before, most, now)?;
            spans::prune(tx, before, most * LOOKS)?;
            Ok(gone)
        })
        .await
    }

    async fn expire(&self, lane: Lane, before: Time, most: usize, now: Time) -> Result<u64> {
        let found = self.read_aside(move |db| overdue(db, lane, before, most)).await?;
        self.write(move |tx| expire(tx, &found, now)).await
    }

    async fn depths(&self) -> Result<Vec<LaneDepth>> {
        self.read_aside(|db| {
            let mut count = db.prepare_cached(
                "SELECT
                   (SELECT count(*) FROM deliveries WHERE state = 2 AND lane = ?1),
                   (SELECT count(*) FROM deliveries WHERE state = 3 AND lane = ?1),
                   (SELECT count(*) FROM deliveries INDEXED BY deliveries_in_order
                    WHERE subject IS NOT NULL AND state < 5 AND state = 4 AND lane = ?1),
                   (SELECT min(due_at) FROM deliveries WHERE state = 2 AND lane = ?1)",
            )?;
            let mut depths = Vec::new();
            for lane in Lane::ALL {
                let mut found = count.query([lane.number()])?;
                if let Some(row) = found.next()? {
                    let number = |column| row.get::<_, i64>(column).map(|count| count as u64);
                    depths.push(LaneDepth {
                        lane,
                        pending: number(0)?,
                        leased: number(1)?,
                        waiting: number(2)?,
                        oldest_due: rows::maybe_time(row, 3)?,
                    });
                }
            }
            Ok(depths)
        })
        .await
    }

    async fn space(&self) -> Result<Space> {
        let limit = self.writer.limit();
        self.read_aside(move |db| Ok(Space { used: space::used(db)?, limit })).await
    }

    async fn last_written(&self) -> Result<Option<Time>> {
        self.read(|db| Ok(last_written(db)?)).await
    }

    async fn highest_lead(&self) -> Result<i64> {
        self.read_aside(|db| {
            let rows: Option<i64> = db.query_row(
                "SELECT max((SELECT coalesce(max(seq), 0) FROM parcels),
                            (SELECT coalesce(max(seq), 0) FROM deliveries))",
                [],
                |row| row.get(0),
            )?;
            let mut highest = rows.unwrap_or(0);
            for table in ["tenants", "endpoints"] {
                let top: Option<[u8; 16]> = db
                    .query_row(&format!("SELECT max(id) FROM {table}"), [], |row| row.get(0))
                    .optional()?
                    .flatten();
                if let Some(top) = top {
                    highest = highest.max(id::lead(TenantId::from_bytes(top)));
                }
            }
            Ok(highest)
        })
        .await
    }
}

/// The time of the newest row or of the last heartbeat, whichever is later. A node that has left takes
/// its heartbeat with it.
fn last_written(db: &Connection) -> rusqlite::Result<Option<Time>> {
    let (seq, beat_at): (Option<i64>, Option<i64>) = db.query_row(
        "SELECT max((SELECT coalesce(max(seq), 0) FROM parcels),
                    (SELECT coalesce(max(seq), 0) FROM deliveries)),
                (SELECT max(beat_at) FROM nodes)",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let newest = seq.filter(|seq| *seq > 0).map(rows::time_of_seq);
    Ok(newest.max(beat_at.map(Time::from_micros)))
}

/// A step looks at so many parcels for each that it may remove, and the next goes on from there: a
/// store full of old ones that must stay does not make a step long.
const LOOKS: usize = 10;

fn prune(
    tx: &Tx<'_>,
    place: &AtomicI64,
    before: Time,
    most: usize,
    now: Time,
) -> Result<u64, Fault> {
    once::forget(tx, most * LOOKS, now)?;
    let looked: Vec<(i64, bool)> = tx
        .db
        .prepare_cached(
            "SELECT p.seq, p.created_at < ?3 AND NOT EXISTS
               (SELECT 1 FROM json_each(p.deliveries) j JOIN deliveries d ON d.seq = j.value WHERE
                  d.state < 5 OR EXISTS (SELECT 1 FROM dead_letters l WHERE l.delivery = d.seq))
             FROM parcels p WHERE p.seq > ?1 AND p.seq < ?2 ORDER BY p.seq LIMIT ?4",
        )?
        .query_map(
            params![
                place.load(Ordering::Relaxed),
                rows::first_seq_at(before + Duration::from_secs(60)),
                before.micros(),
                (most * LOOKS) as i64
            ],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?
        .collect::<rusqlite::Result<_>>()?;
    // At the end of the old ones, begin again with the oldest.
    let mut next =
        if looked.len() < most * LOOKS { None } else { looked.last().map(|last| last.0) };
    let mut gone = 0;
    for (seq, may_go) in looked {
        if gone == most {
            next = Some(seq - 1);
            break;
        }
        if may_go {
            remove(tx, seq)?;
            gone += 1;
        }
    }
    place.store(next.unwrap_or(0), Ordering::Relaxed);
    Ok(gone as u64)
}

fn remove(tx: &Tx<'_>, seq: i64) -> Result<(), Fault> {
    external_ids::forget(tx, seq)?;
    for sql in [
        "DELETE FROM attempts WHERE delivery IN
           (SELECT j.value FROM parcels p, json_each(p.deliveries) j WHERE p.seq = ?1)",
        "DELETE FROM deliveries WHERE seq IN
           (SELECT j.value FROM parcels p, json_each(p.deliveries) j WHERE p.seq = ?1)",
        "DELETE FROM parcels WHERE seq = ?1",
    ] {
        tx.db.prepare_cached(sql)?.execute([seq])?;
    }
    Ok(())
}

/// Those that are too old. Looked for by a reader, as it may have to read the whole of a lane.
fn overdue(db: &Connection, lane: Lane, before: Time, most: usize) -> Result<Vec<i64>, Fault> {
    Ok(db
        .prepare_cached(
            "SELECT d.seq FROM deliveries d INDEXED BY deliveries_due
             WHERE d.state = 2 AND d.lane = ?1 AND d.created_at < ?2 AND d.attempts_before = 0
             UNION ALL
             SELECT d.seq FROM deliveries d INDEXED BY deliveries_in_order
             WHERE d.subject IS NOT NULL AND d.state < 5 AND d.state = 4 AND d.lane = ?1
               AND d.created_at < ?2 AND d.attempts_before = 0
             LIMIT ?3",
        )?
        .query_map(params![lane.number(), before.micros(), most as i64], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?)
}

fn expire(tx: &Tx<'_>, overdue: &[i64], now: Time) -> Result<u64, Fault> {
    let mut count = 0;
    for seq in overdue {
        // It may have been claimed since it was looked at, and one that was armed anew has all the
        // time its plan asks for.
        let expired = tx
            .db
            .prepare_cached(
                "UPDATE deliveries SET state = 6 WHERE seq = ?1 AND state IN (2, 4)
                   AND NOT EXISTS (SELECT 1 FROM dead_letters l WHERE l.delivery = ?1)",
            )?
            .execute([seq])?;
        if expired == 1 {
            let last = last_failure(tx, *seq)?;
            bury(tx, *seq, &decide::expired(last.as_ref()), now, now)?;
            order::move_up(tx, *seq)?;
            count += 1;
        }
    }
    Ok(count)
}

/// Of the last attempt, if there was one.
pub(crate) fn last_failure(tx: &Tx<'_>, seq: i64) -> Result<Option<Failure>, Fault> {
    let mut find = tx.db.prepare_cached(
        "SELECT code, reason FROM attempts WHERE delivery = ?1 ORDER BY number DESC LIMIT 1",
    )?;
    let mut found = find.query([seq])?;
    match found.next()? {
        Some(row) => rows::failure(row, 0, 1),
        None => Ok(None),
    }
}
