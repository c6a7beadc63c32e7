//! Sends heartbeats, and rejoins after this node was declared dead.

use std::sync::{Arc, atomic::Ordering};

use gancho_store::{NodeId, SharedSettings, StoreError};
use tokio::time::Instant;

use crate::{Engine, recovery::Recovery};

pub(crate) async fn run(engine: Arc<Engine>) {
    loop {
        let every = engine.limits.heartbeat;
        let pause = if engine.beat_once().await { every } else { every / 6 };
        tokio::select! {
            biased;
            () = engine.membership.lost.notified() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

impl Engine {
    /// Sends one heartbeat, or makes one attempt to rejoin. Returns whether it succeeded.
    pub async fn beat_once(self: &Arc<Self>) -> bool {
        if self.membership.is_member() { self.beat().await } else { self.join_again().await }
    }

    async fn beat(self: &Arc<Self>) -> bool {
        let node = self.membership.last();
        let was_trusted = self.membership.current().is_some();
        // Read before the call, so that the lease is at least as young as this.
        let at = Instant::now();
        // A database that accepts the call and never answers must not block the heartbeat forever.
        let patience = self.limits.lease / 3;
        let beating = tokio::time::timeout(patience, self.store.heartbeat(node, self.clock.now()));
        let slow = |_| Err(StoreError::Unavailable("the heartbeat timed out".into()));
        match beating.await.unwrap_or_else(slow) {
            Ok(()) => {
                self.membership.beaten(node, at);
                self.note_store_success();
                if self.are_facts_new.load(Ordering::Acquire) {
                    self.describe(node).await;
                }
                if !was_trusted {
                    self.resume_work();
                }
                true
            }
            Err(error) => {
                let fenced = self.recovery_for("heartbeat", node, &error) == Recovery::Fenced;
                fenced && self.join_again().await
            }
        }
    }

    async fn join_again(self: &Arc<Self>) -> bool {
        // A stopping engine accepts no more work.
        if self.stopping.is_cancelled() {
            return false;
        }
        let at = Instant::now();
        match self.store.join(&self.name, self.clock.now()).await {
            Ok(node) => {
                self.drop_queued();
                tracing::info!(node = node.0, name = self.name, "node rejoined");
                self.membership.joined(node, at);
                self.describe(node).await;
                self.resume_work();
                true
            }
            Err(error) => {
                self.recovery_for("join", self.membership.last(), &error);
                false
            }
        }
    }

    /// Shares the settings of this node with the other nodes at once.
    pub async fn announce_shared_settings(self: &Arc<Self>, settings: SharedSettings) {
        self.set_shared_settings(settings);
        self.describe(self.membership.last()).await;
    }

    async fn describe(self: &Arc<Self>, node: NodeId) {
        self.are_facts_new.store(false, Ordering::Release);
        let facts = self.facts.lock().clone();
        if let Err(error) = self.store.describe_node(node, facts).await {
            self.are_facts_new.store(true, Ordering::Release);
            self.recovery_for("join", node, &error);
        }
    }

    fn resume_work(self: &Arc<Self>) {
        self.dispatch_all();
        self.ring();
    }

    /// Drops queued deliveries, because another node has taken over. The store refuses the results of those
    /// in flight.
    pub(crate) fn fenced(self: &Arc<Self>, node: NodeId) {
        if !self.membership.fenced(node) {
            return;
        }
        tracing::warn!(node = node.0, "node declared dead; dropping queued deliveries");
        self.drop_queued();
    }

    fn drop_queued(&self) {
        for lane in &self.lanes {
            let dropped = lane.queue.lock().drain(self.clock.now());
            drop(dropped);
        }
    }
}
