//! Stores accepted parcels and their deliveries.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use async_trait::async_trait;
use futures_util::try_join;
use gancho_domain::{State, TenantId, TraceContext};
use gancho_store::{Accept, AcceptOutcome, NewDelivery, NewParcel, NodeId, Placement, Result};
use uuid::Uuid;

use crate::{
    PostgresStore,
    commit_rules::CommitRules,
    idempotency, intake,
    order::{self, SubjectQueue},
    rows::{self, text, uuid},
    session::{Session, execute, query},
    tx_error::TxError,
    withhold,
};

#[async_trait]
impl Accept for PostgresStore {
    async fn accept(&self, parcels: Vec<NewParcel>, holder: NodeId) -> Result<Vec<AcceptOutcome>> {
        if parcels.is_empty() {
            return Ok(Vec::new());
        }
        self.committers.accept(parcels, holder).await
    }
}

/// A parcel of a batch, and the node that its deliveries may be leased to.
#[derive(Clone, Copy)]
pub(crate) struct BatchParcel<'a> {
    pub new: &'a NewParcel,
    pub holder: NodeId,
    /// Whether it comes from the intake. This transaction removes it from there.
    pub is_intake: bool,
}

/// Writes the parcels inside a transaction. Returns one outcome for each, in order.
pub(crate) async fn write(
    session: &Session,
    incoming: &[BatchParcel<'_>],
    rules: &CommitRules,
) -> Result<Vec<AcceptOutcome>, TxError> {
    if !incoming.iter().any(|one| one.is_intake) {
        return write_new(session, incoming, rules).await;
    }
    let moved = intake::hold(session, incoming).await?;
    let present: Vec<BatchParcel<'_>> =
        incoming.iter().filter(|one| !moved.contains(&one.new.parcel.id)).copied().collect();
    let outcomes = write_new(session, &present, rules).await?;
    intake::remove(session, &present, &outcomes).await?;
    let mut outcomes = outcomes.into_iter();
    let outcome = |one: &BatchParcel<'_>| match one.new.parcel.id {
        first if moved.contains(&first) => Some(AcceptOutcome::Again { first }),
        _ => outcomes.next(),
    };
    Ok(incoming.iter().filter_map(outcome).collect())
}

async fn write_new(
    session: &Session,
    incoming: &[BatchParcel<'_>],
    rules: &CommitRules,
) -> Result<Vec<AcceptOutcome>, TxError> {
    let seen = idempotency::seen(session, incoming, rules.over.get()).await?;
    let fresh: Vec<BatchParcel<'_>> = incoming
        .iter()
        .zip(&seen)
        .filter(|(_, seen)| seen.is_none())
        .map(|(one, _)| *one)
        .collect();
    let numbers = number(session, &fresh).await?;
    let placed = place(session, &fresh).await?;
    try_join!(
        insert_parcels(session, &fresh, &numbers),
        insert_deliveries(session, &fresh, &placed, &numbers)
    )?;
    withhold::bury(session, &fresh, rules.dead_letter_ttl).await?;
    let mut new = numbers
        .into_iter()
        .zip(placed)
        .map(|(number, placed)| AcceptOutcome::New { number, placed });
    Ok(seen.into_iter().filter_map(|seen| seen.or_else(|| new.next())).collect())
}

/// Adds a count to each subject and returns the last assigned number.
const NUMBER: &str = "
insert into subjects (tenant_id, subject, last)
select * from unnest($1::uuid[], $2::bytea[], $3::int8[])
on conflict (tenant_id, subject) do update set last = subjects.last + excluded.last
returning tenant_id, subject, last";

/// Assigns the next number of its subject to each parcel. The subjects' rows are locked from here on.
async fn number(session: &Session, fresh: &[BatchParcel<'_>]) -> Result<Vec<Option<u64>>, TxError> {
    let subject = |one: &BatchParcel<'_>| {
        let parcel = &one.new.parcel;
        parcel.subject.as_ref().map(|subject| (parcel.tenant, subject.as_bytes().to_vec()))
    };
    // Sorted, so that two batches wait for each other but cannot deadlock.
    let mut subjects: BTreeMap<(TenantId, Vec<u8>), i64> = BTreeMap::new();
    for one in fresh {
        if let Some(key) = subject(one) {
            *subjects.entry(key).or_default() += 1;
        }
    }
    if subjects.is_empty() {
        return Ok(vec![None; fresh.len()]);
    }
    let tenants: Vec<_> = subjects.keys().map(|key| uuid(key.0)).collect();
    let names: Vec<&[u8]> = subjects.keys().map(|key| key.1.as_slice()).collect();
    let counts: Vec<i64> = subjects.values().copied().collect();
    let last = query(session, NUMBER, &[&tenants, &names, &counts]).await?;
    // By their keys, because PostgreSQL returns them in no defined order.
    for row in &last {
        let key = (rows::id(row, 0)?, rows::get::<Vec<u8>>(row, 1)?);
        if let Some(count) = subjects.get_mut(&key) {
            // Converts the count into the number before the first one.
            *count = rows::get::<i64>(row, 2)? - *count;
        }
    }
    Ok(fresh
        .iter()
        .map(|one| {
            let number = subjects.get_mut(&subject(one)?)?;
            *number += 1;
            Some(*number as u64)
        })
        .collect())
}

/// Decides the placement of each delivery. The subjects' rows must be locked, as [`number`] does.
pub(crate) async fn place(
    session: &Session,
    fresh: &[BatchParcel<'_>],
) -> Result<Vec<Vec<Placement>>, TxError> {
    let lines: BTreeSet<SubjectQueue> = fresh
        .iter()
        .flat_map(|one| one.new.deliveries.iter().filter_map(|to| line(one, to)))
        .collect();
    let mut blocked: HashSet<SubjectQueue> =
        if lines.is_empty() { HashSet::new() } else { order::blocked(session, lines).await? };
    let mut place = |one: &BatchParcel<'_>, to: &NewDelivery| {
        if withhold::reason(one).is_some() {
            return Placement::Dead;
        }
        // The first delivery of a free line blocks those after it.
        let waits = line(one, to).is_some_and(|line| !blocked.insert(line));
        match (waits, to.hold) {
            (true, _) => Placement::Waiting,
            (false, true) => Placement::Leased,
            (false, false) => Placement::Pending,
        }
    };
    Ok(fresh
        .iter()
        .map(|one| one.new.deliveries.iter().map(|to| place(one, to)).collect())
        .collect())
}

fn line(one: &BatchParcel<'_>, to: &NewDelivery) -> Option<SubjectQueue> {
    if withhold::reason(one).is_some() {
        return None;
    }
    let parcel = &one.new.parcel;
    let subject = parcel.subject.as_ref().filter(|_| to.in_order)?;
    Some((parcel.tenant, to.target, subject.as_bytes().to_vec()))
}

/// Most parcels have one delivery, and there is no array of arrays of different lengths. For any other number
/// of deliveries, the list is passed as text.
const INSERT_PARCELS: &str = "
insert into parcels (tenant_id, id, created_at, number, kind, is_test, event_type, subject,
    external_id, deliveries, body, request, trace)
select n.tenant_id, n.id, n.created_at, n.number, n.kind, n.is_test, n.event_type, n.subject,
    n.external_id, case when n.delivery is null then n.deliveries::uuid[] else array[n.delivery] end,
    n.body, n.request, n.trace
from unnest($1::uuid[], $2::uuid[], $3::int8[], $4::int8[], $5::int2[], $6::bool[], $7::text[],
    $8::bytea[], $9::bytea[], $10::uuid[], $11::text[], $12::bytea[], $13::bytea[], $14::bytea[])
    as n(tenant_id, id, created_at, number, kind, is_test, event_type, subject, external_id,
    delivery, deliveries, body, request, trace)";

/// A message to the server must stay below 1 GiB, however large a call is.
const MAX_BYTES: usize = 64 << 20;

async fn insert_parcels(
    session: &Session,
    fresh: &[BatchParcel<'_>],
    numbers: &[Option<u64>],
) -> Result<(), TxError> {
    let mut start = 0;
    while start < fresh.len() {
        let mut bytes = 0;
        let fits = |one: &&BatchParcel<'_>| {
            bytes += one.new.parcel.body.len();
            bytes <= MAX_BYTES
        };
        let end = start + fresh[start..].iter().take_while(fits).count().max(1);
        insert_some_parcels(session, &fresh[start..end], &numbers[start..end]).await?;
        start = end;
    }
    Ok(())
}

async fn insert_some_parcels<'a>(
    session: &Session,
    fresh: &[BatchParcel<'a>],
    numbers: &[Option<u64>],
) -> Result<(), TxError> {
    let parcels = || fresh.iter().map(|one| &*one.new.parcel);
    let tenants: Vec<_> = parcels().map(|one| uuid(one.tenant)).collect();
    let ids: Vec<_> = parcels().map(|one| uuid(one.id)).collect();
    let times: Vec<i64> = parcels().map(|one| one.created_at.micros()).collect();
    let numbers: Vec<Option<i64>> = numbers.iter().map(|one| one.map(|n| n as i64)).collect();
    let kinds: Vec<i16> = parcels().map(|one| one.kind.number()).collect();
    let tests: Vec<bool> = parcels().map(|one| one.is_test).collect();
    let types: Vec<_> = parcels().map(|one| text(&one.event_type)).collect();
    let subjects: Vec<_> = parcels().map(|one| one.subject.as_deref().map(str::as_bytes)).collect();
    let names: Vec<_> =
        parcels().map(|one| one.external_id.as_deref().map(str::as_bytes)).collect();
    let only: Vec<Option<Uuid>> = fresh.iter().map(|one| only_id(&one.new.deliveries)).collect();
    let lists: Vec<Option<String>> = fresh.iter().map(|one| id_list(&one.new.deliveries)).collect();
    let bodies: Vec<&[u8]> = parcels().map(|one| &*one.body).collect();
    let request =
        |one: &BatchParcel<'a>| one.new.ledger.as_ref().map(|received| &*received.request);
    let requests: Vec<Option<&[u8]>> = fresh.iter().map(request).collect();
    let traces: Vec<Option<[u8; TraceContext::SIZE]>> =
        parcels().map(|one| one.trace.map(TraceContext::to_bytes)).collect();
    let traces: Vec<Option<&[u8]>> =
        traces.iter().map(|one| one.as_ref().map(|it| &it[..])).collect();
    execute(
        session,
        INSERT_PARCELS,
        &[
            &tenants, &ids, &times, &numbers, &kinds, &tests, &types, &subjects, &names, &only,
            &lists, &bodies, &requests, &traces,
        ],
    )
    .await?;
    Ok(())
}

fn only_id(deliveries: &[NewDelivery]) -> Option<Uuid> {
    match deliveries {
        [to] => Some(uuid(to.id)),
        _ => None,
    }
}

/// Formats the ids as PostgreSQL formats an array. `None` for exactly one.
fn id_list(deliveries: &[NewDelivery]) -> Option<String> {
    if deliveries.len() == 1 {
        return None;
    }
    let ids: Vec<String> = deliveries.iter().map(|to| uuid(to.id).simple().to_string()).collect();
    Some(format!("{{{}}}", ids.join(",")))
}

const INSERT_DELIVERIES: &str = "
insert into deliveries (tenant_id, id, target_id, parcel_id, due_at, created_at, owner, lane,
    state, order_key, order_number)
select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::int8[], $6::int8[],
    $7::int8[], $8::int2[], $9::int2[], $10::bytea[], $11::int8[])";

pub(crate) async fn insert_deliveries(
    session: &Session,
    fresh: &[BatchParcel<'_>],
    placed: &[Vec<Placement>],
    numbers: &[Option<u64>],
) -> Result<(), TxError> {
    let all = || {
        fresh.iter().zip(placed).flat_map(|(one, placed)| {
            let parcel = &*one.new.parcel;
            one.new
                .deliveries
                .iter()
                .zip(placed)
                .map(move |(to, placed)| (one, parcel, to, *placed))
        })
    };
    let ids: Vec<_> = all().map(|(_, _, to, _)| uuid(to.id)).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let tenants: Vec<_> = all().map(|(_, parcel, ..)| uuid(parcel.tenant)).collect();
    let targets: Vec<_> = all().map(|(_, _, to, _)| uuid(to.target)).collect();
    let parcels: Vec<_> = all().map(|(_, parcel, ..)| uuid(parcel.id)).collect();
    let due: Vec<i64> = all().map(|(_, _, to, _)| to.due_at.micros()).collect();
    let times: Vec<i64> = all().map(|(_, parcel, ..)| parcel.created_at.micros()).collect();
    let owners: Vec<i64> = all()
        .map(|(one, .., placed)| if placed == Placement::Leased { one.holder.0 } else { 0 })
        .collect();
    let lanes: Vec<i16> = all().map(|(_, _, to, _)| to.lane.number()).collect();
    let states: Vec<i16> = all().map(|(.., placed)| state(placed).number()).collect();
    let keys: Vec<_> = all()
        .map(|(_, parcel, to, _)| parcel.subject.as_ref().filter(|_| to.in_order))
        .map(|subject| subject.map(|subject| subject.as_bytes()))
        .collect();
    let turns: Vec<Option<i64>> = fresh
        .iter()
        .zip(numbers)
        .flat_map(|(one, number)| one.new.deliveries.iter().map(move |to| (to, number)))
        .map(|(to, number)| number.filter(|_| to.in_order).map(|number| number as i64))
        .collect();
    execute(
        session,
        INSERT_DELIVERIES,
        &[
            &tenants, &ids, &targets, &parcels, &due, &times, &owners, &lanes, &states, &keys,
            &turns,
        ],
    )
    .await?;
    Ok(())
}

const fn state(placed: Placement) -> State {
    match placed {
        Placement::Leased => State::Leased,
        Placement::Pending => State::Pending,
        Placement::Waiting => State::Waiting,
        Placement::Dead => State::Dead,
    }
}
