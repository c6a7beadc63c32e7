//! One run of a move: it keeps its lease on the move as long as it goes on. If it fails, the tenant is left where it lives, in
//! use, until the next run.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use gancho_domain::TenantId;
use gancho_store::{Result, StoreError};
use gancho_store_postgres::{MoveRow, MoveStep};

use crate::{CellStore, mover::Mover};

/// How long after a failure it is tried again: twice as long after each further one.
const TRY_AGAIN: Duration = Duration::from_secs(2);
const MAX_TRY_AGAIN: Duration = Duration::from_secs(60);

impl CellStore {
    /// Until it has ended, failed, or was taken over.
    pub(crate) async fn carry_out(self: Arc<Self>, of: MoveRow) {
        let tenant = of.tenant;
        let begin = Instant::now();
        let carried = tokio::select! {
            carried = self.carry(of.clone()) => carried,
            () = self.keep_lease(&of) => return,
        };
        match carried {
            Ok(step) => {
                self.move_failures.lock().remove(&tenant);
                let outcome = if step == MoveStep::Done { "moved" } else { "taken back" };
                tracing::info!(%tenant, outcome, "move of a tenant ended");
            }
            // A test has ended this node.
            Err(StoreError::Broken(_)) if self.setup.moves.dies_at.is_some() => {}
            Err(error) => {
                tracing::warn!(%tenant, %error, "move of a tenant failed; will retry");
                if let Err(error) = self.suspend(&of).await {
                    tracing::warn!(%tenant, %error, "could not suspend a move; the tenant waits for the next try");
                }
                let pause = self.pause_after(tenant, begin.elapsed());
                if let Ok(home) = self.home.open_store() {
                    let _ = home.release_move(&of, Some(&error.to_string()), pause).await;
                }
            }
        }
    }

    /// A tenant that does not leave for now is served by its old cell: nobody waits for a new one that does not answer.
    async fn suspend(&self, of: &MoveRow) -> Result<()> {
        // After the switch it says no: then the tenant lives in the new cell.
        if self.home.open_store()?.suspend_move(of).await? {
            self.cell(of.source)?.open_store()?.reopen_departure(of).await?;
            self.home.tenant_moves.notify_one();
        }
        Ok(())
    }

    /// How long after a failure the move is tried again. A run that took longer than that is not one of a row of failures.
    fn pause_after(&self, tenant: TenantId, took: Duration) -> Duration {
        let mut all = self.move_failures.lock();
        let failures = all.entry(tenant).or_default();
        if took > MAX_TRY_AGAIN {
            *failures = 0;
        }
        *failures += 1;
        pause(*failures, TRY_AGAIN.min(self.setup.moves.lease))
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
        let home = self.home.open_store()?;
        // Errors of earlier runs are over when this one comes on.
        let row = MoveRow { error: None, ..row };
        let mover = Mover { cells: self, rules: &self.setup.moves, home, row };
        match mover.row.step {
            MoveStep::Copying | MoveStep::Closing => mover.resume().await,
            MoveStep::Removing => mover.remove(Duration::ZERO).await,
            MoveStep::GoingBack => mover.go_back().await,
            ended @ (MoveStep::Done | MoveStep::TakenBack) => Ok(ended),
        }
    }
}

fn pause(failures: u32, first: Duration) -> Duration {
    let doubled = failures.saturating_sub(1).min(10);
    (first * (1 << doubled)).min(MAX_TRY_AGAIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_that_keeps_failing_is_tried_less_and_less_often() {
        let pauses: Vec<u64> =
            (1..8).map(|failures| pause(failures, TRY_AGAIN).as_secs()).collect();
        assert_eq!(pauses, [2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(pause(u32::MAX, TRY_AGAIN), MAX_TRY_AGAIN);
    }
}
