//! Time buckets: the periods in which a target got deliveries of a lane. A target's deliveries are found by
//! them.
//!
//! An index of every delivery by its target would change in another place for each target: with fifty busy
//! targets, a commit wrote as many pages of that index as of everything else. So only one entry per bucket is
//! stored: that a target got something of a lane within an eighth of a second. Rows are in order of time, so
//! a bucket is a short range of the table, and a list reads the ranges that contain something for it.

use gancho_domain::{Lane, Parcel, TenantId, TenantScope};
use gancho_store::{NewDelivery, TargetId};
use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    rows::seq, scan::Direction, transaction::Tx, tx_error::TxError, writer_cache::LaneTarget,
};

/// A row's number has milliseconds above 15 bits: 128 of them make a bucket.
pub(crate) const BUCKET_BITS: u32 = 22;

/// Used in place of a target for parcels with very many of the tenant's targets. Each of these reads such a
/// bucket too.
pub(crate) const ANY_TARGET: TargetId = TargetId::from_bits(0);

pub(crate) fn note_delivery(
    tx: &Tx<'_>,
    tenant: TenantId,
    new: &NewDelivery,
) -> Result<(), TxError> {
    note(tx, tenant, (new.target, new.lane), seq(new.id))
}

/// Notes the bucket for one of very many deliveries of a parcel.
pub(crate) fn note_wide(tx: &Tx<'_>, tenant: TenantId, new: &NewDelivery) -> Result<(), TxError> {
    note(tx, tenant, (ANY_TARGET, new.lane), seq(new.id))
}

fn note(tx: &Tx<'_>, tenant: TenantId, to: LaneTarget, seq: i64) -> Result<(), TxError> {
    let bucket = seq >> BUCKET_BITS;
    if tx.cache.recent_buckets.is_new((tenant, to), bucket) {
        let (target, lane) = to;
        tx.db
            .prepare_cached(
                "INSERT OR IGNORE INTO spans (tenant_id, target_id, lane, span)
                 VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![tenant.bytes(), target.bytes(), lane.number(), bucket])?;
    }
    Ok(())
}

/// Notes the bucket of a parcel in its lane, so that events are found by it. A parcel is created just before
/// its deliveries, so it nearly always shares their bucket.
pub(crate) fn note_parcel(
    tx: &Tx<'_>,
    parcel: &Parcel,
    first: &NewDelivery,
    target: TargetId,
) -> Result<(), TxError> {
    let (lane, row) = (parcel.kind.lane(), seq(parcel.id));
    if lane == first.lane && row >> BUCKET_BITS == seq(first.id) >> BUCKET_BITS {
        return Ok(());
    }
    note(tx, parcel.tenant, (target, lane), row)
}

/// Selects buckets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BucketFilter {
    pub target: Option<TargetId>,
    pub lane: Option<Lane>,
}

/// Returns the first bucket, in this direction, that has rows in the given range.
pub(crate) fn next(
    db: &Connection,
    scope: TenantScope,
    filter: BucketFilter,
    (from, to): (i64, i64),
    direction: Direction,
) -> Result<Option<i64>, TxError> {
    let mut next: Option<i64> = None;
    let word = direction.word();
    for lane in filter.lane.map_or(Lane::ALL.to_vec(), |lane| vec![lane]) {
        let (tenant, lane) = (scope.tenant().bytes(), lane.number());
        let (last, first) = ((to - 1) >> BUCKET_BITS, from >> BUCKET_BITS);
        let targets =
            filter.target.map_or(vec![None], |target| vec![Some(target), Some(ANY_TARGET)]);
        for target in targets {
            let found = match target {
                Some(target) => {
                    db.prepare_cached(&format!(
                        "SELECT span FROM spans
                         WHERE tenant_id = ?1 AND lane = ?2 AND span <= ?3 AND span >= ?4
                           AND target_id = ?5 ORDER BY span {word} LIMIT 1"
                    ))?
                    .query_row(params![tenant, lane, last, first, target.bytes()], |row| row.get(0))
                }
                None => db
                    .prepare_cached(&format!(
                        "SELECT span FROM spans INDEXED BY spans_of_lane
                         WHERE tenant_id = ?1 AND lane = ?2 AND span <= ?3 AND span >= ?4
                         ORDER BY span {word} LIMIT 1"
                    ))?
                    .query_row(params![tenant, lane, last, first], |row| row.get(0)),
            };
            let buckets = next.into_iter().chain(found.optional()?);
            next = if direction.is_newest_first() { buckets.max() } else { buckets.min() };
        }
    }
    Ok(next)
}

/// Returns the rows of a bucket whose keys are below this one, and the key that is reached with the last of
/// them.
pub(crate) fn rows_of(bucket: i64, below: i64, direction: Direction) -> ((i64, i64), i64) {
    let (first, end) = (first_row(bucket), first_row(bucket + 1));
    let last = if direction.is_newest_first() { first } else { end - 1 };
    (direction.rows_below(below, first, end), direction.key(last))
}

/// Returns the lowest row number in a bucket.
const fn first_row(bucket: i64) -> i64 {
    bucket << BUCKET_BITS
}
