//! Makes dead letters without an attempt, of deliveries that waited too long or that nodes died of.

use std::collections::BTreeSet;

use gancho_domain::{DeliveryId, Failure, Lane, State, TenantId, Time, event_type::is_reserved};
use gancho_store::EndedDelivery;
use uuid::Uuid;

use crate::{
    order,
    rows::{self, text, uuid},
    session::{Session, Transaction, query},
    states::{DEAD, Sql},
    tx_error::TxError,
};

const WEBHOOK: i16 = Lane::Webhook.number();

static END: Sql = Sql::new(|| {
    format!(
        "
with dead as (
    update deliveries d set state = {DEAD}, was_dead = true
    from unnest($1::uuid[], $2::uuid[]) as k(tenant_id, id)
    where d.tenant_id = k.tenant_id and d.id = k.id and d.state + 0 = any ($3::int4[])
    returning d.tenant_id, d.id, d.lane, d.target_id, d.parcel_id, d.order_key, d.attempts
), buried as (
    insert into dead_letters (tenant_id, delivery_id, lane, failed_attempts, code, reason,
        failed_at, moved_at, expires_at, provider_code)
    select d.tenant_id, d.id, d.lane, d.attempts, $4,
        -- What the last attempt failed with stays readable.
        case when $8::text is null or a.code is null then $5::text
            else left($8::text || ' ' || a.code || ': ' || a.reason, 2000) end,
        $6, $6, $7, a.response_status::text
    from dead d left join attempts a
        on a.tenant_id = d.tenant_id and a.delivery_id = d.id and a.number = d.attempts
    -- A test of a webhook leaves none: nobody waits for it.
    where not (d.lane = {WEBHOOK} and exists (select from parcels p
        where p.tenant_id = d.tenant_id and p.id = d.parcel_id and p.is_test offset 0))
    on conflict (tenant_id, delivery_id) do update
    set failed_attempts = excluded.failed_attempts, code = excluded.code,
        reason = excluded.reason, failed_at = excluded.failed_at,
        moved_at = excluded.moved_at, expires_at = excluded.expires_at,
        provider_code = excluded.provider_code
)
select d.tenant_id, d.target_id, d.order_key, d.id, d.parcel_id, d.attempts,
    exists (select from parcels p
        where p.tenant_id = d.tenant_id and p.id = d.parcel_id and p.is_test offset 0),
    (select p.event_type from parcels p where p.tenant_id = d.tenant_id and p.id = d.parcel_id)
from dead d"
    )
});

pub(crate) struct GiveUp<'a> {
    /// The states from which deliveries are given up.
    pub from: &'a [State],
    pub failure: &'a Failure,
    /// If there was an attempt: the text before its failure, instead of the reason in `failure`.
    pub tried: Option<&'a str>,
    pub at: Time,
    pub expires_at: Time,
}

impl GiveUp<'_> {
    /// Gives deliveries up in a transaction of its own. Returns them, and whether others became active.
    pub(crate) async fn run(
        &self,
        session: Session,
        deliveries: &[(TenantId, DeliveryId)],
    ) -> Result<(Vec<EndedDelivery>, bool), TxError> {
        let transaction = Transaction::begin(session).await?;
        let done = self.steps(transaction.session()?, deliveries).await?;
        transaction.commit().await?;
        Ok(done)
    }

    async fn steps(
        &self,
        session: &Session,
        deliveries: &[(TenantId, DeliveryId)],
    ) -> Result<(Vec<EndedDelivery>, bool), TxError> {
        let mut sorted = deliveries.to_vec();
        sorted.sort_unstable();
        order::lock(session, &sorted, &[]).await?;
        let tenants: Vec<Uuid> = sorted.iter().map(|one| uuid(one.0)).collect();
        let ids: Vec<Uuid> = sorted.iter().map(|one| uuid(one.1)).collect();
        let from: Vec<i32> = self.from.iter().map(|one| i32::from(one.number())).collect();
        let dead = query(
            session,
            &END,
            &[
                &tenants,
                &ids,
                &from,
                &self.failure.code().as_str(),
                &text(self.failure.reason()),
                &self.at.micros(),
                &self.expires_at.micros(),
                &self.tried,
            ],
        )
        .await?;
        let mut ended = BTreeSet::new();
        for row in &dead {
            if let Some(key) = rows::get::<Option<&[u8]>>(row, 2)? {
                ended.insert((rows::id(row, 0)?, rows::id(row, 1)?, key.to_vec()));
            }
        }
        let moved = order::move_up(session, &ended).await?;
        let dead = dead.iter().map(ended_delivery).collect::<Result<_, TxError>>()?;
        Ok((dead, moved))
    }
}

fn ended_delivery(row: &tokio_postgres::Row) -> Result<EndedDelivery, TxError> {
    Ok(EndedDelivery {
        tenant: rows::id(row, 0)?,
        delivery: rows::id(row, 3)?,
        parcel: rows::id(row, 4)?,
        target: rows::id(row, 1)?,
        attempts: rows::get::<i32>(row, 5)? as u32,
        is_test: rows::get(row, 6)?,
        is_notice: rows::get::<Option<&str>>(row, 7)?.is_some_and(is_reserved),
    })
}

/// Reads a key, (tenant, id), from a row that begins with it.
pub(crate) fn key(row: &tokio_postgres::Row) -> Result<(TenantId, DeliveryId), TxError> {
    Ok((rows::id(row, 0)?, rows::id(row, 1)?))
}
