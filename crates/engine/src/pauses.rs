//! Holding work back and letting it go on.

use std::sync::Arc;

use gancho_store::{Pause, Result};

use crate::{Engine, scheduler::PauseSet};

pub(crate) async fn run(engine: Arc<Engine>) {
    loop {
        tokio::time::sleep(engine.limits.poll).await;
        if let Err(error) = engine.refresh_pauses().await {
            engine.recovery_for("pauses", engine.membership.last(), &error);
        }
    }
}

impl Engine {
    /// Holds back on this node at once, on others within a second.
    pub async fn pause(self: &Arc<Self>, what: Pause) -> Result<()> {
        self.store.pause(what, self.clock.now()).await?;
        self.refresh_pauses().await
    }

    pub async fn resume(self: &Arc<Self>, what: Pause) -> Result<()> {
        self.store.resume(what).await?;
        self.refresh_pauses().await
    }

    pub async fn refresh_pauses(self: &Arc<Self>) -> Result<()> {
        let pauses = self.store.pauses().await?;
        for lane in &self.lanes {
            let (was_paused, is_paused) = {
                let mut queue = lane.queue.lock();
                let was_paused = queue.is_paused();
                queue.set_pauses(PauseSet::of(lane.lane, &pauses), self.clock.now());
                (was_paused, queue.is_paused())
            };
            if was_paused && !is_paused {
                lane.claim_bell.notify_one();
            }
            self.dispatch(lane);
        }
        Ok(())
    }
}
