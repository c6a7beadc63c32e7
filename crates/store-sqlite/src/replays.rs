//! Replays. The operator's tenant id is an empty blob.

use async_trait::async_trait;
use gancho_domain::{ReplayId, TenantScope, Time};
use gancho_store::{
    LeasedReplay, NewReplayJob, OpenReplayOutcome, ReplayCounts, ReplayEnd, ReplayJob, ReplayJobs,
    ReplayLease, ReplayLeaseOrigin, ReplayLimits, ReplayState, ReplayTotal, Result,
};
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};

use crate::{
    SqliteStore, rows,
    transaction::Tx,
    tx_error::{TxError, corrupt},
};

const COLUMNS: &str =
    "id, tenant_id, state, request, total, is_exact, done, skipped, failed, error,
    cursor, runner, lease_until, created_at, started_at, finished_at";

/// The states of a replay that has not ended. The index of open replays has the same condition.
const IS_OPEN: &str = "state IN ('pending', 'running')";

#[async_trait]
impl ReplayJobs for SqliteStore {
    async fn open_replay(
        &self,
        owner: Option<TenantScope>,
        new: NewReplayJob,
        limits: ReplayLimits,
    ) -> Result<OpenReplayOutcome> {
        let account = owner.map(TenantScope::tenant);
        self.write_more_for(account, 1, move |tx| open(tx, owner, &new, limits)).await
    }

    async fn replay(&self, owner: Option<TenantScope>, id: ReplayId) -> Result<Option<ReplayJob>> {
        self.read_for(owner.map(TenantScope::tenant), move |db| find(db, owner, id)).await
    }

    async fn replays(
        &self,
        owner: Option<TenantScope>,
        before: Option<ReplayId>,
        max: usize,
    ) -> Result<Vec<ReplayJob>> {
        self.read_for(owner.map(TenantScope::tenant), move |db| {
            let (from, before) = match before {
                Some(id) => ("id < ?2", id.bytes().to_vec()),
                None => ("?2 = x''", Vec::new()),
            };
            let by = format!("WHERE tenant_id = ?1 AND {from} ORDER BY id DESC LIMIT ?3");
            list(db, &by, &[&bytes_of(owner), &before, &(max as i64)])
        })
        .await
    }

    async fn open_replays(&self, max: usize) -> Result<Vec<ReplayJob>> {
        self.read(move |db| {
            let by = format!(
                "WHERE {IS_OPEN} ORDER BY row_number() OVER (PARTITION BY tenant_id ORDER BY id), id LIMIT ?1"
            );
            list(db, &by, &[&(max as i64)])
        })
        .await
    }

    async fn lease_replay(
        &self,
        id: ReplayId,
        lease: ReplayLease,
        total: ReplayTotal,
        now: Time,
    ) -> Result<Option<LeasedReplay>> {
        self.write(move |tx| take(tx, id, &lease, total, now)).await
    }

    async fn advance_replay(
        &self,
        id: ReplayId,
        lease: ReplayLease,
        page: ReplayCounts,
        cursor: String,
    ) -> Result<bool> {
        self.write(move |tx| {
            let goes_on = tx
                .db
                .prepare_cached(&format!(
                    "UPDATE replays SET done = done + ?3, skipped = skipped + ?4,
                       failed = failed + ?5, cursor = ?6, lease_until = ?7
                     WHERE id = ?1 AND runner = ?2 AND {IS_OPEN}"
                ))?
                .execute(params![
                    id.bytes(),
                    lease.runner,
                    page.done as i64,
                    page.skipped as i64,
                    page.failed as i64,
                    cursor,
                    lease.until.micros(),
                ])?;
            if goes_on == 0 {
                count_late(tx, id, &lease.runner, page)?;
            }
            Ok(goes_on == 1)
        })
        .await
    }

    async fn end_replay(
        &self,
        id: ReplayId,
        runner: &str,
        page: ReplayCounts,
        end: ReplayEnd,
        now: Time,
    ) -> Result<bool> {
        let runner = runner.to_owned();
        let (state, error) = match end {
            ReplayEnd::Done => (ReplayState::Done, None),
            ReplayEnd::Failed(why) => (ReplayState::Failed, Some(why)),
        };
        self.write(move |tx| {
            let ended = tx
                .db
                .prepare_cached(&format!(
                    "UPDATE replays SET done = done + ?3, skipped = skipped + ?4,
                       failed = failed + ?5, state = ?6, error = ?7, finished_at = ?8,
                       lease_until = NULL
                     WHERE id = ?1 AND runner = ?2 AND {IS_OPEN}"
                ))?
                .execute(params![
                    id.bytes(),
                    runner,
                    page.done as i64,
                    page.skipped as i64,
                    page.failed as i64,
                    state.stored_name(),
                    error,
                    now.micros(),
                ])?;
            if ended == 0 {
                count_late(tx, id, &runner, page)?;
            }
            Ok(ended == 1)
        })
        .await
    }

    async fn cancel_replay(
        &self,
        owner: Option<TenantScope>,
        id: ReplayId,
        now: Time,
    ) -> Result<Option<ReplayJob>> {
        self.write_for(owner.map(TenantScope::tenant), 1, move |tx| {
            tx.db
                .prepare_cached(&format!(
                    "UPDATE replays SET state = ?3, finished_at = ?4, lease_until = NULL
                     WHERE id = ?1 AND tenant_id = ?2 AND {IS_OPEN}"
                ))?
                .execute(params![
                    id.bytes(),
                    bytes_of(owner),
                    ReplayState::Canceled.stored_name(),
                    now.micros()
                ])?;
            find(tx.db, owner, id)
        })
        .await
    }
}

fn open(
    tx: &Tx<'_>,
    owner: Option<TenantScope>,
    new: &NewReplayJob,
    limits: ReplayLimits,
) -> Result<OpenReplayOutcome, TxError> {
    let tenant = bytes_of(owner);
    let own: i64 = tx
        .db
        .prepare_cached(&format!(
            "SELECT count(*) FROM replays WHERE tenant_id = ?1 AND {IS_OPEN}"
        ))?
        .query_row([&tenant], |row| row.get(0))?;
    if own as u64 >= limits.max_open {
        return Ok(OpenReplayOutcome::TooMany { open: own as u64 });
    }
    tx.db
        .prepare_cached(&format!(
            "DELETE FROM replays WHERE NOT {IS_OPEN} AND id IN
               (SELECT id FROM replays WHERE tenant_id = ?1 ORDER BY id DESC LIMIT -1 OFFSET ?2)"
        ))?
        .execute(params![tenant, i64::try_from(limits.max_kept).unwrap_or(i64::MAX)])?;
    tx.db
        .prepare_cached(
            "INSERT INTO replays (id, tenant_id, state, request, total, is_exact, done, skipped,
               failed, cursor, created_at)
             VALUES (?1, ?2, ?3, ?4, 0, 0, 0, 0, 0, '', ?5)",
        )?
        .execute(params![
            new.id.bytes(),
            tenant,
            ReplayState::Pending.stored_name(),
            &*new.request,
            new.created_at.micros(),
        ])?;
    Ok(OpenReplayOutcome::Opened)
}

fn take(
    tx: &Tx<'_>,
    id: ReplayId,
    lease: &ReplayLease,
    total: ReplayTotal,
    now: Time,
) -> Result<Option<LeasedReplay>, TxError> {
    let before: Option<(Option<i64>, Option<String>)> = tx
        .db
        .prepare_cached(&format!(
            "SELECT started_at, runner FROM replays WHERE id = ?1 AND {IS_OPEN}
               AND (runner = ?2 OR lease_until IS NULL OR lease_until <= ?3)"
        ))?
        .query_row(params![id.bytes(), lease.runner, now.micros()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let take = match before {
        None => return Ok(None),
        Some((None, _)) => ReplayLeaseOrigin::Started,
        Some((Some(_), Some(runner))) if runner == lease.runner => ReplayLeaseOrigin::Renewed,
        Some(_) => ReplayLeaseOrigin::TakenOver,
    };
    tx.db
        .prepare_cached(
            "UPDATE replays SET state = ?2, runner = ?3, lease_until = ?4,
               total = CASE WHEN started_at IS NULL THEN ?5 ELSE total END,
               is_exact = CASE WHEN started_at IS NULL THEN ?6 ELSE is_exact END,
               started_at = coalesce(started_at, ?7)
             WHERE id = ?1",
        )?
        .execute(params![
            id.bytes(),
            ReplayState::Running.stored_name(),
            lease.runner,
            lease.until.micros(),
            total.count as i64,
            total.is_exact,
            now.micros(),
        ])?;
    let job = list(tx.db, "WHERE id = ?1", &[&id.bytes()])?.pop();
    Ok(job.map(|job| LeasedReplay { job, take }))
}

/// Adds what the last runner had sent when its replay was canceled.
fn count_late(tx: &Tx<'_>, id: ReplayId, runner: &str, page: ReplayCounts) -> Result<(), TxError> {
    tx.db
        .prepare_cached(
            "UPDATE replays SET done = done + ?4, skipped = skipped + ?5, failed = failed + ?6
             WHERE id = ?1 AND runner = ?2 AND state = ?3",
        )?
        .execute(params![
            id.bytes(),
            runner,
            ReplayState::Canceled.stored_name(),
            page.done as i64,
            page.skipped as i64,
            page.failed as i64,
        ])?;
    Ok(())
}

fn bytes_of(owner: Option<TenantScope>) -> Vec<u8> {
    owner.map(|scope| scope.tenant().bytes().to_vec()).unwrap_or_default()
}

fn find(
    db: &Connection,
    owner: Option<TenantScope>,
    id: ReplayId,
) -> Result<Option<ReplayJob>, TxError> {
    Ok(list(db, "WHERE id = ?1 AND tenant_id = ?2", &[&id.bytes(), &bytes_of(owner)])?.pop())
}

/// Returns replays of all owners.
pub(crate) fn newest_of_all(
    db: &Connection,
    before: ReplayId,
    max: usize,
) -> Result<Vec<ReplayJob>, TxError> {
    list(db, "WHERE id < ?1 ORDER BY id DESC LIMIT ?2", &[&before.bytes(), &(max as i64)])
}

fn list(db: &Connection, by: &str, values: &[&dyn ToSql]) -> Result<Vec<ReplayJob>, TxError> {
    let mut list = db.prepare_cached(&format!("SELECT {COLUMNS} FROM replays {by}"))?;
    let mut found = list.query(values)?;
    let mut jobs = Vec::new();
    while let Some(row) = found.next()? {
        jobs.push(job(row)?);
    }
    Ok(jobs)
}

fn job(row: &Row<'_>) -> Result<ReplayJob, TxError> {
    let count = |column| row.get::<_, i64>(column).map(|count| count as u64);
    let state: String = row.get(2)?;
    let runner: Option<String> = row.get(11)?;
    let lease = runner.zip(rows::maybe_time(row, 12)?);
    let is_operators = row.get_ref(1)?.as_blob() == Ok(&[]);
    Ok(ReplayJob {
        id: rows::id(row, 0)?,
        tenant: if is_operators { None } else { Some(rows::id(row, 1)?) },
        state: ReplayState::from_stored(&state)
            .ok_or_else(|| corrupt(format!("no replay has the state {state}")))?,
        request: rows::bytes(row, 3)?,
        total: ReplayTotal { count: count(4)?, is_exact: row.get(5)? },
        sent: ReplayCounts { done: count(6)?, skipped: count(7)?, failed: count(8)? },
        error: row.get(9)?,
        cursor: row.get(10)?,
        lease: lease.map(|(runner, until)| ReplayLease { runner, until }),
        created_at: rows::time(row, 13)?,
        started_at: rows::maybe_time(row, 14)?,
        finished_at: rows::maybe_time(row, 15)?,
    })
}
