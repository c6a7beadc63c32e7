//! Deliveries that are given up before they are tried: dead letters from the start.

use std::time::Duration;

use gancho_domain::{Failure, Parcel};
use gancho_store::NewDelivery;

use crate::{
    accept::BatchParcel,
    rows::{text, uuid},
    session::{Session, execute},
    tx_error::TxError,
};

/// Returns why the parcel is not sent, or `None`.
pub(crate) fn reason<'a>(one: &BatchParcel<'a>) -> Option<&'a Failure> {
    one.new.ledger.as_ref().and_then(|received| received.withheld.as_ref())
}

const BURY: &str = "
with dead as (
    update deliveries d set was_dead = true
    from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::int8[], $6::int8[])
        as k(tenant_id, id, code, reason, at, expires_at)
    where d.tenant_id = k.tenant_id and d.id = k.id
    returning k.tenant_id, k.id, d.lane, k.code, k.reason, k.at, k.expires_at
)
insert into dead_letters (tenant_id, delivery_id, lane, failed_attempts, code, reason, failed_at,
    moved_at, expires_at)
select tenant_id, id, lane, 0, code, reason, at, at, expires_at from dead";

/// Writes the dead letters of withheld parcels.
pub(crate) async fn bury(
    session: &Session,
    fresh: &[BatchParcel<'_>],
    dead_letter_ttl: Duration,
) -> Result<(), TxError> {
    let dead: Vec<(&Parcel, &NewDelivery, &Failure)> = fresh
        .iter()
        .filter_map(|one| Some((one.new, reason(one)?)))
        .flat_map(|(new, why)| new.deliveries.iter().map(move |to| (&*new.parcel, to, why)))
        .collect();
    if dead.is_empty() {
        return Ok(());
    }
    let tenants: Vec<_> = dead.iter().map(|(parcel, ..)| uuid(parcel.tenant)).collect();
    let ids: Vec<_> = dead.iter().map(|(_, to, _)| uuid(to.id)).collect();
    let codes: Vec<&str> = dead.iter().map(|(.., why)| why.code().as_str()).collect();
    let reasons: Vec<_> = dead.iter().map(|(.., why)| text(why.reason())).collect();
    let times: Vec<i64> = dead.iter().map(|(parcel, ..)| parcel.created_at.micros()).collect();
    let expiry = |(parcel, ..): &(&Parcel, _, _)| (parcel.created_at + dead_letter_ttl).micros();
    let expiries: Vec<i64> = dead.iter().map(expiry).collect();
    execute(session, BURY, &[&tenants, &ids, &codes, &reasons, &times, &expiries]).await?;
    Ok(())
}
