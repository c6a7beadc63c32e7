//! Replays. The operator's tenant id is zero.

use async_trait::async_trait;
use gancho_domain::{ReplayId, TenantScope, Time};
use gancho_store::{
    LeasedReplay, NewReplayJob, OpenReplayOutcome, ReplayCounts, ReplayEnd, ReplayJob, ReplayJobs,
    ReplayLease, ReplayLeaseOrigin, ReplayLimits, ReplayState, ReplayTotal, Result,
};
use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

use crate::{
    PostgresStore,
    rows::{self, text, uuid},
    session::{Transaction, execute, query},
    tx_error::{TxError, corrupt, error_of, store_error},
};

const COLUMNS: &str = "r.id, r.tenant_id, r.state, r.request, r.total, r.is_exact, r.done, r.skipped, \
    r.failed, r.error, r.cursor, r.runner, r.lease_until, r.created_at, r.started_at, r.finished_at";

/// Maximum retries of a transaction that conflicts with another, or whose outcome is unknown.
const MAX_TRIES: u32 = 5;

/// Serializes opening an owner's replays, so that each counts the open ones before it is added.
const OPEN_LOCK: &str =
    "select pg_advisory_xact_lock(hashtext('gancho replays'), hashtext($1::uuid::text))";

const COUNT_OPEN: &str = "
select count(*) from replays where tenant_id = $1 and state in ('pending', 'running')";

const FORGET_OLD: &str = "
delete from replays r using (
    select id from replays where tenant_id = $1 order by id desc offset $2) old
where r.id = old.id and r.state not in ('pending', 'running')";

const INSERT: &str = "
insert into replays (id, tenant_id, state, request, created_at) values ($1, $2, 'pending', $3, $4)";

/// Takes or renews a lease. The last two columns have the values from before.
fn lease() -> String {
    format!(
        "with before as materialized (
             select id, started_at, runner from replays
             where id = $1 and state in ('pending', 'running')
               and (runner = $2 or lease_until is null or lease_until <= $4)
             for update
         )
         update replays r
         set state = 'running', runner = $2, lease_until = $3,
             total = case when b.started_at is null then $5 else r.total end,
             is_exact = case when b.started_at is null then $6 else r.is_exact end,
             started_at = coalesce(b.started_at, $4)
         from before b where r.id = b.id
         returning {COLUMNS}, b.started_at, b.runner"
    )
}

/// Advances a replay. If it was canceled, only adds what was sent.
const ADVANCE: &str = "
update replays
set done = done + $3, skipped = skipped + $4, failed = failed + $5,
    cursor = case when state = 'cancelled' then cursor else $6 end,
    lease_until = case when state = 'cancelled' then lease_until else $7 end
where id = $1 and runner = $2 and state in ('pending', 'running', 'cancelled')
returning state <> 'cancelled'";

const END: &str = "
update replays r
set done = r.done + $3, skipped = r.skipped + $4, failed = r.failed + $5,
    state = case when b.is_open then $6 else r.state end,
    error = case when b.is_open then $7 else r.error end,
    finished_at = case when b.is_open then $8 else r.finished_at end,
    lease_until = null
from (select id, state <> 'cancelled' as is_open from replays
      where id = $1 and runner = $2 and state in ('pending', 'running', 'cancelled') for update) b
where r.id = b.id
returning b.is_open";

const CANCEL: &str = "
update replays set state = 'cancelled', finished_at = $3, lease_until = null
where id = $1 and tenant_id = $2 and state in ('pending', 'running')";

#[async_trait]
impl ReplayJobs for PostgresStore {
    async fn open_replay(
        &self,
        owner: Option<TenantScope>,
        new: NewReplayJob,
        limits: ReplayLimits,
    ) -> Result<OpenReplayOutcome> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.open_replay_once(owner, &new, limits).await {
                Err(TxError::Retry(error)) if tries < MAX_TRIES => {
                    tracing::debug!(%error, tries, "retrying to open a replay");
                }
                done => return done.map_err(TxError::into_error),
            }
        }
    }

    async fn replay(&self, owner: Option<TenantScope>, id: ReplayId) -> Result<Option<ReplayJob>> {
        let session = self.session_of(owner.map(TenantScope::tenant)).await?;
        let sql = format!("select {COLUMNS} from replays r where r.id = $1 and r.tenant_id = $2");
        let found = query(&session, &sql, &[&uuid(id), &uuid_of(owner)?]).await;
        found.map_err(store_error)?.first().map(job).transpose()
    }

    async fn replays(
        &self,
        owner: Option<TenantScope>,
        before: Option<ReplayId>,
        max: usize,
    ) -> Result<Vec<ReplayJob>> {
        let session = self.session_of(owner.map(TenantScope::tenant)).await?;
        let sql = format!(
            "select {COLUMNS} from replays r where r.tenant_id = $1 and r.id < $2
             order by r.id desc limit $3"
        );
        let before = before.map_or(Uuid::max(), uuid);
        let found = query(&session, &sql, &[&uuid_of(owner)?, &before, &(max as i64)]).await;
        found.map_err(store_error)?.iter().map(job).collect()
    }

    async fn open_replays(&self, max: usize) -> Result<Vec<ReplayJob>> {
        let session = self.session().await?;
        let sql = format!(
            "select {COLUMNS} from replays r where r.state in ('pending', 'running')
             order by row_number() over (partition by r.tenant_id order by r.id), r.id limit $1"
        );
        let found = query(&session, &sql, &[&(max as i64)]).await;
        found.map_err(store_error)?.iter().map(job).collect()
    }

    async fn lease_replay(
        &self,
        id: ReplayId,
        new: ReplayLease,
        total: ReplayTotal,
        now: Time,
    ) -> Result<Option<LeasedReplay>> {
        let session = self.session().await?;
        let (count, runner) = (total.count as i64, text(&new.runner));
        let values: [&(dyn ToSql + Sync); 6] =
            [&uuid(id), &runner, &new.until.micros(), &now.micros(), &count, &total.is_exact];
        let found = query(&session, &lease(), &values).await.map_err(store_error)?;
        let Some(row) = found.first() else { return Ok(None) };
        let (started, by): (Option<i64>, Option<&str>) = (rows::get(row, 16)?, rows::get(row, 17)?);
        let take = match (started, by) {
            (None, _) => ReplayLeaseOrigin::Started,
            (Some(_), Some(by)) if by == runner => ReplayLeaseOrigin::Renewed,
            _ => ReplayLeaseOrigin::TakenOver,
        };
        Ok(Some(LeasedReplay { job: job(row)?, take }))
    }

    async fn advance_replay(
        &self,
        id: ReplayId,
        lease: ReplayLease,
        page: ReplayCounts,
        cursor: String,
    ) -> Result<bool> {
        let session = self.session().await?;
        let (done, skipped, failed) = numbers(page);
        let (runner, until) = (text(&lease.runner), lease.until.micros());
        let values: [&(dyn ToSql + Sync); 7] =
            [&uuid(id), &runner, &done, &skipped, &failed, &cursor, &until];
        let found = query(&session, ADVANCE, &values).await.map_err(store_error)?;
        Ok(found.first().map(|row| rows::get(row, 0)).transpose()?.unwrap_or(false))
    }

    async fn end_replay(
        &self,
        id: ReplayId,
        runner: &str,
        page: ReplayCounts,
        end: ReplayEnd,
        now: Time,
    ) -> Result<bool> {
        let session = self.session().await?;
        let (done, skipped, failed) = numbers(page);
        let (state, error) = match &end {
            ReplayEnd::Done => (ReplayState::Done, None),
            ReplayEnd::Failed(why) => (ReplayState::Failed, Some(text(why))),
        };
        let (runner, state, now) = (text(runner), state.stored_name(), now.micros());
        let values: [&(dyn ToSql + Sync); 8] =
            [&uuid(id), &runner, &done, &skipped, &failed, &state, &error, &now];
        let found = query(&session, END, &values).await.map_err(store_error)?;
        Ok(found.first().map(|row| rows::get(row, 0)).transpose()?.unwrap_or(false))
    }

    async fn cancel_replay(
        &self,
        owner: Option<TenantScope>,
        id: ReplayId,
        now: Time,
    ) -> Result<Option<ReplayJob>> {
        let session = self.session_of(owner.map(TenantScope::tenant)).await?;
        let values: [&(dyn ToSql + Sync); 3] = [&uuid(id), &uuid_of(owner)?, &now.micros()];
        execute(&session, CANCEL, &values).await.map_err(store_error)?;
        drop(session);
        self.replay(owner, id).await
    }
}

impl PostgresStore {
    /// Returns replays of all owners.
    pub(crate) async fn newest_of_all_replays(
        &self,
        before: Option<ReplayId>,
        max: usize,
    ) -> Result<Vec<ReplayJob>> {
        let session = self.lists.next(None).await?;
        let (before, max) = (before.map_or(Uuid::max(), uuid), max as i64);
        let sql =
            format!("select {COLUMNS} from replays r where r.id < $1 order by r.id desc limit $2");
        let found = query(&session, &sql, &[&before, &max]).await;
        found.map_err(store_error)?.iter().map(job).collect()
    }

    async fn open_replay_once(
        &self,
        owner: Option<TenantScope>,
        new: &NewReplayJob,
        limits: ReplayLimits,
    ) -> Result<OpenReplayOutcome, TxError> {
        let tenant = uuid_of(owner)?;
        let transaction =
            Transaction::begin(self.session_of(owner.map(TenantScope::tenant)).await?).await?;
        let session = transaction.session()?;
        query(session, OPEN_LOCK, &[&tenant]).await?;
        // The answer to a commit may have been lost; in that case it exists.
        let sql = "select from replays where id = $1";
        if !query(session, sql, &[&uuid(new.id)]).await?.is_empty() {
            return Ok(OpenReplayOutcome::Opened);
        }
        let open = query(session, COUNT_OPEN, &[&tenant]).await?;
        let row = open.first().ok_or_else(|| corrupt("a count without a row"))?;
        let own = rows::get::<i64>(row, 0)? as u64;
        let opened = if own >= limits.max_open {
            OpenReplayOutcome::TooMany { open: own }
        } else {
            let max_kept = i64::try_from(limits.max_kept).unwrap_or(i64::MAX);
            execute(session, FORGET_OLD, &[&tenant, &max_kept]).await?;
            let (id, made_at) = (uuid(new.id), new.created_at.micros());
            execute(session, INSERT, &[&id, &tenant, &&*new.request, &made_at]).await?;
            OpenReplayOutcome::Opened
        };
        transaction.commit().await.map_err(|error| TxError::Retry(error_of(&error)))?;
        Ok(opened)
    }
}

fn numbers(page: ReplayCounts) -> (i64, i64, i64) {
    (page.done as i64, page.skipped as i64, page.failed as i64)
}

fn uuid_of(owner: Option<TenantScope>) -> Result<Uuid> {
    match owner.map(|scope| uuid(scope.tenant())) {
        // No tenant with this id can be created. If one is forged, it has no access to the operator's.
        Some(tenant) if tenant.is_nil() => Err(corrupt("a tenant whose id is zero")),
        Some(tenant) => Ok(tenant),
        None => Ok(Uuid::nil()),
    }
}

fn job(row: &Row) -> Result<ReplayJob> {
    let count = |place| rows::get::<i64>(row, place).map(|count| count as u64);
    let (owner, state): (Uuid, &str) = (rows::get(row, 1)?, rows::get(row, 2)?);
    let lease = rows::get::<Option<String>>(row, 11)?.zip(rows::maybe_time(row, 12)?);
    Ok(ReplayJob {
        id: rows::id(row, 0)?,
        tenant: if owner.is_nil() { None } else { Some(rows::id(row, 1)?) },
        state: ReplayState::from_stored(state)
            .ok_or_else(|| corrupt(format!("no replay has the state {state}")))?,
        request: rows::bytes(row, 3)?,
        total: ReplayTotal { count: count(4)?, is_exact: rows::get(row, 5)? },
        sent: ReplayCounts { done: count(6)?, skipped: count(7)?, failed: count(8)? },
        error: rows::get(row, 9)?,
        cursor: rows::get(row, 10)?,
        lease: lease.map(|(runner, until)| ReplayLease { runner, until }),
        created_at: rows::time(row, 13)?,
        started_at: rows::maybe_time(row, 14)?,
        finished_at: rows::maybe_time(row, 15)?,
    })
}
