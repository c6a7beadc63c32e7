//! Time buckets: the periods in which a target got deliveries of a lane. Deliveries of a target or a lane are
//! found by them.
//!
//! An index of every delivery by its target would be written twice for each: when it is accepted and, because
//! its state is in other indexes, again when it is settled. So only one entry per bucket is stored: that a
//! target got something of a lane within an eighth of a second. Ids are in order of time, so a bucket is a
//! short range of a tenant's deliveries.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use gancho_domain::{DeliveryId, Lane, TenantId, Time};
use gancho_store::{NewDelivery, TargetId};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    rows::{self, uuid},
    session::{Session, execute, query},
    tx_error::TxError,
};

/// An id begins with its milliseconds: 128 of them make a bucket.
const BUCKET_BITS: u32 = 80 + 7;

/// A tenant's target, and a lane of its deliveries.
type LaneTarget = (TenantId, TargetId, Lane);
pub(crate) type Bucket = (LaneTarget, u128);

pub(crate) fn of(tenant: TenantId, to: &NewDelivery) -> Bucket {
    ((tenant, to.target, to.lane), u128::from_be_bytes(to.id.bytes()) >> BUCKET_BITS)
}

/// Returns the start of this delivery's bucket.
pub(crate) fn start_of(id: DeliveryId) -> Uuid {
    edge(u128::from_be_bytes(id.bytes()) >> BUCKET_BITS)
}

fn edge(number: u128) -> Uuid {
    Uuid::from_u128(number << BUCKET_BITS)
}

/// The last bucket that one committer has written for each target. A bucket is added only after its commit,
/// because what was rolled back must be written again.
#[derive(Default)]
pub(crate) struct RecentBuckets(HashMap<LaneTarget, u128>);

/// Maximum targets. Beyond it the cache starts over, which costs each of them one needless write.
const MAX_TARGETS: usize = 50_000;

impl RecentBuckets {
    /// Returns the buckets that must be written, in order, so that two writers of the same rows wait for each
    /// other but cannot deadlock.
    pub fn unknown(&self, buckets: impl Iterator<Item = Bucket>) -> BTreeSet<Bucket> {
        buckets.filter(|(to, bucket)| self.0.get(to) != Some(bucket)).collect()
    }

    pub fn learn(&mut self, buckets: BTreeSet<Bucket>) {
        if self.0.len() + buckets.len() > MAX_TARGETS {
            self.0.clear();
        }
        let newest: BTreeMap<_, _> = buckets.into_iter().collect();
        self.0.extend(newest);
    }
}

const INSERT: &str = "
insert into spans (tenant_id, target_id, from_id, to_id, lane)
select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::int2[])
on conflict do nothing";

pub(crate) async fn write(session: &Session, buckets: &BTreeSet<Bucket>) -> Result<(), TxError> {
    if buckets.is_empty() {
        return Ok(());
    }
    let tenants: Vec<Uuid> = buckets.iter().map(|(to, _)| uuid(to.0)).collect();
    let targets: Vec<Uuid> = buckets.iter().map(|(to, _)| uuid(to.1)).collect();
    let lanes: Vec<i16> = buckets.iter().map(|(to, _)| to.2.number()).collect();
    let from: Vec<Uuid> = buckets.iter().map(|bucket| edge(bucket.1)).collect();
    let to: Vec<Uuid> = buckets.iter().map(|bucket| edge(bucket.1 + 1)).collect();
    execute(session, INSERT, &[&tenants, &targets, &from, &to, &lanes]).await?;
    Ok(())
}

/// A bucket as a row of the table, in order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BucketRow {
    from: Uuid,
    to: Uuid,
    tenant: Uuid,
    target: Uuid,
    lane: i16,
}

impl BucketRow {
    /// Reads the bucket of a delivery, from its tenant, target, lane and id.
    pub fn of_delivery(row: &Row) -> Result<Self, TxError> {
        let id: Uuid = rows::get(row, 3)?;
        let bucket = id.as_u128() >> BUCKET_BITS;
        Ok(Self {
            from: edge(bucket),
            to: edge(bucket + 1),
            tenant: rows::get(row, 0)?,
            target: rows::get(row, 1)?,
            lane: rows::get(row, 2)?,
        })
    }
}

/// Removes the empty ones of these buckets. A committer that has written one of them may believe that it
/// still exists; it is older than any delivery that can come.
const REMOVE: &str = "
delete from spans s
using unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::int2[])
    as k(tenant_id, target_id, from_id, to_id, lane)
where s.tenant_id = k.tenant_id and s.target_id = k.target_id and s.from_id = k.from_id
  and s.lane = k.lane
  and not exists (select from deliveries d where d.tenant_id = k.tenant_id
      and d.id >= k.from_id and d.id < k.to_id and d.target_id = k.target_id and d.lane = k.lane)";

pub(crate) async fn remove(
    session: &Session,
    buckets: &BTreeSet<BucketRow>,
) -> Result<(), TxError> {
    if buckets.is_empty() {
        return Ok(());
    }
    let tenants: Vec<Uuid> = buckets.iter().map(|one| one.tenant).collect();
    let targets: Vec<Uuid> = buckets.iter().map(|one| one.target).collect();
    let from: Vec<Uuid> = buckets.iter().map(|one| one.from).collect();
    let to: Vec<Uuid> = buckets.iter().map(|one| one.to).collect();
    let lanes: Vec<i16> = buckets.iter().map(|one| one.lane).collect();
    execute(session, REMOVE, &[&tenants, &targets, &from, &to, &lanes]).await?;
    Ok(())
}

const READ_BUCKETS: &str = "
select s.tenant_id, s.target_id, s.lane, s.from_id, s.to_id,
    not exists (select from deliveries d where d.tenant_id = s.tenant_id
        and d.id >= s.from_id and d.id < s.to_id and d.target_id = s.target_id and d.lane = s.lane)
from spans s
where s.from_id < $1 and s.from_id >= $2
  and (s.from_id, s.tenant_id, s.target_id, s.lane) > ($2, $3, $4, $5)
order by s.from_id, s.tenant_id, s.target_id, s.lane limit $6";

/// Returns the empty ones of the next buckets before a time, and the position to continue from: `None` at the
/// end.
pub(crate) async fn next_empty(
    session: &Session,
    at: Option<BucketRow>,
    before: Time,
    limit: i64,
) -> Result<(BTreeSet<BucketRow>, Option<BucketRow>), TxError> {
    let nil = Uuid::nil();
    let (from, tenant, target, lane) =
        at.map_or((nil, nil, nil, 0), |at| (at.from, at.tenant, at.target, at.lane));
    let end = rows::first_id_at(before);
    let looked =
        query(session, READ_BUCKETS, &[&end, &from, &tenant, &target, &lane, &limit]).await?;
    let (mut empty, mut last) = (BTreeSet::new(), None);
    for (count, row) in (1..).zip(&looked) {
        let bucket = BucketRow {
            tenant: rows::get(row, 0)?,
            target: rows::get(row, 1)?,
            lane: rows::get(row, 2)?,
            from: rows::get(row, 3)?,
            to: rows::get(row, 4)?,
        };
        if rows::get(row, 5)? {
            empty.insert(bucket);
        }
        last = Some(bucket).filter(|_| count == limit);
    }
    Ok((empty, last))
}
