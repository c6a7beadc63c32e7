//! Prunes expired rows in small steps.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    time::Duration,
};

use gancho_domain::{ParcelKind, Time};
use gancho_store::{
    PruneStep, Result,
    upkeep::{Cutoff, USAGE_KEPT},
};
use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

use crate::{
    PostgresStore, audit,
    pass::Pass,
    rows,
    session::{Session, Transaction, execute, query},
    states::{LEASED, PENDING, Sql, WAITING},
    time_buckets::{self, BucketRow},
    tx_error::{TxError, store_error},
};

/// How many parcels a step scans for each that it may remove.
const LOOKS: i64 = 10;

#[derive(Default)]
pub(crate) struct Passes {
    parcels: Pass<(Uuid, Uuid)>,
    buckets: Pass<BucketRow>,
}

/// Removes expired keys. Checks `until` again, because a key may have been claimed in between.
const FORGET_KEYS: &str = "
delete from once_keys o using (
    select tenant_id, key from once_keys where until <= $1 order by until limit $2) late
where o.tenant_id = late.tenant_id and o.key = late.key and o.until <= $1";

const FORGET_RECORDS: &str = "
delete from records r using (
    select kind, tenant_id, key from records where until <= $1 order by until limit $2) late
where r.kind = late.kind and r.tenant_id = late.tenant_id and r.key = late.key and r.until <= $1";

const FORGET_REPORTS: &str = "
delete from email_reports r using (
    select tenant_id, email_id from email_reports where until <= $1 order by until limit $2) late
where r.tenant_id = late.tenant_id and r.email_id = late.email_id and r.until <= $1";

const FORGET_USAGE: &str = "
delete from usage u using (
    select tenant_id, period from usage
    where period < to_char(to_timestamp($1::int8) at time zone 'UTC', 'YYYY-MM')
    order by period limit $2) late
where u.tenant_id = late.tenant_id and u.period = late.period";

/// Removes dead nodes. Their deliveries are recognized because their owner is not among the living.
const FORGET_PROCESSES: &str = "
delete from writers where seen_at < now() - interval '7 days';
delete from nodes where is_dead";

const ADD_UP_DEAD_COUNTS: &str = "
with many as materialized (
    select tenant_id, lane, code from dead_counts group by 1, 2, 3
    having count(*) > 1 or sum(change) = 0 limit $1
), gone as (
    delete from dead_counts c using many m
    where c.tenant_id = m.tenant_id and c.lane = m.lane and c.code = m.code returning c.*
), kept as (
    insert into dead_counts select tenant_id, lane, code, sum(change) from gone
    group by 1, 2, 3 having sum(change) <> 0
)
select count(*) from many";

const EVENT: i16 = ParcelKind::Event.number();
const EMAIL: i16 = ParcelKind::Email.number();

/// Whether parcel `p` may be pruned: all its deliveries have ended and left no dead letter, and it is older
/// than the retention of its tenant, counted from `$2`, or without one created before `$1`.
pub(crate) static HAS_ENDED: Sql = Sql::new(|| {
    format!(
        "p.created_at < coalesce($2::int8 - (select case p.kind when {EVENT} then t.keep_events_us
        when {EMAIL} then t.keep_emails_us end from tenants t where t.tenant_id = p.tenant_id), $1::int8)
    and not exists (
    select from unnest(p.deliveries) as n(id)
    cross join lateral (select d.tenant_id, d.id, d.state from deliveries d
        where d.tenant_id = p.tenant_id and d.id = n.id offset 0) d
    left join dead_letters l on l.tenant_id = d.tenant_id and l.delivery_id = d.id
    where d.state in ({PENDING}, {LEASED}, {WAITING}) or l.delivery_id is not null)"
    )
});

/// How much younger than its id a parcel may be. Within this, the id alone does not keep it.
const GRACE: Duration = Duration::from_secs(60);

/// Scans tenant after tenant, each one's parcels oldest first, by the key alone: an index by time would have
/// to be written with every parcel just for this. Ids begin with their time, so `$3` is where to stop; the
/// parcel's own time decides. Begins after `($4, $5)`.
fn scan_sql() -> String {
    format!(
        "with recursive owner(tenant_id) as (
    (select tenant_id from parcels where tenant_id >= $4 order by tenant_id limit 1)
    union all
    select (select p.tenant_id from parcels p where p.tenant_id > o.tenant_id
            order by p.tenant_id limit 1)
    from owner o where o.tenant_id is not null
)
select p.tenant_id, p.id, p.has_ended
from owner o cross join lateral (
    select p.tenant_id, p.id, {HAS_ENDED} as has_ended
    from parcels p
    where p.tenant_id = o.tenant_id and p.id < $3
      and p.id > case when o.tenant_id = $4 then $5::uuid
          else '00000000-0000-0000-0000-000000000000' end
    order by p.id limit $6) p
limit $6"
    )
}

/// The shortest retention of any tenant that has its own.
const SHORTEST_RETENTION: &str = "
select min(least(keep_events_us, keep_emails_us)) from tenants
where keep_events_us is not null or keep_emails_us is not null";

/// Locks ended parcels. `skip locked`, because two nodes may be pruning.
fn lock_ended() -> String {
    format!(
        "select p.tenant_id, p.id, p.deliveries, p.subject
from unnest($3::uuid[], $4::uuid[]) as k(tenant_id, id)
join parcels p on p.tenant_id = k.tenant_id and p.id = k.id
where {HAS_ENDED} order by p.tenant_id, p.id for update of p skip locked"
    )
}

/// Locked first, as in every transaction that ends an ordered delivery.
const LOCK_SUBJECTS: &str = "
select 1 from unnest($1::uuid[], $2::uuid[]) as k(tenant_id, id)
join parcels p on p.tenant_id = k.tenant_id and p.id = k.id
join subjects s on s.tenant_id = p.tenant_id and s.subject = p.subject
order by s.tenant_id, s.subject for update of s";

static TAKE_ENDED: Sql = Sql::new(|| {
    format!(
        "
select d.tenant_id, d.parcel_id, d.state in ({PENDING}, {LEASED}, {WAITING})
from unnest($1::uuid[], $2::uuid[]) as k(tenant_id, id)
join deliveries d on d.tenant_id = k.tenant_id and d.id = k.id
order by d.tenant_id, d.id for update of d"
    )
});

/// Removes subjects with their last parcel. Their numbers then start again at 1.
const COUNT_GONE: &str = "
update subjects s set gone = s.gone + k.gone
from unnest($1::uuid[], $2::bytea[], $3::int8[]) as k(tenant_id, subject, gone)
where s.tenant_id = k.tenant_id and s.subject = k.subject";
const FORGET_SUBJECTS: &str = "
delete from subjects s using unnest($1::uuid[], $2::bytea[]) as k(tenant_id, subject)
where s.tenant_id = k.tenant_id and s.subject = k.subject and s.gone >= s.last";

impl PostgresStore {
    pub(crate) async fn prune_step(
        &self,
        before: Time,
        max: usize,
        now: Time,
    ) -> Result<PruneStep> {
        let max = max as i64;
        let mut more = self.prune_small(max * LOOKS, now).await?;
        more |= self.prune_statistics(before, max, now).await?;
        let (parcels, more_parcels) =
            self.prune_parcels(Cutoff { before, now }, max).await.map_err(TxError::into_error)?;
        more |= more_parcels;
        more |= self.prune_buckets(before, max * LOOKS).await.map_err(TxError::into_error)?;
        if !more {
            more = self.add_up_dead_counts(max * LOOKS).await?;
        }
        Ok(PruneStep { parcels, more })
    }

    /// Reduces the counts of dead letters to one row for each key. Two nodes may do it at once: each adds up
    /// the rows that it removed itself.
    async fn add_up_dead_counts(&self, max: i64) -> Result<bool> {
        let session = self.session().await?;
        let found = query(&session, ADD_UP_DEAD_COUNTS, &[&max]).await.map_err(store_error)?;
        let keys = found.first().map(|row| rows::get::<i64>(row, 0)).transpose()?;
        Ok(keys == Some(max))
    }

    /// Removes expired keys, records, reports and usage, and processes that are gone. Returns whether there
    /// are more.
    async fn prune_small(&self, max: i64, now: Time) -> Result<bool> {
        self.over.set(now);
        let session = self.session().await?;
        let mut more = false;
        for (sql, until) in [
            (FORGET_KEYS, now.micros()),
            (FORGET_RECORDS, now.micros()),
            (FORGET_REPORTS, now.micros()),
            (audit::FORGET, now.micros()),
            (FORGET_USAGE, (now - USAGE_KEPT).secs()),
        ] {
            let gone = execute(&session, sql, &[&until, &max]).await.map_err(store_error)?;
            more |= gone >= max as u64;
        }
        session.batch_execute(FORGET_PROCESSES).await.map_err(store_error)?;
        Ok(more)
    }

    async fn prune_parcels(&self, cutoff: Cutoff, max: i64) -> Result<(u64, bool), TxError> {
        let pass = &self.passes.parcels;
        let (tenant, id) = pass.at().unwrap_or_default();
        let session = self.session().await?;
        let Cutoff { before, now } = cutoff;
        let shortest = query(&session, SHORTEST_RETENTION, &[]).await?;
        let shortest = shortest.first().map(|row| rows::maybe_span(row, 0)).transpose()?.flatten();
        let youngest = shortest.map_or(before, |keep| (now - keep).max(before));
        let (limit, end) = (max * LOOKS, rows::first_id_at(youngest + GRACE));
        let (old, at) = (before.micros(), now.micros());
        let values: [&(dyn ToSql + Sync); 6] = [&old, &at, &end, &tenant, &id, &limit];
        let looked = query(&session, &scan_sql(), &values).await?;
        drop(session);
        let mut ended = (Vec::new(), Vec::new());
        let mut last = None;
        for (place, row) in (1..).zip(&looked) {
            let key: (Uuid, Uuid) = (rows::get(row, 0)?, rows::get(row, 1)?);
            if rows::get(row, 2)? {
                ended.0.push(key.0);
                ended.1.push(key.1);
            }
            last = Some(key).filter(|_| place == limit);
            if ended.0.len() as i64 == max {
                // The next step scans the rest again.
                last = Some(key);
                break;
            }
        }
        let found = !ended.0.is_empty();
        let gone = if found { self.remove(cutoff, &ended.0, &ended.1).await? } else { 0 };
        Ok((gone, pass.advance(last, found)))
    }

    /// Removes parcels with everything that belongs to them.
    pub(crate) async fn remove(
        &self,
        Cutoff { before, now }: Cutoff,
        tenants: &[Uuid],
        ids: &[Uuid],
    ) -> Result<u64, TxError> {
        let transaction = Transaction::begin(self.session().await?).await?;
        let session = transaction.session()?;
        query(session, LOCK_SUBJECTS, &[&tenants, &ids]).await?;
        let ended =
            query(session, &lock_ended(), &[&before.micros(), &now.micros(), &tenants, &ids])
                .await?;
        let retried = retried_meanwhile(session, &ended).await?;
        let mut gone = RemovalBatch::default();
        for row in &ended {
            gone.add(row, &retried)?;
        }
        gone.remove(session).await?;
        transaction.commit().await?;
        Ok(gone.parcels.0.len() as u64)
    }

    /// Removes empty time buckets. Buckets are removed with their last delivery; this finds those that
    /// earlier versions have left, in one pass over all, after which there is nothing more to find.
    async fn prune_buckets(&self, before: Time, max: i64) -> Result<bool, TxError> {
        let pass = &self.passes.buckets;
        if pass.has_ended() {
            return Ok(false);
        }
        let session = self.session().await?;
        let (empty, last) = time_buckets::next_empty(&session, pass.at(), before, max).await?;
        let found = !empty.is_empty();
        time_buckets::remove(&session, &empty).await?;
        Ok(pass.advance(last, found))
    }
}

/// Locks the rows of the deliveries of these parcels. Returns the parcels with a delivery that was retried or
/// replayed since they were read.
async fn retried_meanwhile(
    session: &Session,
    ended: &[Row],
) -> Result<HashSet<(Uuid, Uuid)>, TxError> {
    let (mut tenants, mut ids) = (Vec::new(), Vec::new());
    for row in ended {
        for delivery in rows::get::<Vec<Uuid>>(row, 2)? {
            tenants.push(rows::get::<Uuid>(row, 0)?);
            ids.push(delivery);
        }
    }
    let locked = query(session, &TAKE_ENDED, &[&tenants, &ids]).await?;
    let mut retried = HashSet::new();
    for row in &locked {
        if rows::get::<bool>(row, 2)? {
            retried.insert((rows::get(row, 0)?, rows::get(row, 1)?));
        }
    }
    Ok(retried)
}

type TenantRowKeys = (Vec<Uuid>, Vec<Uuid>);

/// Rows to remove in one transaction.
#[derive(Default)]
struct RemovalBatch {
    parcels: TenantRowKeys,
    deliveries: TenantRowKeys,
    /// The number of parcels to remove from each subject.
    subjects: BTreeMap<(Uuid, Vec<u8>), i64>,
}

impl RemovalBatch {
    fn add(&mut self, row: &Row, retried: &HashSet<(Uuid, Uuid)>) -> Result<(), TxError> {
        let (tenant, parcel): (Uuid, Uuid) = (rows::get(row, 0)?, rows::get(row, 1)?);
        if retried.contains(&(tenant, parcel)) {
            return Ok(());
        }
        self.parcels.0.push(tenant);
        self.parcels.1.push(parcel);
        for delivery in rows::get::<Vec<Uuid>>(row, 2)? {
            self.deliveries.0.push(tenant);
            self.deliveries.1.push(delivery);
        }
        if let Some(subject) = rows::get::<Option<Vec<u8>>>(row, 3)? {
            *self.subjects.entry((tenant, subject)).or_default() += 1;
        }
        Ok(())
    }

    async fn remove(&self, session: &Session) -> Result<(), TxError> {
        delete(session, "attempts", "delivery_id", &self.deliveries, "x.tenant_id").await?;
        let columns = "x.tenant_id, x.target_id, x.lane, x.id";
        let rows = delete(session, "deliveries", "id", &self.deliveries, columns).await?;
        delete(session, "parcels", "id", &self.parcels, "x.tenant_id").await?;
        let buckets = rows.iter().map(BucketRow::of_delivery);
        let buckets = buckets.collect::<Result<BTreeSet<_>, TxError>>()?;
        time_buckets::remove(session, &buckets).await?;
        if self.subjects.is_empty() {
            return Ok(());
        }
        let tenants: Vec<Uuid> = self.subjects.keys().map(|key| key.0).collect();
        let names: Vec<&[u8]> = self.subjects.keys().map(|key| key.1.as_slice()).collect();
        let counts: Vec<i64> = self.subjects.values().copied().collect();
        execute(session, COUNT_GONE, &[&tenants, &names, &counts]).await?;
        execute(session, FORGET_SUBJECTS, &[&tenants, &names]).await?;
        Ok(())
    }
}

async fn delete(
    session: &Session,
    table: &str,
    column: &str,
    (tenants, ids): &TenantRowKeys,
    returning: &str,
) -> Result<Vec<Row>, TxError> {
    let sql = format!(
        "delete from {table} x using unnest($1::uuid[], $2::uuid[]) as k(tenant_id, id)
         where x.tenant_id = k.tenant_id and x.{column} = k.id returning {returning}"
    );
    query(session, &sql, &[tenants, ids]).await
}
