//! Two ways to stop. Soft: accept nothing, release queued deliveries, finish those in flight, leave. Hard:
//! drop everything; the leases expire and return the deliveries.

use std::{sync::Arc, time::Duration};

use crate::Engine;

/// How a soft stop went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopSummary {
    /// Deliveries still held at the deadline. They return to the store, and may reach their target twice.
    pub unfinished: usize,
}

/// Maximum time to wait for the store when leaving.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(2);

impl Engine {
    /// Stops softly, or hard after the deadline. Idempotent.
    pub async fn stop(self: &Arc<Self>, deadline: Duration) -> StopSummary {
        self.stopping.cancel();
        let finished = async {
            self.release_queued();
            self.room.emptied().await;
        };
        let stopped = tokio::select! {
            biased;
            () = self.aborted.cancelled() => StopSummary { unfinished: self.held().jobs },
            done = tokio::time::timeout(deadline, finished) => StopSummary {
                unfinished: if done.is_ok() { 0 } else { self.held().jobs },
            },
        };
        self.report_suppressed();
        if !self.aborted.is_cancelled() {
            self.flush_last_statistics().await;
            self.leave().await;
        }
        self.abort();
        self.ended().await;
        stopped
    }

    /// Stops hard: every task ends at its next step.
    pub fn abort(&self) {
        self.stopping.cancel();
        self.aborted.cancel();
        self.tracker.close();
    }

    /// Waits until every task has ended, after [`Engine::stop`], [`Engine::abort`] or a failure.
    pub async fn ended(&self) {
        self.tracker.wait().await;
    }

    fn release_queued(self: &Arc<Self>) {
        for lane in &self.lanes {
            let waiting = lane.queue.lock().drain(self.clock.now());
            self.give_back(lane, waiting);
        }
    }

    async fn flush_last_statistics(&self) {
        let flushing = tokio::time::timeout(LEAVE_TIMEOUT, self.flush_statistics());
        if let Ok(Err(error)) = flushing.await {
            tracing::warn!(%error, "could not write the last statistics");
        }
    }

    async fn leave(self: &Arc<Self>) {
        let node = self.membership.last();
        let leaving = self.store.leave(node, self.clock.now());
        match tokio::time::timeout(LEAVE_TIMEOUT, leaving).await {
            Ok(Ok(())) => tracing::info!(node = node.0, "node left"),
            Ok(Err(error)) => {
                tracing::warn!(node = node.0, %error, "could not leave; leases will expire");
            }
            Err(_) => tracing::warn!(node = node.0, "leaving timed out; leases will expire"),
        }
    }
}
