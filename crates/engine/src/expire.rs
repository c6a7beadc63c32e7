//! Gives up deliveries that wait in the store longer than their lane allows.

use std::sync::Arc;

use gancho_domain::EndReason;
use gancho_store::Result;

use crate::{Engine, lane::LaneState, prune};

/// Maximum steps for each lane at the start.
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
    /// Gives up all deliveries that are too old now, in small steps, and returns how many.
    pub async fn expire_once(&self) -> Result<u64> {
        self.expire_in(usize::MAX).await
    }

    /// Gives up deliveries before anything is claimed, so that those that grew too old while no node ran are
    /// not tried. If there are more than some thousands, the loop does the others, so that the start does not
    /// wait for them.
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
