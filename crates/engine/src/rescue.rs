//! Takes over the deliveries of dead nodes.

use std::sync::Arc;

use gancho_store::RescueCounts;

use crate::Engine;

pub(crate) async fn run(engine: Arc<Engine>) {
    loop {
        tokio::time::sleep(engine.limits.rescue).await;
        engine.rescue_once().await;
    }
}

impl Engine {
    pub async fn rescue_once(self: &Arc<Self>) -> RescueCounts {
        // A node whose own membership is in doubt declares no other node dead.
        let Some(node) = self.membership.current() else {
            return RescueCounts::default();
        };
        match self.store.rescue(node, self.limits.lease, self.clock.now()).await {
            Ok(rescued) => {
                if rescued != RescueCounts::default() {
                    let RescueCounts { nodes, deliveries, given_up } = rescued;
                    tracing::warn!(nodes, deliveries, given_up, "rescued deliveries of dead nodes");
                    self.ring();
                }
                rescued
            }
            Err(error) => {
                self.recovery_for("rescue", node, &error);
                RescueCounts::default()
            }
        }
    }
}
