//! Giving up what waits in the store longer than its lane allows.

use std::sync::Arc;

use gancho_domain::EndReason;
use gancho_store::Result;

use crate::{Engine, lane::LaneState, prune};

/// Of a lane.
const STEPS_AT_START: usize = 20;

pub(crate) async fn run(engine: Arc<Engine>) {
    loop {
        tokio::time::sleep(engine.limits.upkeep).await;
        engine.compare_clocks().await;
        if engine.trusts_clock(engine.clock.now())
            && let Err(error) = engine.expire_once().await
        {
            engine.recovery_for("expire", engine.membership.last(), &error);
        }
    }
}

impl Engine {
    /// All that is too old now, in small steps. Returns how many were given up.
    pub async fn expire_once(&self) -> Result<u64> {
        self.expire_in(usize::MAX).await
    }

    /// Before anything is claimed, so that what grew too old while no node ran is not tried. Where that is more than some
    /// thousands, the rest is left to the loop: a start does not wait for it.
    pub(crate) async fn expire_at_start(&self) -> Result<u64> {
        self.expire_in(STEPS_AT_START).await
    }

    async fn expire_in(&self, steps: usize) -> Result<u64> {
        let mut expired = 0;
        for lane in &self.lanes {
            expired += self.expire_lane(lane, steps).await?;
        }
        Ok(expired)
    }

    async fn expire_lane(&self, lane: &LaneState, steps: usize) -> Result<u64> {
        let Some(expiry) = lane.expiry().filter(|_| lane.expires_in_store) else {
            return Ok(0);
        };
        let max = self.limits.upkeep_step;
        let mut expired = 0;
        for _ in 0..steps {
            let now = self.clock.now();
            let gone = self.store.expire(lane.lane, now - expiry, max, now).await?;
            expired += gone.len() as u64;
            self.count_ended(lane.lane, &EndReason::EXPIRED, &gone);
            lane.carrier.gave_up(&gone, &EndReason::EXPIRED, now);
            if gone.len() < max {
                return Ok(expired);
            }
            tokio::time::sleep(prune::BREATH).await;
        }
        Ok(expired)
    }
}
