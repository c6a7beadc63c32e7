//! Keeps the database small, and reports how full it is.

use async_trait::async_trait;
use gancho_domain::{EndReason, Lane, State, Time};
use gancho_store::{EndedDelivery, LaneDepth, PruneStep, Result, Space, Upkeep};

use crate::{
    PostgresStore,
    give_up::{self, GiveUp},
    replica::LAST_WRITTEN,
    rows,
    session::{query, query_one},
    states::{LEASED, PENDING, Sql, WAITING},
    tx_error::{TxError, store_error},
};

const SERVER_TIME: &str = "select (extract(epoch from clock_timestamp()) * 1000000)::bigint";

static LATE: Sql = Sql::new(|| {
    format!(
        "
select tenant_id, id from deliveries
where state in ({PENDING}, {WAITING}) and lane = $1 and created_at < $2
  -- One that was redelivered by hand has all the time its plan asks for.
  and attempts_before = 0 and not was_dead
  -- One that was scheduled for later has its time from then on.
  and (attempts > 0 or due_at < $2)
order by created_at limit $3"
    )
});

static DEPTHS: Sql = Sql::new(|| {
    format!("
select l.lane, coalesce(w.pending, 0), coalesce(h.leased, 0), coalesce(w.waiting, 0),
    (select due_at from deliveries where state = {PENDING} and lane = l.lane order by due_at limit 1)
from unnest($1::int2[]) with ordinality as l(lane, place)
left join (
    select lane, count(*) filter (where state = {PENDING}) as pending,
        count(*) filter (where state = {WAITING}) as waiting
    from deliveries where state in ({PENDING}, {WAITING}) group by lane) w on w.lane = l.lane
left join (
    select lane, count(*) as leased from deliveries where state = {LEASED} group by lane) h
    on h.lane = l.lane
order by l.place")
});

#[async_trait]
impl Upkeep for PostgresStore {
    async fn prune(&self, before: Time, max: usize, now: Time) -> Result<PruneStep> {
        self.prune_step(before, max, now).await
    }

    async fn expire(
        &self,
        lane: Lane,
        before: Time,
        max: usize,
        now: Time,
    ) -> Result<Vec<EndedDelivery>> {
        let done = self.expire_late(lane, before, max, now).await;
        let (ended, moved) = done.map_err(TxError::into_error)?;
        if moved {
            self.bells.ring_all();
        }
        Ok(ended)
    }

    async fn depths(&self) -> Result<Vec<LaneDepth>> {
        let session = self.upkeep_session().await?;
        let lanes: Vec<i16> = Lane::ALL.iter().map(|lane| lane.number()).collect();
        let found = query(&session, &DEPTHS, &[&lanes]).await;
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
        let row = query_one(&session, sql, &[]).await.map_err(store_error)?;
        Ok(Space { used: rows::get::<i64>(&row, 0)? as u64, limit: None })
    }

    async fn last_written(&self) -> Result<Option<Time>> {
        let session = self.session().await?;
        let row = query_one(&session, LAST_WRITTEN, &[]).await.map_err(store_error)?;
        rows::maybe_time(&row, 0)
    }

    async fn server_time(&self) -> Result<Option<Time>> {
        let session = self.session().await?;
        let row = query_one(&session, SERVER_TIME, &[]).await.map_err(store_error)?;
        rows::maybe_time(&row, 0)
    }

    /// Returns always 0. The embedded store uses the first 63 bits of an id as its row number, so its ids
    /// must rise. Here the whole id is the key, and its other 65 bits are random: a node whose clock went
    /// back, or another node in the same millisecond, makes other ids.
    async fn highest_lead(&self) -> Result<i64> {
        Ok(0)
    }
}

impl PostgresStore {
    async fn expire_late(
        &self,
        lane: Lane,
        before: Time,
        max: usize,
        now: Time,
    ) -> Result<(Vec<EndedDelivery>, bool), TxError> {
        let session = self.session().await?;
        let max = max as i64;
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
            [&lane.number(), &before.micros(), &max];
        let found = query(&session, &LATE, &values).await?;
        let overdue = found.iter().map(give_up::key).collect::<Result<Vec<_>, TxError>>()?;
        if overdue.is_empty() {
            return Ok((Vec::new(), false));
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
