//! Rolls up minutes to hours and hours to days once they are over.

use std::sync::Arc;

use gancho_store::Result;

use crate::{Engine, prune::BREATH};

/// Maximum series in one step.
const SERIES: usize = 100;

pub(crate) async fn run(engine: Arc<Engine>) {
    loop {
        tokio::time::sleep(engine.limits.upkeep).await;
        if let Err(error) = engine.roll_up_statistics().await {
            engine.recovery_for("roll-up", engine.membership.last(), &error);
        }
    }
}

impl Engine {
    /// Rolls up everything that is due, in small steps. Several nodes may do it at the same time.
    pub async fn roll_up_statistics(&self) -> Result<()> {
        while self.store.roll_up_statistics(SERIES, self.clock.now()).await? {
            tokio::time::sleep(BREATH).await;
        }
        Ok(())
    }
}
