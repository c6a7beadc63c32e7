//! Events that `gancho.publish` has stored, until a node accepts or rejects them.
//!
//! **Exactly once.** The transaction that accepts an event removes its row, and accepts it only if the row
//! still exists. The lease of a tenant only avoids duplicate work, and keeps the tenant's events in order.

use std::{collections::HashSet, sync::Arc, time::Duration};

use async_trait::async_trait;
use gancho_domain::{EventId, ParcelId, TenantId, TenantScope, Time};
use gancho_store::{
    AcceptOutcome, Intake, IntakeBatch, IntakeCounts, IntakeEvent, IntakeSettings, NewParcel,
    NodeId, RejectedEvent, Result, StoreError,
};
use tokio::sync::Notify;
use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

use crate::{
    PostgresStore,
    accept::BatchParcel,
    listen::INTAKE_CHANNEL,
    rows::{self, text, uuid},
    session::{Session, Transaction, execute, query},
    states::{Sql, sql},
    tx_error::{TxError, store_error},
};

const WAITING: i16 = 1;
const REJECTED: i16 = 2;

const DESCRIBE: &str = "
insert into intake_settings as s (settings)
select jsonb_build_object('max_bytes', $1::int8,
    'plans', (select coalesce(jsonb_object_agg(name, events), '{}') from unnest($2::text[], $3::int8[]) as p(name, events)),
    'event_types', to_jsonb($4::text[]))
on conflict (is_here) do update set settings = excluded.settings where s.settings <> excluded.settings";

/// Whether events of a tenant are taken or postponed.
const IS_TAKEN: &str = "exists (select from intake h where h.tenant_id = t.tenant_id and h.state = 1 \
    and h.taken_until > clock_timestamp())";

/// Finds the next tenants after `$1` with waiting events of which none is taken, by one step in two indexes
/// for each tenant. Tenants whose events are taken do not count towards the limit: however many they are, the
/// others have their turn.
static TENANTS: Sql = Sql::new(|| {
    format!(
        "
with recursive t(tenant_id) as (
    (select tenant_id from intake where state = {WAITING} and tenant_id > $1 order by tenant_id limit 1)
    union all
    select (select i.tenant_id from intake i where i.state = {WAITING} and i.tenant_id > t.tenant_id
            order by i.tenant_id limit 1)
    from t where t.tenant_id is not null)
select tenant_id from t where tenant_id is not null and not {IS_TAKEN} limit $2"
    )
});

/// A separate statement, because the next one must see what the previous holder of the lock has committed.
const LOCK: &str = "
select k.tenant_id from unnest($1::uuid[]) as k(tenant_id)
where pg_try_advisory_xact_lock(1735290990, hashtext(k.tenant_id::text))";

/// Takes the oldest events of each tenant of which none is taken: another node may have been faster.
static TAKE: Sql = Sql::new(|| {
    format!(
        "
with due as materialized (
    select d.tenant_id, d.id
    from unnest($1::uuid[]) as t(tenant_id)
    cross join lateral (
        select h.*, sum(h.size) over (order by h.number) as bytes, row_number() over (order by h.number) as place
        from (select i.tenant_id, i.id, i.number, i.size from intake i
              where i.tenant_id = t.tenant_id and i.state = {WAITING} order by i.number limit $2) h) d
    where (d.bytes <= $3 or d.place = 1) and not {IS_TAKEN})
update intake i set taken_until = clock_timestamp() + $4::float8 * interval '1 second'
from due where i.tenant_id = due.tenant_id and i.id = due.id
returning i.number, i.tenant_id, i.id, i.event_type, i.subject, i.external_id, i.idempotency_key, i.deliver_at, i.body"
    )
});

static HOLD: Sql = Sql::new(|| {
    format!(
        "
select i.id from unnest($1::uuid[], $2::uuid[]) as k(tenant_id, id)
join intake i on i.tenant_id = k.tenant_id and i.id = k.id
where i.state = {WAITING} order by i.tenant_id, i.id for update of i"
    )
});

const REMOVE: &str = "
delete from intake i using unnest($1::uuid[], $2::uuid[]) as k(tenant_id, id)
where i.tenant_id = k.tenant_id and i.id = k.id";

/// Locks the rows of parcels from the intake. Returns those that no longer exist, because another node was
/// faster.
pub(crate) async fn hold(
    session: &Session,
    incoming: &[BatchParcel<'_>],
) -> Result<HashSet<ParcelId>, TxError> {
    let parcels = || incoming.iter().filter(|one| one.is_intake).map(|one| &*one.new.parcel);
    let tenants: Vec<Uuid> = parcels().map(|one| uuid(one.tenant)).collect();
    let ids: Vec<Uuid> = parcels().map(|one| uuid(one.id)).collect();
    let mut moved: HashSet<ParcelId> = parcels().map(|one| one.id).collect();
    for row in &query(session, &HOLD, &[&tenants, &ids]).await? {
        moved.remove(&rows::id(row, 0)?);
    }
    Ok(moved)
}

/// Removes the rows of accepted parcels, whether accepted now or before.
pub(crate) async fn remove(
    session: &Session,
    incoming: &[BatchParcel<'_>],
    outcomes: &[AcceptOutcome],
) -> Result<(), TxError> {
    let is_accepted = |(one, outcome): &(&BatchParcel<'_>, &AcceptOutcome)| {
        one.is_intake && !matches!(outcome, AcceptOutcome::Clash { .. })
    };
    let parcels =
        || incoming.iter().zip(outcomes).filter(is_accepted).map(|(one, _)| &*one.new.parcel);
    let tenants: Vec<Uuid> = parcels().map(|one| uuid(one.tenant)).collect();
    let ids: Vec<Uuid> = parcels().map(|one| uuid(one.id)).collect();
    execute(session, REMOVE, &[&tenants, &ids]).await?;
    Ok(())
}

#[async_trait]
impl Intake for PostgresStore {
    fn intake_bell(&self) -> Option<Arc<Notify>> {
        Some(self.bells.intake())
    }

    async fn describe_intake(&self, settings: IntakeSettings) -> Result<()> {
        let amount = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let names: Vec<_> = settings.plans.iter().map(|(name, _)| text(name)).collect();
        let limits: Vec<i64> = settings.plans.iter().map(|(_, limit)| amount(*limit)).collect();
        let session = self.session().await?;
        let values: [&(dyn ToSql + Sync); 4] =
            [&amount(settings.max_bytes), &names, &limits, &settings.event_types];
        execute(&session, DESCRIBE, &values).await.map(drop).map_err(store_error)
    }

    async fn take_intake(
        &self,
        after: Option<TenantId>,
        batch: IntakeBatch,
    ) -> Result<Vec<IntakeEvent>> {
        self.take_events(after, batch).await.map_err(TxError::into_error)
    }

    async fn accept_intake(
        &self,
        parcels: Vec<NewParcel>,
        holder: NodeId,
    ) -> Result<Vec<AcceptOutcome>> {
        if parcels.is_empty() {
            return Ok(Vec::new());
        }
        self.committers.accept_intake(parcels, holder).await
    }

    async fn postpone_intake(
        &self,
        scope: TenantScope,
        events: &[EventId],
        delay: Duration,
    ) -> Result<()> {
        let ids: Vec<Uuid> = events.iter().map(|id| uuid(*id)).collect();
        let sql = sql!(
            "update intake set taken_until = clock_timestamp() + $3::float8 * interval '1 second'
            where tenant_id = $1 and id = any ($2) and state = {WAITING}"
        );
        let session = self.session().await?;
        let values: [&(dyn ToSql + Sync); 3] = [&uuid(scope.tenant()), &ids, &delay.as_secs_f64()];
        execute(&session, sql, &values).await.map(drop).map_err(store_error)
    }

    async fn reject_intake(
        &self,
        scope: TenantScope,
        event: EventId,
        code: &str,
        reason: &str,
        now: Time,
    ) -> Result<bool> {
        let sql = sql!(
            "update intake set state = {REJECTED}, code = $3, reason = $4, rejected_at = $5, taken_until = null
            where tenant_id = $1 and id = $2 and state = {WAITING}"
        );
        let session = self.session().await?;
        let values: [&(dyn ToSql + Sync); 5] =
            [&uuid(scope.tenant()), &uuid(event), &text(code), &text(reason), &now.micros()];
        Ok(execute(&session, sql, &values).await.map_err(store_error)? > 0)
    }

    async fn rejected_events(
        &self,
        tenant: Option<TenantId>,
        after: Option<EventId>,
        max: usize,
    ) -> Result<Vec<RejectedEvent>> {
        let sql = format!(
            "select {EVENT}, code, reason, published_at, rejected_at from intake
             where state = {REJECTED} and id < $1 and ($2::uuid is null or tenant_id = $2) order by id desc limit $3"
        );
        let before = after.map_or(Uuid::max(), uuid);
        let session = self.lists.next(tenant).await?;
        let values: [&(dyn ToSql + Sync); 3] = [&before, &tenant.map(uuid), &(max as i64)];
        let found = query(&session, &sql, &values).await.map_err(store_error)?;
        let rejected = |row: &Row| {
            Ok(RejectedEvent {
                event: event(row, 0)?,
                code: rows::get(row, 8)?,
                reason: rows::get(row, 9)?,
                published_at: rows::time(row, 10)?,
                rejected_at: rows::time(row, 11)?,
            })
        };
        found.iter().map(rejected).collect()
    }

    async fn retry_rejected_event(&self, tenant: Option<TenantId>, event: EventId) -> Result<bool> {
        let sql = format!(
            "with back as (
               update intake set state = {WAITING}, code = null, reason = null, rejected_at = null
               where id = $1 and state = {REJECTED} and ($2::uuid is null or tenant_id = $2) returning id)
             select pg_notify('{INTAKE_CHANNEL}', '') from back"
        );
        let session = self.session().await?;
        let values: [&(dyn ToSql + Sync); 2] = [&uuid(event), &tenant.map(uuid)];
        match query(&session, &sql, &values).await {
            Ok(found) => Ok(!found.is_empty()),
            Err(TxError::Content(StoreError::Taken(_))) => {
                Err(StoreError::Taken("the idempotency key of the event".to_owned()))
            }
            Err(error) => Err(error.into_error()),
        }
    }

    async fn delete_rejected_event(
        &self,
        tenant: Option<TenantId>,
        event: EventId,
    ) -> Result<bool> {
        let sql = sql!(
            "delete from intake where id = $1 and state = {REJECTED} and ($2::uuid is null or tenant_id = $2)"
        );
        let session = self.session().await?;
        let values: [&(dyn ToSql + Sync); 2] = [&uuid(event), &tenant.map(uuid)];
        Ok(execute(&session, sql, &values).await.map_err(store_error)? > 0)
    }

    async fn intake_counts(&self) -> Result<IntakeCounts> {
        let sql = sql!(
            "select (select count(*) from (select from intake where state = {WAITING} limit $1) w),
            (select count(*) from (select from intake where state = {REJECTED} limit $1) r)"
        );
        let session = self.upkeep_session().await?;
        let found = query(&session, sql, &[&(IntakeCounts::MAX as i64)]).await;
        let found = found.map_err(store_error)?;
        let Some(row) = found.first() else { return Ok(IntakeCounts::default()) };
        let count = |column| Ok::<_, StoreError>(rows::get::<i64>(row, column)?.max(0) as u64);
        Ok(IntakeCounts { waiting: count(0)?, rejected: count(1)? })
    }
}

impl PostgresStore {
    async fn take_events(
        &self,
        after: Option<TenantId>,
        batch: IntakeBatch,
    ) -> Result<Vec<IntakeEvent>, TxError> {
        let session = self.session().await?;
        let mut tenants = next_tenants(&session, after.map_or(Uuid::nil(), uuid), batch).await?;
        if let Some(after) = after.filter(|_| tenants.len() < batch.max_tenants) {
            // Starts over from the first tenant, once.
            let first = next_tenants(&session, Uuid::nil(), batch).await?;
            tenants.extend(first.into_iter().filter(|tenant| *tenant <= uuid(after)));
            tenants.truncate(batch.max_tenants);
        }
        if tenants.is_empty() {
            return Ok(Vec::new());
        }
        let transaction = Transaction::begin(session).await?;
        let session = transaction.session()?;
        let locked = query(session, LOCK, &[&tenants]).await?;
        let locked = locked.iter().map(|row| rows::get(row, 0)).collect::<Result<Vec<Uuid>>>()?;
        let values: [&(dyn ToSql + Sync); 4] = [
            &locked,
            &(batch.max_events as i64),
            &(batch.max_bytes as i64),
            &batch.lease.as_secs_f64(),
        ];
        let taken = query(session, &TAKE, &values).await?;
        transaction.commit().await?;
        let numbered = |row: &Row| Ok((rows::get::<i64>(row, 0)?, event(row, 1)?));
        let mut taken = taken.iter().map(numbered).collect::<Result<Vec<_>>>()?;
        let turn = |event: &IntakeEvent| tenants.iter().position(|one| *one == uuid(event.tenant));
        taken.sort_by_cached_key(|(number, event)| (turn(event), *number));
        Ok(taken.into_iter().map(|(_, event)| event).collect())
    }
}

async fn next_tenants(
    session: &Session,
    after: Uuid,
    batch: IntakeBatch,
) -> Result<Vec<Uuid>, TxError> {
    let found = query(session, &TENANTS, &[&after, &(batch.max_tenants as i64)]).await?;
    Ok(found.iter().map(|row| rows::get(row, 0)).collect::<Result<_>>()?)
}

/// The columns of [`event`].
const EVENT: &str =
    "tenant_id, id, event_type, subject, external_id, idempotency_key, deliver_at, body";

fn event(row: &Row, at: usize) -> Result<IntakeEvent> {
    let text =
        |column| Ok::<_, StoreError>(rows::get::<Option<&str>>(row, at + column)?.map(Into::into));
    Ok(IntakeEvent {
        tenant: rows::id(row, at)?,
        id: rows::id(row, at + 1)?,
        event_type: rows::get(row, at + 2)?,
        subject: text(3)?,
        external_id: text(4)?,
        idempotency_key: text(5)?,
        deliver_at: rows::maybe_time(row, at + 6)?,
        data: rows::bytes(row, at + 7)?,
    })
}
