//! Takes over the deliveries of dead nodes, and finishes fan-outs that were interrupted.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use gancho_store::RescueCounts;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::Engine;

/// Maximum nodes that are read to find the names of those that died.
const MAX_LISTED: usize = 1_000;
/// Maximum names that are remembered.
const MAX_NAMES: usize = 20;

/// Names of nodes that were declared dead, the newest last.
#[derive(Default)]
pub(crate) struct LostNodes(Mutex<VecDeque<(Instant, String)>>);

impl LostNodes {
    fn add(&self, names: &[String]) {
        let mut kept = self.0.lock();
        kept.extend(names.iter().map(|name| (Instant::now(), name.clone())));
        while kept.len() > MAX_NAMES {
            kept.pop_front();
        }
    }

    pub fn within(&self, time: Duration) -> Vec<String> {
        let kept = self.0.lock();
        let recent = kept.iter().filter(|(at, _)| at.elapsed() < time);
        recent.map(|(_, name)| name.clone()).collect()
    }
}

pub(crate) async fn run(engine: Arc<Engine>) {
    loop {
        tokio::time::sleep(engine.limits.rescue).await;
        engine.rescue_once().await;
        engine.finish_fan_outs().await;
    }
}

impl Engine {
    /// Returns how many other nodes this one has declared dead since it started.
    pub fn lost_nodes(&self) -> u64 {
        self.lost_nodes.get()
    }

    /// Returns the names of nodes that were declared dead within this time, as far as they are known.
    pub fn lost_names(&self, within: Duration) -> Vec<String> {
        self.lost_names.within(within)
    }

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
                    let names = self.look_up_lost_nodes(nodes as usize).await.join(", ");
                    tracing::warn!(
                        nodes,
                        names,
                        deliveries,
                        given_up,
                        "rescued deliveries of dead nodes"
                    );
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

    /// Looks up the nodes that were declared dead last, and keeps their names.
    async fn look_up_lost_nodes(&self, count: usize) -> Vec<String> {
        if count == 0 {
            return Vec::new();
        }
        let mut dead = self.store.nodes(MAX_LISTED).await.unwrap_or_default();
        dead.retain(|node| node.is_dead);
        dead.sort_by_key(|node| std::cmp::Reverse(node.seen_at));
        let names: Vec<String> = dead.into_iter().take(count).map(|node| node.name).collect();
        self.lost_names.add(&names);
        names
    }

    /// Places the deliveries of parcels whose fan-out was interrupted. A fan-out that is still running does
    /// no harm, because a part is placed only once.
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
