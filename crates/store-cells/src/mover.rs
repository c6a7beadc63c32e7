//! The steps of a move, each of which can be interrupted and repeated. What has been decided is in the directory: until it says
//! that the tenant lives in the new cell, the move can be taken back, and from then on it goes on.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use gancho_store::{Result, StoreError, Tenants};
use gancho_store_postgres::{MOVED_TABLES, MoveRow, MoveStep, PostgresStore};

use crate::{
    CellStore,
    moves::{MovePoint, MoveRules},
};

/// So few changes are left for when nothing can be written.
const FEW_CHANGES: u64 = 100;
/// How often it is tried to have fewer left, where there are not fewer than before.
const MAX_VAIN_TRIES: u32 = 5;
/// How often a step looks again.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How often a tenant is closed in one run, where transactions that have begun do not end. The pauses between double.
const MAX_CLOSINGS: u32 = 6;
/// How long a cell may take for a step while the tenant is delayed by the move.
const MAX_STEP: Duration = Duration::from_secs(10);
/// The same while it is not.
const MAX_COPY: Duration = Duration::from_mins(10);
/// The same for what is not worth the delay of more than a moment.
const MAX_HAND_OVER: Duration = Duration::from_secs(1);
const LONG_TRANSACTIONS: &str =
    "transactions that write for the tenant take too long for it to be closed in between";

pub(crate) struct Mover<'a> {
    pub cells: &'a CellStore,
    pub rules: &'a MoveRules,
    pub home: Arc<PostgresStore>,
    pub row: MoveRow,
}

impl Mover<'_> {
    /// The old cell. What is to be done in one of the two does not need the other.
    fn source(&self) -> Result<Arc<PostgresStore>> {
        self.cells.cell(self.row.source)?.open_store()
    }

    /// The new one.
    fn target(&self) -> Result<Arc<PostgresStore>> {
        self.cells.cell(self.row.target)?.open_store()
    }

    fn at(&self, point: MovePoint) -> Result<()> {
        match &self.rules.dies_at {
            Some(dies) if dies(point) => Err(StoreError::Broken(format!("died at {point:?}"))),
            _ => Ok(()),
        }
    }

    pub async fn resume(mut self) -> Result<MoveStep> {
        self.at(MovePoint::Begun)?;
        let (source, target) = (self.source()?, self.target()?);
        // An earlier run has closed the tenant: what is left is done at once.
        if self.row.step == MoveStep::Closing
            && source.keep_guard(&self.row).await?
            && soon(target.keep_guard(&self.row)).await?
        {
            return self.close_and_remove().await;
        }
        target.guard_arrival(&self.row).await?;
        self.at(MovePoint::ArrivalGuarded)?;
        source.guard_departure(&self.row).await?;
        self.at(MovePoint::DepartureGuarded)?;
        // Nothing of it can be deleted from here on.
        if source.tenant(self.row.tenant).await?.is_none() {
            self.home.take_move_back(self.row.tenant).await?;
            return Err(StoreError::Refused(
                "the tenant was deleted: what was copied is removed".into(),
            ));
        }
        // Nodes must know that what they find in the new cell is a copy.
        tokio::time::sleep(self.rules.announce).await;
        if self.row.step == MoveStep::Copying {
            self.copy_all().await?;
        }
        self.at(MovePoint::AllCopied)?;
        // If there are always more, there may be fewer when nothing is delivered.
        self.catch_up(MAX_COPY).await?;
        self.at(MovePoint::CaughtUp)?;
        self.drain().await?;
        self.set_step(MoveStep::Closing).await?;
        self.close_and_remove().await
    }

    async fn close_and_remove(mut self) -> Result<MoveStep> {
        self.close_and_switch().await?;
        let linger = self.rules.linger;
        self.remove(linger).await
    }

    async fn set_step(&mut self, step: MoveStep) -> Result<()> {
        if self.row.step != step && !self.home.set_move_step(&self.row, step).await? {
            return Err(taken_over());
        }
        self.row.step = step;
        Ok(())
    }

    async fn note(&self) -> Result<()> {
        if self.home.note_move(&self.row).await? { Ok(()) } else { Err(taken_over()) }
    }

    /// From where the last run has stopped.
    async fn copy_all(&mut self) -> Result<()> {
        let (name, mut after) = match self.row.place.split_once('\n') {
            Some((name, after)) => (name.to_owned(), Some(after.to_owned())),
            None => (self.row.place.clone(), None),
        };
        let begin = MOVED_TABLES.iter().position(|table| table.name == name).unwrap_or(0);
        let (source, target) = (self.source()?, self.target()?);
        for table in &MOVED_TABLES[begin..] {
            loop {
                let part = source.copy_rows(&target, &self.row, *table, after.as_deref()).await?;
                self.at(MovePoint::PartCopied)?;
                self.row.copied += part.rows;
                after = part.next;
                self.row.place = match &after {
                    Some(after) => format!("{}\n{after}", table.name),
                    None => table.name.to_owned(),
                };
                self.note().await?;
                if after.is_none() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Returns how many.
    async fn copy_changes(&self, point: MovePoint) -> Result<usize> {
        let source = self.source()?;
        let copied = source.copy_changes(&*self.target()?, &self.row, self.rules.changes).await?;
        self.at(point)?;
        if !copied.is_empty() {
            source.forget_changes(&self.row, &copied).await?;
        }
        Ok(copied.len())
    }

    /// Copies changes until few are left, or there are not fewer than before however often it is tried. Returns how many are
    /// left.
    async fn catch_up(&self, max_step: Duration) -> Result<u64> {
        let (source, mut vain_tries) = (self.source()?, 0);
        let mut left = source.changes_of(self.row.tenant).await?;
        while left > FEW_CHANGES && vain_tries < MAX_VAIN_TRIES {
            let mut copied = 0;
            while copied < left {
                let more = self.copy_changes(MovePoint::ChangesCopied);
                match with_timeout(max_step, more).await? {
                    0 => break,
                    more => copied += more as u64,
                }
            }
            let before = std::mem::replace(&mut left, source.changes_of(self.row.tenant).await?);
            // What takes half as long each time comes to an end.
            vain_tries = if left <= before / 2 { 0 } else { vain_tries + 1 };
        }
        Ok(left)
    }

    /// Nothing more of the tenant is leased; attempts that have begun are waited for.
    async fn drain(&self) -> Result<()> {
        if !self.home.announce_leaving(&self.row).await? {
            return Err(taken_over());
        }
        self.at(MovePoint::Announced)?;
        let begin = Instant::now();
        loop {
            let copied = soon(self.copy_changes(MovePoint::ChangesCopied)).await?;
            let is_known = begin.elapsed() >= self.rules.announce;
            if is_known && self.source()?.leases_of(self.row.tenant).await? == 0 {
                return Ok(());
            }
            if begin.elapsed() >= self.rules.drain {
                tracing::warn!(tenant = %self.row.tenant, "attempts outlasted the move; they will be repeated");
                return Ok(());
            }
            if copied < self.rules.changes {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        }
    }

    async fn close_and_switch(&mut self) -> Result<()> {
        let closed_at = self.close().await?;
        self.at(MovePoint::Closed)?;
        soon(self.copy_last()).await?;
        self.at(MovePoint::RestCopied)?;
        if !soon(self.home.switch_move(&self.row)).await? {
            return Err(taken_over());
        }
        self.row.step = MoveStep::Removing;
        self.at(MovePoint::Switched)?;
        self.open().await?;
        self.row.closed = Some(self.row.closed.unwrap_or_default() + closed_at.elapsed());
        self.cells.home.tenant_moves.notify_one();
        self.at(MovePoint::Opened)?;
        self.note().await
    }

    /// Returns when it was closed. Transactions that have begun are not waited for with everyone else: it is tried again.
    async fn close(&mut self) -> Result<Instant> {
        let source = self.source()?;
        let mut pause = POLL_INTERVAL;
        for tries in 1..=MAX_CLOSINGS {
            let left = self.catch_up(MAX_STEP).await?;
            if left > self.rules.changes as u64 {
                return Err(StoreError::Refused(format!(
                    "the tenant changes faster than it can be copied: {left} changes are left; move it when there is less to do"
                )));
            }
            let at = Instant::now();
            if source.close_departure(&self.row, self.rules.close).await? {
                self.row.error = None;
                return Ok(at);
            }
            self.row.closed = Some(self.row.closed.unwrap_or_default() + at.elapsed());
            self.row.error = (tries > 2).then(|| LONG_TRANSACTIONS.to_owned());
            self.note().await?;
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        Err(StoreError::Refused(LONG_TRANSACTIONS.into()))
    }

    async fn copy_last(&self) -> Result<()> {
        while self.copy_changes(MovePoint::LastChangesCopied).await? > 0 {}
        self.source()?.copy_rest(&*self.target()?, &self.row).await
    }

    /// The new cell, unless an earlier run has done so. It does not wait for the old one: the statistics of the minutes that
    /// have begun are worth less than a moment in which nothing can be published.
    async fn open(&self) -> Result<()> {
        let target = self.target()?;
        if target.keep_arrival(&self.row).await?
            && let Err(error) = self.hand_over(&target).await
        {
            let tenant = self.row.tenant;
            tracing::warn!(%tenant, %error, "could not hand over the statistics of a tenant; some minutes may be wrong");
        }
        target.lift_guard(&self.row).await
    }

    async fn hand_over(&self, target: &PostgresStore) -> Result<()> {
        let source = self.source()?;
        let handing_over = source.hand_over_statistics(target, &self.row);
        with_timeout(MAX_HAND_OVER, handing_over).await
    }

    /// From the old cell, when nobody reads there any more.
    pub async fn remove(mut self, linger: Duration) -> Result<MoveStep> {
        self.open().await?;
        let (source, target) = (self.source()?, self.target()?);
        // What waits to be accepted is nowhere else.
        source.forward_intake(&target, self.row.tenant).await?;
        tokio::time::sleep(linger).await;
        if source.keep_guard(&self.row).await? {
            for table in MOVED_TABLES.iter().rev() {
                loop {
                    let removed = source.remove_moved(&self.row, *table).await?;
                    self.at(MovePoint::PartRemoved)?;
                    if removed == 0 {
                        break;
                    }
                    self.row.removed += removed;
                    self.note().await?;
                }
            }
            source.remove_moved_rest(&self.row).await?;
            source.forward_intake(&target, self.row.tenant).await?;
            self.at(MovePoint::AllRemoved)?;
            source.mark_left(&self.row).await?;
        }
        self.at(MovePoint::MarkedLeft)?;
        self.end(MoveStep::Done).await
    }

    /// The tenant stays where it is; its copy is removed. It does not wait for that.
    pub async fn go_back(mut self) -> Result<MoveStep> {
        let source = self.source()?;
        source.lift_guard(&self.row).await?;
        self.home.announce_return(&self.row).await?;
        self.cells.home.tenant_moves.notify_one();
        self.at(MovePoint::Reopened)?;
        let target = self.target()?;
        if target.keep_guard(&self.row).await? {
            for table in MOVED_TABLES.iter().rev() {
                loop {
                    let removed = target.remove_copied(&self.row, *table).await?;
                    self.at(MovePoint::CopyPartRemoved)?;
                    if removed == 0 {
                        break;
                    }
                    self.row.removed += removed;
                    self.note().await?;
                }
            }
            target.remove_copied_rest(&self.row).await?;
            target.mark_left(&self.row).await?;
        }
        source.forget_all_changes(&self.row).await?;
        self.at(MovePoint::CopyRemoved)?;
        let is_deleted = source.tenant(self.row.tenant).await?.is_none();
        let ended = self.end(MoveStep::TakenBack).await?;
        if is_deleted {
            self.home.mark_deleted(self.row.tenant, self.row.source).await?;
        }
        Ok(ended)
    }

    async fn end(&mut self, step: MoveStep) -> Result<MoveStep> {
        self.home.settle_placement(&self.row).await?;
        self.cells.home.tenant_moves.notify_one();
        self.set_step(step).await?;
        Ok(step)
    }
}

/// A call that the tenant waits for.
async fn soon<T>(call: impl Future<Output = Result<T>>) -> Result<T> {
    with_timeout(MAX_STEP, call).await
}

async fn with_timeout<T>(max: Duration, call: impl Future<Output = Result<T>>) -> Result<T> {
    let slow = |_| Err(StoreError::Unavailable("a cell takes too long to answer".into()));
    tokio::time::timeout(max, call).await.unwrap_or_else(slow)
}

fn taken_over() -> StoreError {
    StoreError::Refused("the move was taken over, or taken back".into())
}
