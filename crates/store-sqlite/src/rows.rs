//! Converts rows to types of the domain.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use gancho_domain::{
    Attempt, Code, Failure, Id, Lane, Parcel, ParcelKind, Rate, State, Time, TraceContext, id,
};
use gancho_store::Job;
use rusqlite::{Row, types::ValueRef};

use crate::tx_error::{TxError, corrupt};

pub(crate) fn id<K>(row: &Row<'_>, column: usize) -> Result<Id<K>, TxError> {
    let bytes = row.get_ref(column)?.as_blob().map_err(|_| corrupt("an id is not a blob"))?;
    let bytes = bytes.try_into().map_err(|_| corrupt("an id has not 16 bytes"))?;
    Ok(Id::from_bytes(bytes))
}

pub(crate) fn time(row: &Row<'_>, column: usize) -> Result<Time, TxError> {
    Ok(Time::from_micros(row.get(column)?))
}

pub(crate) fn maybe_time(row: &Row<'_>, column: usize) -> Result<Option<Time>, TxError> {
    Ok(row.get::<_, Option<i64>>(column)?.map(Time::from_micros))
}

pub(crate) fn maybe_span(row: &Row<'_>, column: usize) -> Result<Option<Duration>, TxError> {
    Ok(row.get::<_, Option<i64>>(column)?.map(|micros| Duration::from_micros(micros as u64)))
}

/// Reads a rate from two columns: the count and the period.
pub(crate) fn maybe_rate(row: &Row<'_>, column: usize) -> Result<Option<Rate>, TxError> {
    let count: Option<u32> = row.get(column)?;
    Ok(count.zip(maybe_span(row, column + 1)?).map(|(count, per)| Rate { count, per }))
}

pub(crate) fn bytes(row: &Row<'_>, column: usize) -> Result<Bytes, TxError> {
    match row.get_ref(column)? {
        ValueRef::Blob(blob) => Ok(Bytes::copy_from_slice(blob)),
        _ => Err(corrupt("a body is not a blob")),
    }
}

pub(crate) fn lane(row: &Row<'_>, column: usize) -> Result<Lane, TxError> {
    let number: i16 = row.get(column)?;
    Lane::from_number(number).ok_or_else(|| corrupt(format!("unknown lane {number}")))
}

pub(crate) fn state(row: &Row<'_>, column: usize) -> Result<State, TxError> {
    let number: i16 = row.get(column)?;
    State::from_number(number).ok_or_else(|| corrupt(format!("unknown state {number}")))
}

pub(crate) fn failure(
    row: &Row<'_>,
    code: usize,
    reason: usize,
) -> Result<Option<Failure>, TxError> {
    let code: Option<String> = row.get(code)?;
    let reason: Option<String> = row.get(reason)?;
    Ok(code.map(|code| Failure::new(Code::from_text(&code), reason.unwrap_or_default())))
}

/// The columns of [`parcel`], for a query that calls the table `p`.
pub(crate) const PARCEL: &str = "p.id, p.tenant_id, p.kind, p.event_type, p.subject, \
    p.external_id, p.is_test, p.created_at, p.body, p.number, p.trace, p.erased_at";

/// Reads a parcel and its number from [`PARCEL`], starting at column `at`.
pub(crate) fn parcel(row: &Row<'_>, at: usize) -> Result<(Arc<Parcel>, Option<u64>), TxError> {
    let kind: i16 = row.get(at + 2)?;
    let parcel = Parcel {
        id: id(row, at)?,
        tenant: id(row, at + 1)?,
        kind: ParcelKind::from_number(kind)
            .ok_or_else(|| corrupt(format!("unknown parcel kind {kind}")))?,
        event_type: row.get(at + 3)?,
        subject: row.get(at + 4)?,
        external_id: row.get(at + 5)?,
        is_test: row.get(at + 6)?,
        created_at: time(row, at + 7)?,
        body: bytes(row, at + 8)?,
        trace: trace(row, at + 10)?,
        erased_at: maybe_time(row, at + 11)?,
    };
    let number = row.get::<_, Option<i64>>(at + 9)?.map(|number| number as u64);
    Ok((Arc::new(parcel), number))
}

fn trace(row: &Row<'_>, column: usize) -> Result<Option<TraceContext>, TxError> {
    let bytes: Option<Vec<u8>> = row.get(column)?;
    let read = |bytes: Vec<u8>| {
        TraceContext::from_bytes(&bytes).ok_or_else(|| corrupt("a trace context has a wrong size"))
    };
    bytes.map(read).transpose()
}

/// The columns of [`job`] for tables `d` (deliveries) and `p` (its parcel).
pub(crate) const JOB: &str = "d.id, d.tenant_id, d.lane, d.target_id, d.attempts, \
    d.attempts_before, d.subject IS NOT NULL, d.created_at, \
    EXISTS (SELECT 1 FROM dead_letters l WHERE l.delivery = d.seq), d.lost_leases";

pub(crate) fn job(row: &Row<'_>) -> Result<Job, TxError> {
    let (parcel, number) = parcel(row, 10)?;
    Ok(Job {
        delivery: id(row, 0)?,
        tenant: id(row, 1)?,
        lane: lane(row, 2)?,
        target: id(row, 3)?,
        attempts: row.get(4)?,
        attempts_before: row.get(5)?,
        in_order: row.get(6)?,
        created_at: time(row, 7)?,
        is_replay: row.get(8)?,
        lost_leases: row.get(9)?,
        parcel,
        number,
    })
}

/// The columns of [`attempt`], in their order.
pub(crate) const ATTEMPT: &str = "number, started_at, latency_us, request_headers, \
    response_status, response_headers, response_body, code, reason, next_at";

pub(crate) fn attempt(row: &Row<'_>) -> Result<Attempt, TxError> {
    Ok(Attempt {
        number: row.get(0)?,
        started_at: time(row, 1)?,
        latency: Duration::from_micros(row.get::<_, i64>(2)? as u64),
        request_headers: bytes(row, 3)?,
        response_status: row.get(4)?,
        response_headers: bytes(row, 5)?,
        response_body: bytes(row, 6)?,
        failure: failure(row, 7, 8)?,
        next_at: maybe_time(row, 9)?,
    })
}

/// Returns the row number of an id.
pub(crate) fn seq<K>(of: Id<K>) -> i64 {
    id::lead(of)
}

/// Returns the first id that has this row number.
pub(crate) fn first_id<K>(seq: i64) -> Id<K> {
    id::first_of_lead(seq)
}

/// Returns the lowest row number that can be of this time: an id is never behind the time of what it names.
pub(crate) fn first_seq_at(time: Time) -> i64 {
    time.millis().max(0).saturating_mul(1 << 15)
}

/// Returns one more than the highest row number that can be of this time: after a clock was set back, an id
/// may be ahead of its time.
pub(crate) fn last_seq_at(time: Time) -> i64 {
    first_seq_at(time + Duration::from_hours(24))
}

/// Returns when a row with this number was created, unless the clock was set back.
pub(crate) fn time_of_seq(seq: i64) -> Time {
    Time::from_millis(seq >> 15)
}
