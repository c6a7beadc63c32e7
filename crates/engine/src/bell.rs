//! Passes the wake-ups of the store (its bell) on to the lanes. A wake-up may be missed: the claim loops also poll.

use std::sync::Arc;

use crate::Engine;

pub(crate) async fn run(engine: Arc<Engine>) {
    let bell = engine.store.bell();
    loop {
        bell.notified().await;
        engine.ring();
    }
}

impl Engine {
    /// Wakes all lanes, because work may be due in any of them.
    pub(crate) fn ring(&self) {
        for lane in &self.lanes {
            lane.claim_bell.notify_one();
        }
    }
}
