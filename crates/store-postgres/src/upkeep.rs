//! Keeping the database small and knowing how full it is.

use std::{collections::HashSet, time::Duration};

use async_trait::async_trait;
use deadpool_postgres::ClientWrapper;
use gancho_domain::{EndReason, Lane, State, Time};
use gancho_store::{LaneDepth, Result, Space, Upkeep};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    PostgresStore,
    fault::{Fault, store_error},
    give_up::{self, GiveUp},
    rows,
    session::{Transaction, execute, query},
    spans,
};

const FORGET_KEYS: &str = "
delete from once_keys o using (
    select tenant_id, key from once_keys where until <= $1 limit $2) late
where o.tenant_id = late.tenant_id and o.key = late.key";

/// Tenant after tenant, each one's parcels oldest first, by the key alone: an index by time would be
/// written with every parcel for the sake of this. Ids begin with their time, so `$2` is where to
/// stop; the parcel's own time decides. `skip locked`: two nodes may be pruning.
const ENDED: &str = "
with recursive owner(tenant_id) as (
    (select tenant_id from parcels order by tenant_id limit 1)
    union all
    select (select p.tenant_id from parcels p where p.tenant_id > o.tenant_id
            order by p.tenant_id limit 1)
    from owner o where o.tenant_id is not null
)
select p.tenant_id, p.id, p.deliveries
from owner o cross join lateral (
    select p.tenant_id, p.id, p.deliveries from parcels p
    where p.tenant_id = o.tenant_id and p.id < $2 and p.created_at < $1 and not exists (
        select from unnest(p.deliveries) as n(id)
        join deliveries d on d.tenant_id = p.tenant_id and d.id = n.id
        left join dead_letters l on l.tenant_id = d.tenant_id and l.delivery_id = d.id
        where d.state in (2, 3, 4) or l.delivery_id is not null)
    order by p.id limit $3 for update of p skip locked) p
limit $3";

/// How much younger than its id a parcel may be for the id alone not to keep it.
const GRACE: Duration = Duration::from_secs(60);

const TAKE_ENDED: &str = "
select d.tenant_id, d.parcel_id, d.state in (2, 3, 4)
from unnest($1::uuid[], $2::uuid[]) as k(tenant_id, id)
join deliveries d on d.tenant_id = k.tenant_id and d.id = k.id
order by d.tenant_id, d.id for update of d";

const LATE: &str = "
select tenant_id, id from deliveries
where state in (2, 4) and lane = $1 and created_at < $2
  -- One that was armed anew has all the time its plan asks for.
  and attempts_before = 0 and not was_dead
order by created_at limit $3";

const DEPTHS: &str = "
select l.lane, coalesce(w.pending, 0), coalesce(h.leased, 0), coalesce(w.waiting, 0),
    (select due_at from deliveries where state = 2 and lane = l.lane order by due_at limit 1)
from unnest($1::int2[]) with ordinality as l(lane, place)
left join (
    select lane, count(*) filter (where state = 2) as pending,
        count(*) filter (where state = 4) as waiting
    from deliveries where state in (2, 4) group by lane) w on w.lane = l.lane
left join (
    select lane, count(*) as leased from deliveries where state = 3 group by lane) h
    on h.lane = l.lane
order by l.place";

/// Every transaction that accepts or settles notes its time, and every node its heartbeat: by the
/// database's clock.
const LAST_WRITTEN: &str = "
select (extract(epoch from greatest(
    (select max(seen_at) from writers), (select max(beat_at) from nodes))) * 1000000)::int8";

#[async_trait]
impl Upkeep for PostgresStore {
    async fn prune(&self, before: Time, most: usize, now: Time) -> Result<u64> {
        let session = self.session().await?;
        let most = most as i64;
        let keys = most * 10;
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 2] = [&now.micros(), &keys];
        execute(&session, FORGET_KEYS, &values).await.map_err(store_error)?;
        session
            .batch_execute("delete from writers where seen_at < now() - interval '7 days'")
            .await
            .map_err(store_error)?;
        spans::prune(&session, before, keys).await.map_err(store_error)?;
        drop(session);
        self.prune_parcels(before, most).await.map_err(Fault::into_error)
    }

    async fn expire(&self, lane: Lane, before: Time, most: usize, now: Time) -> Result<u64> {
        let done = self.expire_late(lane, before, most, now).await;
        let (count, moved) = done.map_err(Fault::into_error)?;
        if moved {
            self.bells.ring_all();
        }
        Ok(count)
    }

    async fn depths(&self) -> Result<Vec<LaneDepth>> {
        let session = self.upkeep_session().await?;
        let lanes: Vec<i16> = Lane::ALL.iter().map(|lane| lane.number()).collect();
        let found = query(&session, DEPTHS, &[&lanes]).await;
        found
            .map_err(store_error)?
            .iter()
            .map(|row| {
                Ok(LaneDepth {
                    lane: rows::lane(row, 0)?,
                    pending: rows::get::<i64>(row, 1)? as u64,
                    leased: rows::get::<i64>(row, 2)? as u64,
                    waiting: rows::get::<i64>(row, 3)? as u64,
                    oldest_due: rows::maybe_time(row, 4)?,
                })
            })
            .collect()
    }

    async fn space(&self) -> Result<Space> {
        let session = self.upkeep_session().await?;
        let sql = "select pg_database_size(current_database())";
        let row = session.query_one(sql, &[]).await.map_err(store_error)?;
        Ok(Space { used: rows::get::<i64>(&row, 0)? as u64, limit: None })
    }

    async fn last_written(&self) -> Result<Option<Time>> {
        let session = self.session().await?;
        let row = session.query_one(LAST_WRITTEN, &[]).await.map_err(store_error)?;
        rows::maybe_time(&row, 0)
    }

    /// Always 0. The embedded store takes the first 63 bits of an id for its row number, so its ids
    /// must rise. Here the whole id is the key, and the 65 bits behind those are drawn at random: a
    /// node whose clock went back, or another node in the same millisecond, makes other ids.
    async fn highest_lead(&self) -> Result<i64> {
        Ok(0)
    }
}

impl PostgresStore {
    async fn prune_parcels(&self, before: Time, most: i64) -> Result<u64, Fault> {
        let transaction = Transaction::begin(self.session().await?).await?;
        let session = transaction.session()?;
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
            [&before.micros(), &rows::first_id_at(before + GRACE), &most];
        let ended = query(session, ENDED, &values).await?;
        let armed = Self::armed_meanwhile(session, &ended).await?;
        let mut parcels = (Vec::new(), Vec::new());
        let mut deliveries = (Vec::new(), Vec::new());
        for row in &ended {
            let tenant: Uuid = rows::get(row, 0)?;
            let parcel: Uuid = rows::get(row, 1)?;
            if armed.contains(&(tenant, parcel)) {
                continue;
            }
            parcels.0.push(tenant);
            parcels.1.push(parcel);
            for delivery in rows::get::<Vec<Uuid>>(row, 2)? {
                deliveries.0.push(tenant);
                deliveries.1.push(delivery);
            }
        }
        let gone = parcels.0.len();
        for (table, column, (tenants, ids)) in [
            ("attempts", "delivery_id", &deliveries),
            ("deliveries", "id", &deliveries),
            ("parcels", "id", &parcels),
        ] {
            let sql = format!(
                "delete from {table} x using unnest($1::uuid[], $2::uuid[]) as k(tenant_id, id)
                 where x.tenant_id = k.tenant_id and x.{column} = k.id"
            );
            execute(session, &sql, &[tenants, ids]).await?;
        }
        transaction.commit().await?;
        Ok(gone as u64)
    }

    /// Takes the rows of the deliveries of these parcels, and names the parcels of which one was
    /// armed anew since they were looked at.
    async fn armed_meanwhile(
        session: &ClientWrapper,
        ended: &[Row],
    ) -> Result<HashSet<(Uuid, Uuid)>, Fault> {
        let (mut tenants, mut ids) = (Vec::new(), Vec::new());
        for row in ended {
            for delivery in rows::get::<Vec<Uuid>>(row, 2)? {
                tenants.push(rows::get::<Uuid>(row, 0)?);
                ids.push(delivery);
            }
        }
        let locked = query(session, TAKE_ENDED, &[&tenants, &ids]).await?;
        let mut armed = HashSet::new();
        for row in &locked {
            if rows::get::<bool>(row, 2)? {
                armed.insert((rows::get(row, 0)?, rows::get(row, 1)?));
            }
        }
        Ok(armed)
    }

    async fn expire_late(
        &self,
        lane: Lane,
        before: Time,
        most: usize,
        now: Time,
    ) -> Result<(u64, bool), Fault> {
        let session = self.session().await?;
        let most = most as i64;
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
            [&lane.number(), &before.micros(), &most];
        let found = query(&session, LATE, &values).await?;
        let overdue = found.iter().map(give_up::key).collect::<Result<Vec<_>, Fault>>()?;
        if overdue.is_empty() {
            return Ok((0, false));
        }
        GiveUp {
            from: &[State::Pending, State::Waiting],
            failure: &EndReason::EXPIRED.failure(None),
            tried: Some(EndReason::EXPIRED.tried),
            at: now,
            expires_at: now + self.dead_letter_ttl,
        }
        .run(session, &overdue)
        .await
    }
}
