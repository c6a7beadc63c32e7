//! Converts rows to types of the domain.

use std::{borrow::Cow, sync::Arc, time::Duration};

use bytes::Bytes;
use gancho_domain::{
    Attempt, Code, Failure, Id, Lane, Parcel, ParcelKind, Rate, State, Time, TraceContext,
};
use gancho_store::{DeliveryRow, Job, ListOrder, Result};
use tokio_postgres::{Row, types::FromSql};
use uuid::Uuid;

use crate::{scan::Ids, tx_error::corrupt};

pub(crate) fn uuid<K>(id: Id<K>) -> Uuid {
    Uuid::from_bytes(id.bytes())
}

/// Replaces the character 0 by the replacement character, because PostgreSQL cannot store it in a text.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

pub(crate) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T> {
    row.try_get(column).map_err(|error| corrupt(format!("column {column} of a row: {error}")))
}

pub(crate) fn id<K>(row: &Row, column: usize) -> Result<Id<K>> {
    Ok(Id::from_bytes(get::<Uuid>(row, column)?.into_bytes()))
}

pub(crate) fn time(row: &Row, column: usize) -> Result<Time> {
    Ok(Time::from_micros(get(row, column)?))
}

pub(crate) fn maybe_time(row: &Row, column: usize) -> Result<Option<Time>> {
    Ok(get::<Option<i64>>(row, column)?.map(Time::from_micros))
}

pub(crate) fn count(row: &Row, column: usize) -> Result<u32> {
    u32::try_from(get::<i32>(row, column)?).map_err(|_| corrupt("a count is below zero"))
}

pub(crate) fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

pub(crate) fn maybe_span(row: &Row, column: usize) -> Result<Option<Duration>> {
    let micros: Option<i64> = get(row, column)?;
    Ok(micros.map(|micros| Duration::from_micros(micros.max(0) as u64)))
}

pub(crate) fn maybe_limit(row: &Row, column: usize) -> Result<Option<u32>> {
    let limit: Option<i64> = get(row, column)?;
    limit.map(u32::try_from).transpose().map_err(|_| corrupt("a limit is out of range"))
}

/// Reads a rate from two columns: the count and the period.
pub(crate) fn maybe_rate(row: &Row, column: usize) -> Result<Option<Rate>> {
    let rate = maybe_limit(row, column)?.zip(maybe_span(row, column + 1)?);
    Ok(rate.map(|(count, per)| Rate { count, per }))
}

pub(crate) fn bytes(row: &Row, column: usize) -> Result<Bytes> {
    Ok(Bytes::copy_from_slice(get(row, column)?))
}

pub(crate) fn maybe_text(row: &Row, column: usize) -> Result<Option<Box<str>>> {
    let bytes: Option<&[u8]> = get(row, column)?;
    bytes
        .map(|bytes| std::str::from_utf8(bytes).map(Box::from))
        .transpose()
        .map_err(|_| corrupt("a name is not UTF-8"))
}

pub(crate) fn lane(row: &Row, column: usize) -> Result<Lane> {
    let number = get(row, column)?;
    Lane::from_number(number).ok_or_else(|| corrupt(format!("unknown lane {number}")))
}

pub(crate) fn state(row: &Row, column: usize) -> Result<State> {
    let number = get(row, column)?;
    State::from_number(number).ok_or_else(|| corrupt(format!("unknown state {number}")))
}

pub(crate) fn failure(row: &Row, code: usize, reason: usize) -> Result<Option<Failure>> {
    let code: Option<&str> = get(row, code)?;
    let reason: Option<&str> = get(row, reason)?;
    Ok(code.map(|code| Failure::new(Code::from_text(code), reason.unwrap_or_default())))
}

fn status(row: &Row, column: usize) -> Result<Option<u16>> {
    get::<Option<i32>>(row, column)?
        .map(u16::try_from)
        .transpose()
        .map_err(|_| corrupt("a response status is out of range"))
}

fn latency(micros: i64) -> Duration {
    Duration::from_micros(micros.max(0) as u64)
}

/// The columns of [`parcel`], for a query that calls the table `p`.
pub(crate) const PARCEL: &str = "p.id, p.tenant_id, p.kind, p.event_type, p.subject, \
    p.external_id, p.is_test, p.created_at, p.body, p.number, p.trace, p.erased_at";

/// Reads a parcel and its number from [`PARCEL`], starting at column `at`.
pub(crate) fn parcel(row: &Row, at: usize) -> Result<(Arc<Parcel>, Option<u64>)> {
    let kind = get(row, at + 2)?;
    let parcel = Parcel {
        id: id(row, at)?,
        tenant: id(row, at + 1)?,
        kind: ParcelKind::from_number(kind)
            .ok_or_else(|| corrupt(format!("unknown parcel kind {kind}")))?,
        event_type: get::<&str>(row, at + 3)?.into(),
        subject: maybe_text(row, at + 4)?,
        external_id: maybe_text(row, at + 5)?,
        is_test: get(row, at + 6)?,
        created_at: time(row, at + 7)?,
        body: bytes(row, at + 8)?,
        trace: trace(row, at + 10)?,
        erased_at: maybe_time(row, at + 11)?,
    };
    let number = get::<Option<i64>>(row, at + 9)?.map(|number| number as u64);
    Ok((Arc::new(parcel), number))
}

fn trace(row: &Row, column: usize) -> Result<Option<TraceContext>> {
    let bytes: Option<&[u8]> = get(row, column)?;
    let read = |bytes| {
        TraceContext::from_bytes(bytes).ok_or_else(|| corrupt("a trace context has a wrong size"))
    };
    bytes.map(read).transpose()
}

/// Reads a job from the columns that a claim returns: the delivery's, then [`PARCEL`].
pub(crate) fn job(row: &Row) -> Result<Job> {
    let (parcel, number) = parcel(row, 10)?;
    Ok(Job {
        delivery: id(row, 0)?,
        tenant: id(row, 1)?,
        lane: lane(row, 2)?,
        target: id(row, 3)?,
        attempts: count(row, 4)?,
        attempts_before: count(row, 5)?,
        in_order: get(row, 6)?,
        created_at: time(row, 7)?,
        is_replay: get(row, 8)?,
        lost_leases: count(row, 9)?,
        parcel,
        number,
    })
}

/// The columns of [`attempt`], in their order.
pub(crate) const ATTEMPT: &str = "number, started_at, latency_us, request_headers, \
    response_status, response_headers, response_body, code, reason, next_at";

pub(crate) fn attempt(row: &Row) -> Result<Attempt> {
    Ok(Attempt {
        number: count(row, 0)?,
        started_at: time(row, 1)?,
        latency: latency(get(row, 2)?),
        request_headers: bytes(row, 3)?,
        response_status: status(row, 4)?,
        response_headers: bytes(row, 5)?,
        response_body: bytes(row, 6)?,
        failure: failure(row, 7, 8)?,
        next_at: maybe_time(row, 9)?,
    })
}

/// The columns of [`delivery`], for a query over `d` (deliveries), `p` (its parcel), `a` (its last attempt,
/// if there was one) and `l` (its dead letter, if it has one).
pub(crate) const DELIVERY: &str = "d.id, d.lane, d.target_id, p.id, p.event_type, p.external_id, \
    p.is_test, d.state, d.attempts, a.response_status, coalesce(l.code, a.code), \
    coalesce(l.reason, a.reason), a.next_at, a.started_at, \
    a.latency_us, d.created_at, l.failed_at, d.due_at";

pub(crate) fn delivery(row: &Row) -> Result<DeliveryRow> {
    let state = state(row, 7)?;
    let answered_at = maybe_time(row, 13)?
        .zip(get::<Option<i64>>(row, 14)?)
        .map(|(started_at, micros)| started_at + latency(micros));
    Ok(DeliveryRow {
        id: id(row, 0)?,
        lane: lane(row, 1)?,
        target: id(row, 2)?,
        event: id(row, 3)?,
        event_type: get::<&str>(row, 4)?.into(),
        external_id: maybe_text(row, 5)?,
        is_test: get(row, 6)?,
        state,
        attempts: count(row, 8)?,
        response_status: status(row, 9)?,
        last_failure: failure(row, 10, 11)?,
        due_at: time(row, 17)?,
        next_retry_at: maybe_time(row, 12)?.filter(|_| !state.is_final()),
        delivered_at: answered_at.filter(|_| state == State::Delivered),
        failed_at: maybe_time(row, 16)?.or(answered_at).filter(|_| state == State::Dead),
        created_at: time(row, 15)?,
    })
}

/// Returns the lowest id that can be of this time: an id is never behind the time of what it names.
pub(crate) fn first_id_at(time: Time) -> Uuid {
    Uuid::from_u128((time.millis().max(0) as u128) << 80)
}

/// Returns an id above all that can be of this time: after a clock was set back, an id may be ahead of its
/// time.
fn last_id_at(time: Time) -> Uuid {
    first_id_at(time + Duration::from_hours(24))
}

/// Returns the range of ids that can be of these times.
pub(crate) fn ids_at(order: ListOrder, since: Option<Time>, until: Option<Time>) -> Ids {
    Ids {
        order,
        first: since.map_or(Uuid::nil(), first_id_at),
        end: until.map_or(Uuid::max(), last_id_at),
    }
}
