//! Sends messages, each channel by itself, and stores what is unsent.

use futures_util::future::join_all;
use gancho_store::{Result, StoreError};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::AlertService;
use crate::{Channel, records};

impl AlertService {
    pub(super) async fn send_until(&self, channel: &dyn Channel, stop: &CancellationToken) {
        while timeout(self.tick(), stop.cancelled()).await.is_err() {
            self.send_due_to(channel).await;
        }
    }

    /// Stores what is unsent when that has changed. Apart from sending, which must not wait for the store.
    pub(super) async fn store_until(&self, stop: &CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.outbox_changed.notified() => note_unstored(self.store_unsent().await),
            }
        }
    }

    /// Sends what is due, to all channels side by side.
    pub async fn send_due(&self) {
        join_all(self.setup.channels.iter().map(|channel| self.send_due_to(&**channel))).await;
        note_unstored(self.store_unsent().await);
    }

    /// Sends what is due in a channel. A message that fails is retried later and delays no other.
    async fn send_due_to(&self, channel: &dyn Channel) {
        let due = self.outbox.lock().due(channel, Instant::now());
        for unsent in due {
            let current = self.outbox.lock().start(&unsent);
            if let Some(message) = current {
                match channel.send(&message).await {
                    Ok(()) => {
                        self.outbox.lock().remove(&unsent);
                        let count = message.changes.len();
                        tracing::info!(channel = channel.name(), count, "alert sent");
                    }
                    Err(error) => {
                        let attempt = unsent.attempts + 1;
                        let is_last = !self.outbox.lock().put_back(&unsent, Instant::now());
                        let channel = channel.name();
                        tracing::warn!(channel, error, attempt, is_last, "could not send an alert");
                    }
                }
            }
            self.outbox_changed.notify_one();
        }
    }

    /// Stores unsent messages, so that another node can send them.
    pub(super) async fn store_unsent(&self) -> Result<()> {
        let _storing = self.storing.lock().await;
        if !self.memory.lock().is_holder {
            return Ok(());
        }
        let unsent = {
            let mut outbox = self.outbox.lock();
            if !std::mem::take(&mut outbox.is_changed) {
                return Ok(());
            }
            outbox.stored()
        };
        let stored = records::write_unsent(&*self.setup.store, &unsent).await;
        if stored.is_err() {
            self.outbox.lock().is_changed = true;
        }
        stored
    }
}

/// Logs that state could not be stored. A full or unavailable store has its own alert, so it is not logged here.
pub(super) fn note_unstored(stored: Result<()>) {
    match stored {
        Ok(())
        | Err(StoreError::Full(_) | StoreError::Unavailable(_) | StoreError::TimedOut(_)) => {}
        Err(error) => tracing::warn!(%error, "could not store alerts"),
    }
}
