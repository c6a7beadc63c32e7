//! In which spans of time a target got deliveries of a lane: how a target's and a lane's deliveries are
//! found.
//!
//! An index of every delivery by its target would be written twice for each: when it is accepted and, as
//! its state is in other indexes, again when it is settled. So only this is written down: that a target
//! got something of a lane within an eighth of a second, once for each. Ids are in order of time, so a span is a
//! short stretch of a tenant's deliveries.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use deadpool_postgres::ClientWrapper;
use gancho_domain::{DeliveryId, Lane, TenantId, Time};
use gancho_store::{NewDelivery, TargetId};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    fault::Fault,
    rows::{self, uuid},
    session::{execute, query},
};

/// An id begins with its milliseconds: 128 of them make a span.
const SPAN_BITS: u32 = 80 + 7;

/// Whose, to whom and in which lane.
type Way = (TenantId, TargetId, Lane);
pub(crate) type Span = (Way, u128);

pub(crate) fn of(tenant: TenantId, to: &NewDelivery) -> Span {
    ((tenant, to.target, to.lane), u128::from_be_bytes(to.id.bytes()) >> SPAN_BITS)
}

/// Where the span begins in which this delivery lies.
pub(crate) fn start_of(id: DeliveryId) -> Uuid {
    edge(u128::from_be_bytes(id.bytes()) >> SPAN_BITS)
}

fn edge(number: u128) -> Uuid {
    Uuid::from_u128(number << SPAN_BITS)
}

/// The last span that one committer has written down for each target. It is told of a span once that
/// is committed, never before: what was rolled back must be written again.
#[derive(Default)]
pub(crate) struct Known(HashMap<Way, u128>);

/// Beyond so many targets it begins anew, which costs each of them one needless write.
const MOST: usize = 50_000;

impl Known {
    /// Those that have to be written down, in order, so that two who write the same wait for each
    /// other instead of blocking each other.
    pub fn unknown(&self, spans: impl Iterator<Item = Span>) -> BTreeSet<Span> {
        spans.filter(|(way, span)| self.0.get(way) != Some(span)).collect()
    }

    pub fn learn(&mut self, spans: BTreeSet<Span>) {
        if self.0.len() + spans.len() > MOST {
            self.0.clear();
        }
        let newest: BTreeMap<_, _> = spans.into_iter().collect();
        self.0.extend(newest);
    }
}

const INSERT: &str = "
insert into spans (tenant_id, target_id, from_id, to_id, lane)
select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::int2[])
on conflict do nothing";

pub(crate) async fn write(session: &ClientWrapper, spans: &BTreeSet<Span>) -> Result<(), Fault> {
    if spans.is_empty() {
        return Ok(());
    }
    let tenants: Vec<Uuid> = spans.iter().map(|(way, _)| uuid(way.0)).collect();
    let targets: Vec<Uuid> = spans.iter().map(|(way, _)| uuid(way.1)).collect();
    let lanes: Vec<i16> = spans.iter().map(|(way, _)| way.2.number()).collect();
    let from: Vec<Uuid> = spans.iter().map(|span| edge(span.1)).collect();
    let to: Vec<Uuid> = spans.iter().map(|span| edge(span.1 + 1)).collect();
    execute(session, INSERT, &[&tenants, &targets, &from, &to, &lanes]).await?;
    Ok(())
}

/// A span of a way, as it stands in the table, in order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stretch {
    from: Uuid,
    to: Uuid,
    tenant: Uuid,
    target: Uuid,
    lane: i16,
}

impl Stretch {
    /// In which a delivery lies, from its tenant, target, lane and id.
    pub fn of_delivery(row: &Row) -> Result<Self, Fault> {
        let id: Uuid = rows::get(row, 3)?;
        let span = id.as_u128() >> SPAN_BITS;
        Ok(Self {
            from: edge(span),
            to: edge(span + 1),
            tenant: rows::get(row, 0)?,
            target: rows::get(row, 1)?,
            lane: rows::get(row, 2)?,
        })
    }
}

/// Those of the stretches in which nothing is left. A committer that has written one of them may believe
/// that it is still there; it is older than any delivery that can come.
const REMOVE: &str = "
delete from spans s
using unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::int2[])
    as k(tenant_id, target_id, from_id, to_id, lane)
where s.tenant_id = k.tenant_id and s.target_id = k.target_id and s.from_id = k.from_id
  and s.lane = k.lane
  and not exists (select from deliveries d where d.tenant_id = k.tenant_id
      and d.id >= k.from_id and d.id < k.to_id and d.target_id = k.target_id and d.lane = k.lane)";

pub(crate) async fn remove(
    session: &ClientWrapper,
    stretches: &BTreeSet<Stretch>,
) -> Result<(), Fault> {
    if stretches.is_empty() {
        return Ok(());
    }
    let tenants: Vec<Uuid> = stretches.iter().map(|one| one.tenant).collect();
    let targets: Vec<Uuid> = stretches.iter().map(|one| one.target).collect();
    let from: Vec<Uuid> = stretches.iter().map(|one| one.from).collect();
    let to: Vec<Uuid> = stretches.iter().map(|one| one.to).collect();
    let lanes: Vec<i16> = stretches.iter().map(|one| one.lane).collect();
    execute(session, REMOVE, &[&tenants, &targets, &from, &to, &lanes]).await?;
    Ok(())
}

/// The last stretch that was looked at.
pub(crate) type Place = Stretch;

const LOOK: &str = "
select s.tenant_id, s.target_id, s.lane, s.from_id, s.to_id,
    not exists (select from deliveries d where d.tenant_id = s.tenant_id
        and d.id >= s.from_id and d.id < s.to_id and d.target_id = s.target_id and d.lane = s.lane)
from spans s
where s.from_id < $1 and s.from_id >= $2
  and (s.from_id, s.tenant_id, s.target_id, s.lane) > ($2, $3, $4, $5)
order by s.from_id, s.tenant_id, s.target_id, s.lane limit $6";

/// Of the next stretches before a time, those in which nothing is left, and the place where to go on:
/// none at the end.
pub(crate) async fn look(
    session: &ClientWrapper,
    at: Option<Place>,
    before: Time,
    limit: i64,
) -> Result<(BTreeSet<Stretch>, Option<Place>), Fault> {
    let nil = Uuid::nil();
    let (from, tenant, target, lane) =
        at.map_or((nil, nil, nil, 0), |at| (at.from, at.tenant, at.target, at.lane));
    let end = rows::first_id_at(before);
    let looked = query(session, LOOK, &[&end, &from, &tenant, &target, &lane, &limit]).await?;
    let (mut empty, mut last) = (BTreeSet::new(), None);
    for (count, row) in (1..).zip(&looked) {
        let stretch = Stretch {
            tenant: rows::get(row, 0)?,
            target: rows::get(row, 1)?,
            lane: rows::get(row, 2)?,
            from: rows::get(row, 3)?,
            to: rows::get(row, 4)?,
        };
        if rows::get(row, 5)? {
            empty.insert(stretch);
        }
        last = Some(stretch).filter(|_| count == limit);
    }
    Ok((empty, last))
}
