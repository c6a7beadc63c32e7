//! Takes over the deliveries of dead nodes, and finishes fan-outs that were interrupted.

use std::sync::Arc;

use gancho_store::RescueCounts;

use crate::Engine;

pub(crate) async fn run(engine: Arc<Engine>) {
    loop {
        tokio::time::sleep(engine.limits.rescue).await;
        engine.rescue_once().await;
        engine.finish_fan_outs().await;
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
                    self.lost_nodes.add(nodes as usize);
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

    /// Places the deliveries of parcels whose fan-out was interrupted. One that still goes on does no harm: a
    /// part is placed once.
    pub async fn finish_fan_outs(self: &Arc<Self>) {
        let before = self.clock.now() - self.limits.lease;
        loop {
            match self.store.place_left_parts(before, self.limits.upkeep_step).await {
                Ok(0) => return,
                Ok(deliveries) => tracing::info!(deliveries, "finished an interrupted fan-out"),
                Err(error) => {
                    self.recovery_for("finish a fan-out", self.node(), &error);
                    return;
                }
            }
        }
    }
}
