//! Dead letters for the archive.

use std::collections::HashMap;

use async_trait::async_trait;
use gancho_domain::{Attempt, DeliveryId, Time};
use gancho_store::{
    ArchiveSelection, ArchivedLetter, Archiving, FullDeadLetter, ImportOutcome, Result,
};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::{
    PostgresStore,
    dead_letters::{LETTER, dead_letter},
    rows::{self, ATTEMPT, uuid},
    session::{execute, query},
    states::{DEAD, Sql},
    tx_error::store_error,
};

/// Returns the overflow of tenants whose count exceeds the maximum. For each it reads only the index, up to
/// the first dead letter that is too many.
pub(crate) const OVERFLOW: &str = "
with owner as materialized (
    select c.tenant_id from dead_counts c group by c.tenant_id having sum(c.change)::bigint > $1)
select o.tenant_id, l.moved_at, l.delivery_id
from owner o cross join lateral (
    select l.moved_at, l.delivery_id from dead_letters l where l.tenant_id = o.tenant_id
    order by l.moved_at desc, l.delivery_id desc offset $1 limit 1) l";

/// The sizes are known without reading the bodies, because these are not compressed. Each part is looked up
/// for the one before it (`offset 0`), so that PostgreSQL takes the order of dead letters from the index,
/// whatever the statistics of the tables say.
static KEY: Sql = Sql::new(|| {
    format!(
        "
select l.tenant_id, l.delivery_id, p.weight + coalesce((
    select sum(octet_length(a.request_headers) + octet_length(a.response_headers)
        + octet_length(a.response_body))
    from attempts a where a.tenant_id = l.tenant_id and a.delivery_id = l.delivery_id), 0)
from dead_letters l
cross join lateral (
    select d.parcel_id from deliveries d
    where d.tenant_id = l.tenant_id and d.id = l.delivery_id and d.state + 0 = {DEAD} offset 0) d
cross join lateral (
    select octet_length(p.body) as weight from parcels p
    where p.tenant_id = l.tenant_id and p.id = d.parcel_id offset 0) p"
    )
});

pub(crate) fn expired() -> String {
    format!("{KEY} where l.expires_at <= $1 order by l.expires_at, l.delivery_id limit $2")
}

pub(crate) fn beyond() -> String {
    format!(
        "{KEY} where l.tenant_id = $1 and (l.moved_at, l.delivery_id) <= ($2, $3)
         order by l.moved_at, l.delivery_id limit $4"
    )
}

/// Locks the dead letters by their deliveries, as a replay does. One that was replayed meanwhile has another
/// state, or another time.
pub(crate) static REMOVE_ARCHIVED: Sql = Sql::new(|| {
    format!(
        "
with gone as materialized (
    select d.tenant_id, d.id, k.moved_at
    from unnest($1::uuid[], $2::uuid[], $3::int8[]) as k(tenant_id, id, moved_at)
    join deliveries d on d.tenant_id = k.tenant_id and d.id = k.id
    where d.state + 0 = {DEAD} order by d.tenant_id, d.id for update of d)
delete from dead_letters l using gone
where l.tenant_id = gone.tenant_id and l.delivery_id = gone.id and l.moved_at = gone.moved_at"
    )
});

#[async_trait]
impl Archiving for PostgresStore {
    async fn dead_overflow(&self, max_per_tenant: u64) -> Result<Vec<ArchiveSelection>> {
        let session = self.upkeep_session().await?;
        let max = i64::try_from(max_per_tenant).unwrap_or(i64::MAX);
        let found = query(&session, OVERFLOW, &[&max]).await.map_err(store_error)?;
        let overflow = |row| {
            Ok(ArchiveSelection::Overflow(
                rows::id(row, 0)?,
                rows::time(row, 1)?,
                rows::id(row, 2)?,
            ))
        };
        found.iter().map(overflow).collect()
    }

    async fn letters_to_archive(
        &self,
        which: ArchiveSelection,
        max: usize,
        max_bytes: usize,
    ) -> Result<Vec<FullDeadLetter>> {
        let keys = self.keys(which, max, max_bytes).await?;
        if keys.0.is_empty() {
            return Ok(Vec::new());
        }
        let mut attempts = self.attempts_of(&keys).await?;
        let session = self.upkeep_session().await?;
        let sql = format!(
            "select {LETTER}
             from unnest($1::uuid[], $2::uuid[]) with ordinality as k(tenant, delivery, place)
             cross join lateral (select * from dead_letters l
               where l.tenant_id = k.tenant and l.delivery_id = k.delivery offset 0) l
             cross join lateral (select * from deliveries d
               where d.tenant_id = k.tenant and d.id = k.delivery offset 0) d
             cross join lateral (select * from parcels p
               where p.tenant_id = k.tenant and p.id = d.parcel_id offset 0) p
             order by k.place"
        );
        let found = query(&session, &sql, &[&keys.0, &keys.1]).await.map_err(store_error)?;
        let whole = |row| {
            let letter = dead_letter(row)?;
            Ok(FullDeadLetter {
                attempts: attempts.remove(&letter.delivery).unwrap_or_default(),
                letter,
            })
        };
        found.iter().map(whole).collect()
    }

    async fn remove_archived(&self, letters: Vec<ArchivedLetter>) -> Result<u64> {
        let session = self.session().await?;
        let tenants: Vec<Uuid> = letters.iter().map(|left| uuid(left.tenant)).collect();
        let ids: Vec<Uuid> = letters.iter().map(|left| uuid(left.delivery)).collect();
        let moved: Vec<i64> = letters.iter().map(|left| left.moved_at.micros()).collect();
        execute(&session, &REMOVE_ARCHIVED, &[&tenants, &ids, &moved]).await.map_err(store_error)
    }

    async fn import_dead(
        &self,
        letters: Vec<FullDeadLetter>,
        now: Time,
    ) -> Result<Vec<ImportOutcome>> {
        self.import(&letters, now).await
    }
}

/// Tenants and deliveries.
type DeliveryKeys = (Vec<Uuid>, Vec<Uuid>);

impl PostgresStore {
    async fn keys(
        &self,
        which: ArchiveSelection,
        max: usize,
        max_bytes: usize,
    ) -> Result<DeliveryKeys> {
        let session = self.upkeep_session().await?;
        let max = max as i64;
        let (sql, values): (String, Vec<Box<dyn ToSql + Send + Sync>>) = match which {
            ArchiveSelection::Expired(by) => {
                (expired(), vec![Box::new(by.micros()), Box::new(max)])
            }
            ArchiveSelection::Overflow(tenant, moved_at, delivery) => (
                beyond(),
                vec![
                    Box::new(uuid(tenant)),
                    Box::new(moved_at.micros()),
                    Box::new(uuid(delivery)),
                    Box::new(max),
                ],
            ),
        };
        let values: Vec<&(dyn ToSql + Sync)> =
            values.iter().map(|value| value.as_ref() as &(dyn ToSql + Sync)).collect();
        let found = query(&session, &sql, &values).await.map_err(store_error)?;
        let (mut keys, mut bytes) = (DeliveryKeys::default(), 0);
        for row in &found {
            if bytes >= max_bytes {
                break;
            }
            keys.0.push(rows::get(row, 0)?);
            keys.1.push(rows::get(row, 1)?);
            bytes += rows::get::<i64>(row, 2)? as usize;
        }
        Ok(keys)
    }

    async fn attempts_of(&self, keys: &DeliveryKeys) -> Result<HashMap<DeliveryId, Vec<Attempt>>> {
        let session = self.upkeep_session().await?;
        let sql = format!(
            "select {ATTEMPT}, delivery_id
             from unnest($1::uuid[], $2::uuid[]) as k(tenant, delivery)
             join attempts on tenant_id = k.tenant and delivery_id = k.delivery
             order by delivery_id, number"
        );
        let found = query(&session, &sql, &[&keys.0, &keys.1]).await.map_err(store_error)?;
        let mut attempts = HashMap::<_, Vec<_>>::new();
        for row in &found {
            attempts.entry(rows::id(row, 10)?).or_default().push(rows::attempt(row)?);
        }
        Ok(attempts)
    }
}
