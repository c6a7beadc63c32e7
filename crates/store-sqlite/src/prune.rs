//! Prunes expired rows in small steps: a reader finds them, and the writer removes a few at a time.
//!
//! Parcels are scanned in order of time, and the next step continues after the last. A store full of old
//! parcels that must stay (because of their dead letters) is scanned slowly; one full of expired ones as fast
//! as the steps follow each other.

use std::collections::{BTreeMap, BTreeSet};

use gancho_domain::{Lane, ParcelKind, TenantId, Time};
use gancho_store::{PruneStep, Result, TargetId, upkeep::Cutoff};
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    SqliteStore, audit,
    erasure::ErasePass,
    external_ids, idempotency, rows,
    states::{ENDED, Sql},
    statistics,
    time_buckets::{ANY_TARGET, BUCKET_BITS},
    transaction::Tx,
    tx_error::TxError,
};

/// How many parcels a step scans for each that it may remove.
const LOOKS: usize = 10;
/// Maximum consecutive steps that find nothing before the rest is left to the next round.
const MAX_IDLE: u32 = 20;

/// How far the passes over the store have come.
#[derive(Default)]
pub(crate) struct Passes {
    parcels: Mutex<Pass<i64>>,
    buckets: Mutex<Pass<Bucket>>,
    pub(crate) erasure: ErasePass,
}

#[derive(Clone, Copy)]
struct Pass<P> {
    /// The last row scanned.
    at: Option<P>,
    /// Consecutive steps that found nothing.
    idle: u32,
    /// Whether it has reached the end once.
    ended: bool,
}

impl<P> Default for Pass<P> {
    fn default() -> Self {
        Self { at: None, idle: 0, ended: false }
    }
}

impl<P: Copy> Pass<P> {
    /// Continues after `last`; `None` is the end. Returns whether the next step should follow at once.
    fn advance(&mut self, last: Option<P>, found: bool) -> bool {
        self.at = last;
        self.ended |= last.is_none();
        self.idle = if found { 0 } else { self.idle + 1 };
        let more = last.is_some() && self.idle < MAX_IDLE;
        if !more {
            self.idle = 0;
        }
        more
    }
}

impl SqliteStore {
    pub(crate) async fn prune_step(
        &self,
        before: Time,
        max: usize,
        now: Time,
    ) -> Result<PruneStep> {
        let max_scanned = max * LOOKS;
        let mut more = self.write(move |tx| idempotency::forget(tx, max_scanned, now)).await?;
        more |= self.write(move |tx| prune_small(tx, max_scanned, now)).await?;
        more |= self.write(move |tx| audit::prune(tx, max_scanned, now)).await?;
        more |= self.write(move |tx| statistics::prune(tx, before, max, now)).await?;
        let (parcels, more_parcels) = self.prune_parcels(before, max, now).await?;
        more |= more_parcels;
        more |= self.prune_buckets(before, max_scanned).await?;
        Ok(PruneStep { parcels, more })
    }

    async fn prune_parcels(&self, before: Time, max: usize, now: Time) -> Result<(u64, bool)> {
        let at = self.passes.parcels.lock().at;
        let cutoff = Cutoff { before, now };
        let mut looked =
            self.read_aside(move |db| scan_parcels(db, at, cutoff, max * LOOKS)).await?;
        if looked.ended.len() > max {
            // The next step scans the rest again.
            looked.ended.truncate(max);
            looked.last = looked.ended.last().copied();
        }
        let found = !looked.ended.is_empty();
        let mut gone = 0;
        if found {
            gone = self.write(move |tx| remove(tx, &looked.ended, cutoff)).await?;
        }
        let more = self.passes.parcels.lock().advance(looked.last, found);
        Ok((gone, more))
    }

    /// Removes empty time buckets. Buckets are removed with their last delivery; this finds those that
    /// earlier versions have left, in one pass over all, after which there is nothing more to find.
    async fn prune_buckets(&self, before: Time, max_scanned: usize) -> Result<bool> {
        let Pass { at, ended, .. } = *self.passes.buckets.lock();
        if ended {
            return Ok(false);
        }
        let looked =
            self.read_aside(move |db| look_at_buckets(db, at, before, max_scanned)).await?;
        let found = !looked.ended.is_empty();
        if found {
            let empty = looked.ended.into_iter().collect();
            self.write(move |tx| remove_buckets(tx, &empty)).await?;
        }
        Ok(self.passes.buckets.lock().advance(looked.last, found))
    }
}

struct ScanStep<P> {
    /// Rows that may be removed.
    ended: Vec<P>,
    /// Where the next step continues; `None`: at the beginning.
    last: Option<P>,
}

const EVENT: i16 = ParcelKind::Event.number();
const EMAIL: i16 = ParcelKind::Email.number();

/// Whether parcel `p` may be pruned: all its deliveries have been placed, have ended and left no dead letter,
/// and it is older than the retention of its tenant, counted from `?2`, or without one created before `?1`.
pub(crate) static HAS_ENDED: Sql = Sql::new(|| {
    format!(
        "p.created_at < coalesce(?2 - (SELECT CASE p.kind WHEN {EVENT} THEN t.keep_events_us
     WHEN {EMAIL} THEN t.keep_emails_us END FROM tenants t WHERE t.id = p.tenant_id), ?1)
   AND NOT EXISTS
   (SELECT 1 FROM json_each(p.deliveries) j JOIN deliveries d ON d.seq = j.value WHERE
      d.state < {ENDED} OR EXISTS (SELECT 1 FROM dead_letters l WHERE l.delivery = d.seq))
   AND NOT EXISTS (SELECT 1 FROM fan_out_parts f WHERE f.parcel = p.seq)"
    )
});

/// How much younger than its id a parcel may be. Within this, the id alone does not keep it.
const GRACE: std::time::Duration = std::time::Duration::from_secs(60);

fn scan_parcels(
    db: &Connection,
    at: Option<i64>,
    cutoff: Cutoff,
    max: usize,
) -> Result<ScanStep<i64>, TxError> {
    let Cutoff { before, now } = cutoff;
    let mut list = db.prepare_cached(&format!(
        "SELECT p.seq, {HAS_ENDED} FROM parcels p
         WHERE p.seq > ?3 AND p.seq < ?4 ORDER BY p.seq LIMIT ?5"
    ))?;
    let shortest = shortest_retention(db)?.map(|keep| now - keep);
    let end = rows::first_seq_at(shortest.map_or(before, |own| own.max(before)) + GRACE);
    let values = params![before.micros(), now.micros(), at.unwrap_or(0), end, max as i64];
    let mut found = list.query(values)?;
    let mut looked = ScanStep { ended: Vec::new(), last: None };
    let mut count = 0;
    while let Some(row) = found.next()? {
        count += 1;
        let seq = row.get(0)?;
        if row.get(1)? {
            looked.ended.push(seq);
        }
        looked.last = Some(seq).filter(|_| count == max);
    }
    Ok(looked)
}

/// Returns the shortest retention of any tenant that has its own.
fn shortest_retention(db: &Connection) -> Result<Option<std::time::Duration>, TxError> {
    let mut find = db.prepare_cached(
        "SELECT min(min(coalesce(keep_events_us, keep_emails_us),
           coalesce(keep_emails_us, keep_events_us)))
         FROM tenants INDEXED BY tenants_with_retention
         WHERE keep_events_us IS NOT NULL OR keep_emails_us IS NOT NULL",
    )?;
    let shortest: Option<i64> = find.query_row([], |row| row.get(0))?;
    Ok(shortest.map(|keep| std::time::Duration::from_micros(keep as u64)))
}

/// Removes parcels with their deliveries and attempts. A parcel that was redelivered since the scan stays.
pub(crate) fn remove(tx: &Tx<'_>, parcels: &[i64], cutoff: Cutoff) -> Result<u64, TxError> {
    let (mut subjects, mut left) = (BTreeMap::new(), BTreeSet::new());
    let mut gone = 0;
    for &seq in parcels {
        let mut find = tx.db.prepare_cached(&format!(
            "SELECT p.tenant_id, p.subject FROM parcels p WHERE p.seq = ?3 AND {HAS_ENDED}"
        ))?;
        let found: Option<(TenantId, Option<String>)> = find
            .query_row(params![cutoff.before.micros(), cutoff.now.micros(), seq], |row| {
                Ok((TenantId::from_bytes(row.get(0)?), row.get(1)?))
            })
            .optional()?;
        let Some((tenant, subject)) = found else { continue };
        if let Some(subject) = subject {
            *subjects.entry((tenant, subject)).or_insert(0_i64) += 1;
        }
        buckets_of(tx, seq, &mut left)?;
        remove_one(tx, seq)?;
        gone += 1;
    }
    forget_subjects(tx, &subjects)?;
    remove_buckets(tx, &left)?;
    Ok(gone)
}

fn remove_one(tx: &Tx<'_>, seq: i64) -> Result<(), TxError> {
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

/// Removes subjects with their last parcel. Their numbers then start again at 1.
pub(crate) fn forget_subjects(
    tx: &Tx<'_>,
    subjects: &BTreeMap<(TenantId, String), i64>,
) -> Result<(), TxError> {
    let mut count = tx.db.prepare_cached(
        "UPDATE subjects SET gone = gone + ?3 WHERE tenant_id = ?1 AND subject = ?2",
    )?;
    let mut forget = tx.db.prepare_cached(
        "DELETE FROM subjects WHERE tenant_id = ?1 AND subject = ?2 AND gone >= last",
    )?;
    for ((tenant, subject), gone) in subjects {
        count.execute(params![tenant.bytes(), subject, gone])?;
        forget.execute(params![tenant.bytes(), subject])?;
    }
    Ok(())
}

/// Buckets in order of time.
type Bucket = (i64, TenantId, TargetId, i16);

fn buckets_of(tx: &Tx<'_>, parcel: i64, buckets: &mut BTreeSet<Bucket>) -> Result<(), TxError> {
    let mut list = tx.db.prepare_cached(
        "SELECT d.seq, d.tenant_id, d.target_id, d.lane FROM parcels p, json_each(p.deliveries) j
         JOIN deliveries d ON d.seq = j.value WHERE p.seq = ?1
         UNION ALL
         SELECT p.seq, p.tenant_id, d.target_id, p.kind FROM parcels p
         JOIN deliveries d ON d.seq = json_extract(p.deliveries, '$[0]') WHERE p.seq = ?1",
    )?;
    let mut found = list.query([parcel])?;
    while let Some(row) = found.next()? {
        let bucket = row.get::<_, i64>(0)? >> BUCKET_BITS;
        let (tenant, lane) = (rows::id(row, 1)?, row.get(3)?);
        buckets.insert((bucket, tenant, rows::id(row, 2)?, lane));
        buckets.insert((bucket, tenant, ANY_TARGET, lane));
    }
    Ok(())
}

/// Whether delivery `d` is for the target of bucket `s`, or the bucket is for any target.
const IS_OF_TARGET: &str = "(d.target_id = s.target_id OR s.target_id = zeroblob(16))";

/// Whether bucket `s` is empty: no delivery is in it, and no parcel by its first delivery. The number of a
/// parcel's kind is that of its lane.
static IS_EMPTY: Sql = Sql::new(|| {
    format!(
        "NOT EXISTS (SELECT 1 FROM deliveries d
    WHERE d.seq >= s.span << {BUCKET_BITS} AND d.seq < (s.span + 1) << {BUCKET_BITS}
      AND d.tenant_id = s.tenant_id AND d.lane = s.lane AND {IS_OF_TARGET})
  AND NOT EXISTS (SELECT 1 FROM parcels p
    JOIN deliveries d ON d.seq = json_extract(p.deliveries, '$[0]')
    WHERE p.seq >= s.span << {BUCKET_BITS} AND p.seq < (s.span + 1) << {BUCKET_BITS}
      AND p.tenant_id = s.tenant_id AND p.kind = s.lane AND {IS_OF_TARGET})"
    )
});

/// Removes the empty ones of these buckets.
fn remove_buckets(tx: &Tx<'_>, buckets: &BTreeSet<Bucket>) -> Result<(), TxError> {
    let mut remove = tx.db.prepare_cached(&format!(
        "DELETE FROM spans AS s WHERE s.tenant_id = ?1 AND s.target_id = ?2 AND s.lane = ?3
           AND s.span = ?4 AND {IS_EMPTY}"
    ))?;
    for &(bucket, tenant, target, lane) in buckets {
        if remove.execute(params![tenant.bytes(), target.bytes(), lane, bucket])? > 0
            && let Some(lane) = Lane::from_number(lane)
        {
            tx.cache.recent_buckets.removed((tenant, (target, lane)), bucket);
        }
    }
    Ok(())
}

fn look_at_buckets(
    db: &Connection,
    at: Option<Bucket>,
    before: Time,
    max: usize,
) -> Result<ScanStep<Bucket>, TxError> {
    let mut list = db.prepare_cached(&format!(
        "SELECT s.span, s.tenant_id, s.target_id, s.lane, {IS_EMPTY}
         FROM spans s INDEXED BY spans_by_time
         WHERE s.span < ?1 AND (s.span, s.tenant_id, s.target_id, s.lane) > (?2, ?3, ?4, ?5)
         ORDER BY s.span, s.tenant_id, s.target_id, s.lane LIMIT ?6"
    ))?;
    let end = rows::first_seq_at(before) >> BUCKET_BITS;
    let first = (0, TenantId::from_bits(0), TargetId::from_bits(0), 0);
    let (bucket, tenant, target, lane) = at.unwrap_or(first);
    let mut found =
        list.query(params![end, bucket, tenant.bytes(), target.bytes(), lane, max as i64])?;
    let mut looked = ScanStep { ended: Vec::new(), last: None };
    let mut count = 0;
    while let Some(row) = found.next()? {
        count += 1;
        let bucket = (row.get(0)?, rows::id(row, 1)?, rows::id(row, 2)?, row.get(3)?);
        if row.get(4)? {
            looked.ended.push(bucket);
        }
        looked.last = Some(bucket).filter(|_| count == max);
    }
    Ok(looked)
}

/// Removes expired records and reports, dead nodes, and usage of more than a year ago. Returns whether there
/// are more.
fn prune_small(tx: &Tx<'_>, max: usize, now: Time) -> Result<bool, TxError> {
    let limit = max as i64;
    let records = tx
        .db
        .prepare_cached(
            "DELETE FROM records WHERE (kind, tenant_id, key) IN
               (SELECT kind, tenant_id, key FROM records INDEXED BY records_by_end
                WHERE until <= ?1 ORDER BY until LIMIT ?2)",
        )?
        .execute(params![now.micros(), limit])?;
    let reports = tx
        .db
        .prepare_cached(
            "DELETE FROM email_reports WHERE (tenant_id, email_id) IN
               (SELECT tenant_id, email_id FROM email_reports INDEXED BY email_reports_by_end
                WHERE until <= ?1 ORDER BY until LIMIT ?2)",
        )?
        .execute(params![now.micros(), limit])?;
    let usage = tx
        .db
        .prepare_cached(
            "DELETE FROM usage WHERE (tenant_id, period) IN
               (SELECT tenant_id, period FROM usage INDEXED BY usage_by_period
                WHERE period < strftime('%Y-%m', ?1, 'unixepoch') ORDER BY period LIMIT ?2)",
        )?
        .execute(params![(now - gancho_store::upkeep::USAGE_KEPT).secs(), limit])?;
    // Deliveries of dead nodes are recognized because their owner is not among the living.
    tx.db.prepare_cached("DELETE FROM nodes WHERE is_dead = 1")?.execute([])?;
    Ok(records == max || reports == max || usage == max)
}
