//! Decides what to do when a call to the store fails.

use std::{sync::Arc, time::Duration};

use gancho_store::{NodeId, StoreError};

use crate::Engine;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recovery {
    /// Retry after a backoff.
    Retry,
    /// `node` was declared dead; other nodes have its deliveries.
    Fenced,
    /// The engine is stopping.
    Stop,
}

impl Engine {
    pub(crate) fn recovery_for(
        self: &Arc<Self>,
        step: &'static str,
        node: NodeId,
        error: &StoreError,
    ) -> Recovery {
        match error {
            StoreError::Fenced => {
                self.fenced(node);
                Recovery::Fenced
            }
            StoreError::Broken(_) => {
                self.fail(error);
                Recovery::Stop
            }
            StoreError::Unavailable(_) | StoreError::TimedOut(_) | StoreError::Moving(_) => {
                if self.note_store_failure(step) {
                    tracing::warn!(step, %error, "store operation failed; retrying");
                }
                Recovery::Retry
            }
            StoreError::Full(_)
            | StoreError::Busy(_)
            | StoreError::Refused(_)
            | StoreError::Taken(_)
            | StoreError::Corrupt(_)
            | StoreError::Invalid(_) => {
                if self.log_sampler.allows(step, None, self.clock.now()) {
                    tracing::warn!(step, %error, "store operation failed; retrying");
                }
                Recovery::Retry
            }
        }
    }
}

/// The delays of an exponential backoff.
pub(crate) struct Backoff(Duration);

impl Backoff {
    const FIRST: Duration = Duration::from_millis(50);
    const MAX: Duration = Duration::from_secs(2);

    pub fn new() -> Self {
        Self(Self::FIRST)
    }

    pub async fn wait(&mut self) {
        tokio::time::sleep(self.0).await;
        self.0 = (2 * self.0).min(Self::MAX);
    }
}
