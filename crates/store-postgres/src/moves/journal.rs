//! The journal of moves, in the home cell: the next step of each, and the run that does it.

use std::time::Duration;

use gancho_domain::TenantId;
use gancho_store::{MoveCounts, Result, StoreError};
use tokio_postgres::{Row, types::ToSql};

use crate::{
    PostgresStore,
    directory::{ACTIVE, LEAVING, MOVING, holds_open},
    rows::{self, text, uuid},
    session::{Transaction, execute, query},
    states::sql,
    tx_error::{TxError, store_error},
};

/// The last move of a tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveRow {
    pub tenant: TenantId,
    pub source: u32,
    pub target: u32,
    pub step: MoveStep,
    /// Rises whenever a node takes the move over. Runs with a lower number cannot write any more.
    pub run: i64,
    /// How far it has copied.
    pub place: String,
    pub copied: u64,
    pub removed: u64,
    /// How long the tenant could not be written.
    pub closed: Option<Duration>,
    /// Why it does not continue, or what delays it.
    pub error: Option<String>,
    pub age: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MoveStep {
    /// The tenant lives in the old cell, and its rows are copied.
    Copying,
    /// The tenant lives in the old cell and cannot be written, while the last changes are copied.
    Closing,
    /// The tenant lives in the new cell, and its rows are removed from the old one.
    Removing,
    Done,
    /// The tenant stays in the old cell, and its rows are removed from the new one.
    GoingBack,
    TakenBack,
}

const COPYING: i16 = MoveStep::Copying.number();
const CLOSING: i16 = MoveStep::Closing.number();
const REMOVING: i16 = MoveStep::Removing.number();
pub(crate) const DONE: i16 = MoveStep::Done.number();
const GOING_BACK: i16 = MoveStep::GoingBack.number();
pub(crate) const TAKEN_BACK: i16 = MoveStep::TakenBack.number();

impl MoveStep {
    const ALL: [Self; 6] = [
        Self::Copying,
        Self::Closing,
        Self::Removing,
        Self::Done,
        Self::GoingBack,
        Self::TakenBack,
    ];

    const fn number(self) -> i16 {
        match self {
            Self::Copying => 1,
            Self::Closing => 2,
            Self::Removing => 3,
            Self::Done => 4,
            Self::GoingBack => 5,
            Self::TakenBack => 6,
        }
    }

    pub const fn has_ended(self) -> bool {
        matches!(self, Self::Done | Self::TakenBack)
    }
}

const MOVE: &str = "tenant_id, source, target, step, run, place, copied, removed, closed_us, error,
    extract(epoch from coalesce(ended_at, clock_timestamp()) - began_at)::float8";

impl PostgresStore {
    /// Begins a move, which nobody runs yet. Returns whether it did: the tenant must live in `source` and not
    /// be moving, and `target` must get tenants.
    pub async fn begin_move(&self, tenant: TenantId, source: u32, target: u32) -> Result<bool> {
        self.begin_move_once(tenant, source, target).await.map_err(TxError::into_error)
    }

    async fn begin_move_once(
        &self,
        tenant: TenantId,
        source: u32,
        target: u32,
    ) -> Result<bool, TxError> {
        let transaction = Transaction::begin(self.session().await?).await?;
        let session = transaction.session()?;
        let (tenant, source, target) = (uuid(tenant), source as i32, target as i32);
        if !holds_open(session, target).await? {
            return Ok(false);
        }
        let placed = sql!(
            "update cell_tenants set state = {MOVING}, changed_at = clock_timestamp()
            where tenant_id = $1 and cell = $2 and state = {ACTIVE}"
        );
        let begun = sql!(
            "insert into moves as m (tenant_id, source, target, step, run, lease_until)
            values ($1, $2, $3, {COPYING}, 1, clock_timestamp())
            on conflict (tenant_id) do update set source = $2, target = $3, step = {COPYING}, run = m.run + 1,
                lease_until = clock_timestamp(), place = '', copied = 0, removed = 0, closed_us = null, error = null,
                began_at = clock_timestamp(), ended_at = null
            where m.step in ({DONE}, {TAKEN_BACK})"
        );
        if execute(session, placed, &[&tenant, &source]).await? == 0
            || execute(session, begun, &[&tenant, &source, &target]).await? == 0
        {
            return Ok(false);
        }
        transaction.commit().await?;
        Ok(true)
    }

    pub async fn move_of(&self, tenant: TenantId) -> Result<Option<MoveRow>> {
        let sql = format!("select {MOVE} from moves where tenant_id = $1");
        let session = self.session().await?;
        let found = query(&session, &sql, &[&uuid(tenant)]).await.map_err(store_error)?;
        found.first().map(row).transpose()
    }

    /// Returns the number of open moves from each cell that has any.
    pub async fn moves_per_cell(&self) -> Result<Vec<(u32, MoveCounts)>> {
        let sql = sql!(
            "select source, count(*), count(error) from moves
            where step not in ({DONE}, {TAKEN_BACK}) group by source"
        );
        let found = query(&self.session().await?, sql, &[]).await.map_err(store_error)?;
        let of_cell = |row: &Row| {
            let [open, troubled] = [rows::get::<i64>(row, 1)?, rows::get::<i64>(row, 2)?];
            let counts = MoveCounts { open: open as u64, troubled: troubled as u64 };
            Ok((rows::get::<i32>(row, 0)? as u32, counts))
        };
        found.iter().map(of_cell).collect()
    }

    /// Returns moves that nobody runs, those without a run for longest first.
    pub async fn abandoned_moves(&self) -> Result<Vec<(TenantId, MoveStep)>> {
        let sql = sql!(
            "select tenant_id, step from moves
            where step not in ({DONE}, {TAKEN_BACK}) and lease_until <= clock_timestamp()
            order by lease_until"
        );
        let found = query(&self.session().await?, sql, &[]).await.map_err(store_error)?;
        found.iter().map(|row| Ok((rows::id(row, 0)?, step(rows::get(row, 1)?)?))).collect()
    }

    /// Takes a move that nobody runs.
    pub async fn take_move(&self, tenant: TenantId, lease: Duration) -> Result<Option<MoveRow>> {
        let sql = format!(
            "update moves set run = run + 1, lease_until = clock_timestamp() + $2::float8 * interval '1 second'
             where tenant_id = $1 and step not in ({DONE}, {TAKEN_BACK}) and lease_until <= clock_timestamp()
             returning {MOVE}"
        );
        let session = self.session().await?;
        let values: [&(dyn ToSql + Sync); 2] = [&uuid(tenant), &lease.as_secs_f64()];
        let taken = query(&session, &sql, &values).await.map_err(store_error)?;
        taken.first().map(row).transpose()
    }

    /// Renews the lease. Returns whether the run still has the move.
    pub async fn renew_move(&self, of: &MoveRow, lease: Duration) -> Result<bool> {
        let sql =
            "update moves set lease_until = clock_timestamp() + $3::float8 * interval '1 second'
            where tenant_id = $1 and run = $2";
        self.change_move(sql, of, &[&lease.as_secs_f64()]).await
    }

    /// Lets another run take it after a pause.
    pub async fn release_move(
        &self,
        of: &MoveRow,
        error: Option<&str>,
        pause: Duration,
    ) -> Result<bool> {
        let sql = "update moves
            set lease_until = clock_timestamp() + $4::float8 * interval '1 second', error = $3
            where tenant_id = $1 and run = $2";
        self.change_move(sql, of, &[&error.map(text), &pause.as_secs_f64()]).await
    }

    /// Records how far the run has come, and what delays it.
    pub async fn note_move(&self, of: &MoveRow) -> Result<bool> {
        let sql =
            "update moves set place = $3, copied = $4, removed = $5, closed_us = $6, error = $7
            where tenant_id = $1 and run = $2";
        let closed = of.closed.map(rows::micros);
        let (copied, removed) = (of.copied as i64, of.removed as i64);
        let error = of.error.as_deref().map(text);
        self.change_move(sql, of, &[&text(&of.place), &copied, &removed, &closed, &error]).await
    }

    /// Goes from the step of `of` to `step`. Returns whether it did.
    pub async fn set_move_step(&self, of: &MoveRow, step: MoveStep) -> Result<bool> {
        let sql = sql!(
            "update moves set step = $4::int2,
                ended_at = case when $4::int2 in ({DONE}, {TAKEN_BACK}) then clock_timestamp() end
            where tenant_id = $1 and run = $2 and step = $3"
        );
        self.change_move(sql, of, &[&of.step.number(), &step.number()]).await
    }

    async fn change_move(
        &self,
        sql: &str,
        of: &MoveRow,
        more: &[&(dyn ToSql + Sync)],
    ) -> Result<bool> {
        let session = self.session().await?;
        let tenant = uuid(of.tenant);
        let mut values: Vec<&(dyn ToSql + Sync)> = vec![&tenant, &of.run];
        values.extend(more);
        Ok(execute(&session, sql, &values).await.map_err(store_error)? > 0)
    }

    /// Announces that the tenant leaves: nodes stop leasing its deliveries as soon as they know.
    pub async fn announce_leaving(&self, of: &MoveRow) -> Result<bool> {
        let sql = sql!(
            "update cell_tenants set state = {LEAVING}, changed_at = clock_timestamp()
            where tenant_id = $1 and state in ({MOVING}, {LEAVING}) and exists (
                select from moves m where m.tenant_id = $1 and m.run = $2 and m.step in ({COPYING}, {CLOSING}))"
        );
        self.change_move(sql, of, &[]).await
    }

    /// Announces that the tenant stays: its deliveries are leased again. A copy of it may still exist.
    pub async fn announce_return(&self, of: &MoveRow) -> Result<bool> {
        let sql = sql!(
            "update cell_tenants set state = {MOVING}, changed_at = clock_timestamp()
            where tenant_id = $1 and state in ({MOVING}, {LEAVING}) and exists (
                select from moves m where m.tenant_id = $1 and m.run = $2 and m.step = {GOING_BACK})"
        );
        self.change_move(sql, of, &[]).await
    }

    /// Suspends the run: the old cell serves the tenant as before. Returns whether the tenant lives there. If
    /// so, no statement of this run, not even one that is still on its way, can make it live in the new cell.
    pub async fn suspend_move(&self, of: &MoveRow) -> Result<bool> {
        let sql = sql!(
            "with suspended as (
                update moves set step = {COPYING}
                where tenant_id = $1 and run = $2 and step in ({COPYING}, {CLOSING}) returning tenant_id)
            update cell_tenants c set state = {MOVING}, changed_at = clock_timestamp()
            from suspended s where c.tenant_id = s.tenant_id and c.state in ({MOVING}, {LEAVING})"
        );
        self.change_move(sql, of, &[]).await
    }

    /// Makes the tenant live in the new cell. Returns whether it does, which is not the case if the move was
    /// taken back.
    pub async fn switch_move(&self, of: &MoveRow) -> Result<bool> {
        let sql = sql!(
            "with switched as (
                update moves set step = {REMOVING}
                where tenant_id = $1 and run = $2 and step = {CLOSING} returning target)
            update cell_tenants c set cell = s.target, state = {MOVING}, changed_at = clock_timestamp()
            from switched s where c.tenant_id = $1"
        );
        self.change_move(sql, of, &[]).await
    }

    /// Ends the move for the nodes: the tenant lives in one cell only.
    pub async fn settle_placement(&self, of: &MoveRow) -> Result<bool> {
        let sql = sql!(
            "update cell_tenants set state = {ACTIVE}, changed_at = clock_timestamp()
            where tenant_id = $1 and state in ({MOVING}, {LEAVING}) and exists (
                select from moves m where m.tenant_id = $1 and m.run = $2 and m.step in ({REMOVING}, {GOING_BACK}))"
        );
        self.change_move(sql, of, &[]).await
    }

    /// Ends the current run, so that the next one takes the move back. Returns whether there was a move that
    /// could be taken back.
    pub async fn take_move_back(&self, tenant: TenantId) -> Result<bool> {
        let sql = sql!(
            "update moves set step = {GOING_BACK}, run = run + 1, lease_until = clock_timestamp(), error = null
            where tenant_id = $1 and step in ({COPYING}, {CLOSING})"
        );
        let session = self.session().await?;
        Ok(execute(&session, sql, &[&uuid(tenant)]).await.map_err(store_error)? > 0)
    }
}

fn step(number: i16) -> Result<MoveStep> {
    let known = MoveStep::ALL.into_iter().find(|known| known.number() == number);
    known.ok_or_else(|| StoreError::Corrupt(format!("no step of a move is {number}")))
}

fn row(row: &Row) -> Result<MoveRow> {
    let step = step(rows::get(row, 3)?)?;
    let cell = |column| Ok::<_, StoreError>(rows::get::<i32>(row, column)?.max(0) as u32);
    let count = |column| Ok::<_, StoreError>(rows::get::<i64>(row, column)?.max(0) as u64);
    Ok(MoveRow {
        tenant: rows::id(row, 0)?,
        source: cell(1)?,
        target: cell(2)?,
        step,
        run: rows::get(row, 4)?,
        place: rows::get(row, 5)?,
        copied: count(6)?,
        removed: count(7)?,
        closed: rows::maybe_span(row, 8)?,
        error: rows::get(row, 9)?,
        age: Duration::from_secs_f64(rows::get::<f64>(row, 10)?.max(0.0)),
    })
}
