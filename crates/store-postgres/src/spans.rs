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
use uuid::Uuid;

use crate::{
    fault::Fault,
    rows::{self, uuid},
    session::execute,
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

/// Those before a time in which nothing is left, but never the last of a target: a committer that has
/// just written it would not write it again.
const PRUNE: &str = "
delete from spans s using (
    select o.tenant_id, o.target_id, o.from_id, o.lane from spans o
    where o.from_id < $1
      and not exists (select from deliveries d where d.tenant_id = o.tenant_id
          and d.id >= o.from_id and d.id < o.to_id)
      and exists (select from spans n where n.tenant_id = o.tenant_id
          and n.target_id = o.target_id and n.lane = o.lane and n.from_id > o.from_id)
    order by o.from_id limit $2) old
where s.tenant_id = old.tenant_id and s.target_id = old.target_id and s.from_id = old.from_id
    and s.lane = old.lane";

pub(crate) async fn prune(
    session: &ClientWrapper,
    before: Time,
    most: i64,
) -> Result<(), tokio_postgres::Error> {
    execute(session, PRUNE, &[&rows::first_id_at(before), &most]).await.map(drop)
}
