//! Removes ended parcels that are older than the retention.

use std::{sync::Arc, time::Duration};

use gancho_store::Result;

use crate::Engine;

/// The pause between two steps, so that upkeep never blocks deliveries.
pub(crate) const BREATH: Duration = Duration::from_millis(50);

pub(crate) async fn run(engine: Arc<Engine>) {
    loop {
        tokio::time::sleep(engine.limits.upkeep).await;
        if engine.trusts_clock(engine.clock.now())
            && let Err(error) = engine.prune_once().await
        {
            engine.recovery_for("prune", engine.membership.last(), &error);
        }
    }
}

impl Engine {
    /// Removes everything past its retention, in small steps. Returns the number of parcels removed.
    pub async fn prune_once(&self) -> Result<u64> {
        let max = self.limits.upkeep_step;
        let mut pruned = 0;
        loop {
            let now = self.clock.now();
            let step = self.store.prune(now - self.limits.retention, max, now).await?;
            pruned += step.parcels;
            if !step.more {
                return Ok(pruned);
            }
            tokio::time::sleep(BREATH).await;
        }
    }
}
