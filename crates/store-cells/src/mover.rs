//! The steps of a move, each of which can be interrupted and repeated. What has been decided is in the directory: until it says
//! that the tenant lives in the new cell, the move can be taken back, and from then on it goes on.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use gancho_store::{Result, StoreError};
use gancho_store_postgres::{MOVED_TABLES, MoveRow, MoveStep, PostgresStore};

use crate::{
    CellStore,
    moves::{MovePoint, MoveRules},
};

/// Changes that are copied in one transaction.
const CHANGES: usize = 2000;
/// So few are left for when nothing can be written.
const FEW_CHANGES: usize = 100;
/// How often a step looks again.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long after a failure it is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(2);

impl CellStore {
    /// Until it has ended, failed, or was taken over.
    pub(crate) async fn carry_out(self: Arc<Self>, of: MoveRow) {
        let tenant = of.tenant;
        let lease = self.setup.moves.lease;
        let carried = tokio::select! {
            carried = self.carry(of.clone()) => carried,
            () = self.keep_lease(&of) => return,
        };
        match carried {
            Ok(step) => {
                let outcome = if step == MoveStep::Done { "moved" } else { "taken back" };
                tracing::info!(%tenant, outcome, "move of a tenant ended");
            }
            // A test has ended this node.
            Err(StoreError::Broken(_)) if self.setup.moves.dies_at.is_some() => {}
            Err(error) => {
                tracing::warn!(%tenant, %error, "move of a tenant failed; will retry");
                let pause = TRY_AGAIN.min(lease);
                if let Ok(home) = self.home.open_store() {
                    let _ = home.release_move(&of, Some(&error.to_string()), pause).await;
                }
            }
        }
    }

    /// Ends when another has taken the move over.
    async fn keep_lease(&self, of: &MoveRow) {
        let lease = self.setup.moves.lease;
        loop {
            tokio::time::sleep(lease / 4).await;
            let Ok(home) = self.home.open_store() else { continue };
            if matches!(home.renew_move(of, lease).await, Ok(false)) {
                return;
            }
        }
    }

    async fn carry(&self, row: MoveRow) -> Result<MoveStep> {
        let store = |number| self.cell(number)?.open_store();
        let mover = Mover {
            cells: self,
            rules: &self.setup.moves,
            home: self.home.open_store()?,
            source: store(row.source)?,
            target: store(row.target)?,
            row,
        };
        match mover.row.step {
            MoveStep::Copying | MoveStep::Closing => mover.go_on().await,
            MoveStep::Removing => mover.remove(Duration::ZERO).await,
            MoveStep::GoingBack => mover.go_back().await,
            ended @ (MoveStep::Done | MoveStep::TakenBack) => Ok(ended),
        }
    }
}

struct Mover<'a> {
    cells: &'a CellStore,
    rules: &'a MoveRules,
    home: Arc<PostgresStore>,
    source: Arc<PostgresStore>,
    target: Arc<PostgresStore>,
    row: MoveRow,
}

impl Mover<'_> {
    fn at(&self, point: MovePoint) -> Result<()> {
        match &self.rules.dies_at {
            Some(dies) if dies(point) => Err(StoreError::Broken(format!("died at {point:?}"))),
            _ => Ok(()),
        }
    }

    async fn go_on(mut self) -> Result<MoveStep> {
        self.at(MovePoint::Begun)?;
        // An earlier run has closed the tenant: what is left is done at once.
        if self.row.step == MoveStep::Closing
            && self.source.keep_guard(&self.row).await?
            && self.target.keep_guard(&self.row).await?
        {
            return self.close_and_remove().await;
        }
        self.target.guard_arrival(&self.row).await?;
        self.at(MovePoint::ArrivalGuarded)?;
        self.source.guard_departure(&self.row).await?;
        self.at(MovePoint::DepartureGuarded)?;
        // Nodes must know that what they find in the new cell is a copy.
        tokio::time::sleep(self.rules.announce).await;
        if self.row.step == MoveStep::Copying {
            self.copy_all().await?;
        }
        self.at(MovePoint::AllCopied)?;
        while self.copy_changes(MovePoint::ChangesCopied).await? > FEW_CHANGES {}
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
        for table in &MOVED_TABLES[begin..] {
            loop {
                let part = self
                    .source
                    .copy_rows(&self.target, &self.row, *table, after.as_deref())
                    .await?;
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
        let copied = self.source.copy_changes(&self.target, &self.row, CHANGES).await?;
        self.at(point)?;
        if !copied.is_empty() {
            self.source.forget_changes(&self.row, &copied).await?;
        }
        Ok(copied.len())
    }

    /// Nothing more of the tenant is leased; attempts that have begun are waited for.
    async fn drain(&self) -> Result<()> {
        if !self.home.announce_leaving(&self.row).await? {
            return Err(taken_over());
        }
        self.at(MovePoint::Announced)?;
        let begin = Instant::now();
        loop {
            self.copy_changes(MovePoint::ChangesCopied).await?;
            let is_known = begin.elapsed() >= self.rules.announce;
            if is_known && self.source.leases_of(self.row.tenant).await? == 0 {
                return Ok(());
            }
            if begin.elapsed() >= self.rules.drain {
                tracing::warn!(tenant = %self.row.tenant, "attempts outlasted the move; they will be repeated");
                return Ok(());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    async fn close_and_switch(&mut self) -> Result<()> {
        let closed_at = loop {
            while self.copy_changes(MovePoint::ChangesCopied).await? > FEW_CHANGES {}
            let at = Instant::now();
            if self.source.close_departure(&self.row, self.rules.close).await? {
                break at;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        };
        self.at(MovePoint::Closed)?;
        if let Err(error) = self.copy_last().await {
            // The directory has not changed. Nobody waits for a cell that does not answer.
            if !matches!(error, StoreError::Broken(_)) {
                self.source.reopen_departure(&self.row).await?;
            }
            return Err(error);
        }
        self.at(MovePoint::RestCopied)?;
        if !self.home.switch_move(&self.row).await? {
            return Err(taken_over());
        }
        self.row.step = MoveStep::Removing;
        self.at(MovePoint::Switched)?;
        self.open().await?;
        self.row.closed = Some(closed_at.elapsed());
        self.cells.home.tenant_moves.notify_one();
        self.at(MovePoint::Opened)?;
        self.note().await
    }

    async fn copy_last(&self) -> Result<()> {
        while self.copy_changes(MovePoint::LastChangesCopied).await? > 0 {}
        self.source.copy_rest(&self.target, &self.row).await
    }

    /// The new cell, unless an earlier run has done so.
    async fn open(&self) -> Result<()> {
        if self.target.keep_arrival(&self.row).await? {
            self.source.hand_over_statistics(&self.target, &self.row).await?;
        }
        self.target.lift_guard(&self.row).await
    }

    /// From the old cell, when nobody reads there any more.
    async fn remove(mut self, linger: Duration) -> Result<MoveStep> {
        self.open().await?;
        tokio::time::sleep(linger).await;
        if self.source.keep_guard(&self.row).await? {
            self.source.forward_intake(&self.target, self.row.tenant).await?;
            for table in MOVED_TABLES.iter().rev() {
                loop {
                    let removed = self.source.remove_moved(&self.row, *table).await?;
                    self.at(MovePoint::PartRemoved)?;
                    if removed == 0 {
                        break;
                    }
                    self.row.removed += removed;
                    self.note().await?;
                }
            }
            self.source.remove_moved_rest(&self.row).await?;
            self.source.forward_intake(&self.target, self.row.tenant).await?;
            self.at(MovePoint::AllRemoved)?;
            self.source.mark_left(&self.row).await?;
        }
        self.at(MovePoint::MarkedLeft)?;
        self.end(MoveStep::Done).await
    }

    /// The tenant stays where it is; its copy is removed.
    async fn go_back(mut self) -> Result<MoveStep> {
        self.source.lift_guard(&self.row).await?;
        self.home.announce_return(&self.row).await?;
        self.at(MovePoint::Reopened)?;
        if self.target.keep_guard(&self.row).await? {
            for table in MOVED_TABLES.iter().rev() {
                loop {
                    let removed = self.target.remove_copied(&self.row, *table).await?;
                    self.at(MovePoint::CopyPartRemoved)?;
                    if removed == 0 {
                        break;
                    }
                    self.row.removed += removed;
                    self.note().await?;
                }
            }
            self.target.remove_copied_rest(&self.row).await?;
            self.target.mark_left(&self.row).await?;
        }
        self.source.forget_all_changes(&self.row).await?;
        self.at(MovePoint::CopyRemoved)?;
        self.end(MoveStep::TakenBack).await
    }

    async fn end(&mut self, step: MoveStep) -> Result<MoveStep> {
        self.home.settle_placement(&self.row).await?;
        self.cells.home.tenant_moves.notify_one();
        self.set_step(step).await?;
        Ok(step)
    }
}

fn taken_over() -> StoreError {
    StoreError::Refused("the move was taken over, or taken back".into())
}
