//! A lock for each replay, held while a page of it is sent and recorded, so that a cancellation takes effect
//! before or after the page.

use std::{collections::HashMap, sync::Arc};

use gancho_domain::ReplayId;
use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

#[derive(Default)]
pub(super) struct PageLocks(Mutex<HashMap<ReplayId, Arc<tokio::sync::Mutex<()>>>>);

impl PageLocks {
    pub async fn lock(&self, replay: ReplayId) -> OwnedMutexGuard<()> {
        let lock = {
            let mut locks = self.0.lock();
            // Removes locks that no task holds or waits for.
            locks.retain(|_, lock| Arc::strong_count(lock) > 1);
            locks.entry(replay).or_default().clone()
        };
        lock.lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_replay_waits_for_itself_and_for_no_other() {
        let locks = PageLocks::default();
        let [one, other] = [1, 2].map(ReplayId::from_bits);
        let page = locks.lock(one).await;
        let mut cancellation = Box::pin(locks.lock(one));
        assert!(cancellation.as_mut().now_or_never().is_none());
        let others = locks.lock(other).now_or_never();
        assert!(others.is_some());
        drop((page, others));
        drop(cancellation.await);
        drop(locks.lock(other).await);
        assert_eq!(locks.0.lock().len(), 1, "nothing is kept of those that have ended");
    }
}
