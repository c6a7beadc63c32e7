//! Keeps the file small, and reports how full it is.

use async_trait::async_trait;
use gancho_domain::{Failure, Lane, TenantId, Time, decide, event_type::is_reserved, id};
use gancho_store::{EndedDelivery, LaneDepth, PruneStep, Result, Space, Upkeep};
use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    SqliteStore, order, rows,
    settle::bury,
    space,
    states::{DEAD, ENDED, LEASED, PENDING, WAITING, sql},
    transaction::Tx,
    tx_error::TxError,
};

#[async_trait]
impl Upkeep for SqliteStore {
    async fn prune(&self, before: Time, max: usize, now: Time) -> Result<PruneStep> {
        self.prune_step(before, max, now).await
    }

    async fn expire(
        &self,
        lane: Lane,
        before: Time,
        max: usize,
        now: Time,
    ) -> Result<Vec<EndedDelivery>> {
        let found = self.read_aside(move |db| overdue(db, lane, before, max)).await?;
        self.write(move |tx| expire(tx, &found, now)).await
    }

    async fn depths(&self) -> Result<Vec<LaneDepth>> {
        self.read_aside(|db| {
            let mut count = db.prepare_cached(
                sql!("SELECT
                   (SELECT count(*) FROM deliveries WHERE state = {PENDING} AND lane = ?1),
                   (SELECT count(*) FROM deliveries WHERE state = {LEASED} AND lane = ?1),
                   (SELECT count(*) FROM deliveries INDEXED BY deliveries_in_order
                    WHERE subject IS NOT NULL AND state < {ENDED} AND state = {WAITING} AND lane = ?1),
                   (SELECT min(due_at) FROM deliveries WHERE state = {PENDING} AND lane = ?1)"),
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

    fn set_space_limit(&self, limit: Option<u64>) {
        self.writer.set_limit(limit);
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

/// Returns the time of the newest row or of the last heartbeat, whichever is later. A node that left has
/// removed its heartbeat.
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

/// Returns deliveries that are too old. Runs in a reader, because it may have to read a whole lane.
fn overdue(db: &Connection, lane: Lane, before: Time, max: usize) -> Result<Vec<i64>, TxError> {
    Ok(db
        .prepare_cached(
            sql!("SELECT d.seq FROM deliveries d INDEXED BY deliveries_due
             WHERE d.state = {PENDING} AND d.lane = ?1 AND d.created_at < ?2 AND d.attempts_before = 0
               AND (d.attempts > 0 OR d.due_at < ?2)
             UNION ALL
             SELECT d.seq FROM deliveries d INDEXED BY deliveries_in_order
             WHERE d.subject IS NOT NULL AND d.state < {ENDED} AND d.state = {WAITING} AND d.lane = ?1
               AND d.created_at < ?2 AND d.attempts_before = 0
             LIMIT ?3"),
        )?
        .query_map(params![lane.number(), before.micros(), max as i64], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?)
}

fn expire(tx: &Tx<'_>, overdue: &[i64], now: Time) -> Result<Vec<EndedDelivery>, TxError> {
    let mut ended = Vec::new();
    for seq in overdue {
        // It may have been claimed since it was read; a retried one has the full time of its plan.
        let expired = tx
            .db
            .prepare_cached(
                sql!("UPDATE deliveries SET state = {DEAD} WHERE seq = ?1 AND state IN ({PENDING}, {WAITING})
                   AND NOT EXISTS (SELECT 1 FROM dead_letters l WHERE l.delivery = ?1)"),
            )?
            .execute([seq])?;
        if expired == 1 {
            let last = last_failure(tx, *seq)?;
            bury(tx, *seq, &decide::expired(last.as_ref()), now, now)?;
            order::move_up(tx, *seq)?;
            ended.push(ended_delivery(tx, *seq)?);
        }
    }
    Ok(ended)
}

pub(crate) fn ended_delivery(tx: &Tx<'_>, seq: i64) -> Result<EndedDelivery, TxError> {
    let mut find = tx.db.prepare_cached(
        "SELECT d.tenant_id, d.id, p.id, d.target_id, d.attempts, p.is_test, p.event_type
         FROM deliveries d JOIN parcels p ON p.seq = d.parcel WHERE d.seq = ?1",
    )?;
    find.query_row([seq], |row| {
        let (attempts, is_test) = (row.get(4)?, row.get(5)?);
        let is_notice = is_reserved(row.get_ref(6)?.as_str()?);
        let read = || {
            let (tenant, delivery) = (rows::id(row, 0)?, rows::id(row, 1)?);
            let (parcel, target) = (rows::id(row, 2)?, rows::id(row, 3)?);
            Ok(EndedDelivery { tenant, delivery, parcel, target, attempts, is_test, is_notice })
        };
        Ok(read())
    })?
}

/// Returns the failure of the last attempt, if there was one.
pub(crate) fn last_failure(tx: &Tx<'_>, seq: i64) -> Result<Option<Failure>, TxError> {
    let mut find = tx.db.prepare_cached(
        "SELECT code, reason FROM attempts WHERE delivery = ?1 ORDER BY number DESC LIMIT 1",
    )?;
    let mut found = find.query([seq])?;
    match found.next()? {
        Some(row) => rows::failure(row, 0, 1),
        None => Ok(None),
    }
}
