//! Deliveries that cannot be written, because their database does not answer. They stay in memory until it does, so
//! that no result is lost; where other tenants live in other databases, they leave their seats to these.

use std::{pin::pin, time::Duration};

use crate::{Engine, lane::Ticket};

/// How long a delivery waits for its database before it is set aside.
const PATIENCE: Duration = Duration::from_secs(2);

impl Engine {
    /// Finishes what is written last of these deliveries.
    pub(crate) async fn write_last<T>(
        &self,
        tickets: &[Ticket],
        work: impl Future<Output = T>,
    ) -> T {
        let has_shards = |ticket: &Ticket| self.store.shard(ticket.job.tenant).is_some();
        if !tickets.first().is_some_and(has_shards) {
            return work.await;
        }
        let mut work = pin!(work);
        if let Ok(done) = tokio::time::timeout(PATIENCE, work.as_mut()).await {
            return done;
        }
        tickets.iter().for_each(Ticket::set_aside);
        work.await
    }
}
