//! A read replica, for lists and statistics, as long as it answers and its lag is small.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use gancho_domain::Time;
use gancho_store::{Result, StoreError};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::{
    rows,
    session::{Session, SessionPool, query_one},
    tx_error::store_error,
};

/// A unique identifier of a database. A standby has that of its primary.
pub(crate) const IDENTITY: &str =
    "select system_identifier::text || ' ' || current_database() from pg_control_system()";

/// Every transaction that accepts or settles writes its time, and every node its heartbeat, by the database's
/// clock.
pub(crate) const LAST_WRITTEN: &str = "
select (extract(epoch from greatest(
    (select max(seen_at) from writers), (select max(beat_at) from nodes))) * 1000000)::int8";

/// Maximum lag, approximately. Nodes write every few seconds, so a lag is visible.
const MAX_LAG: Duration = Duration::from_secs(10);
const INTERVAL: Duration = Duration::from_secs(2);
const HINT: &str = "check database_read_url, and the replication of that server";

pub(crate) struct Replica {
    pool: SessionPool,
    is_usable: AtomicBool,
}

impl Replica {
    /// Compares it with the primary from time to time, until it is stopped.
    pub(crate) fn start(
        pool: SessionPool,
        primary: SessionPool,
        stop: CancellationToken,
    ) -> Arc<Self> {
        let replica = Arc::new(Self { pool, is_usable: AtomicBool::new(true) });
        let watched = replica.clone();
        let watch = async move {
            loop {
                watched.note(watched.check(&primary).await);
                sleep(INTERVAL).await;
            }
        };
        tokio::spawn(stop.run_until_cancelled_owned(watch));
        replica
    }

    /// Returns a session with it, if it is usable.
    pub(crate) async fn session(&self) -> Option<Session> {
        if !self.is_usable.load(Ordering::Relaxed) {
            return None;
        }
        let session = self.pool.get().await;
        if let Err(error) = &session {
            self.note(Err(error.clone()));
        }
        session.ok()
    }

    async fn check(&self, primary: &SessionPool) -> Result<()> {
        // In this order, because a primary that does not answer says nothing about the replica.
        let Ok(written) = last_written(primary).await else { return Ok(()) };
        let replayed = last_written(&self.pool).await?;
        let lag = written
            .zip(replayed)
            .map_or(Duration::ZERO, |(written, replayed)| written.since(replayed));
        if lag > MAX_LAG {
            let text = format!("it is {} s behind the primary", lag.as_secs());
            return Err(StoreError::Unavailable(text));
        }
        Ok(())
    }

    fn note(&self, state: Result<()>) {
        let was_usable = self.is_usable.swap(state.is_ok(), Ordering::Relaxed);
        match state {
            Err(error) if was_usable => {
                tracing::warn!(%error, hint = HINT, "read replica is not usable; reading from the primary");
            }
            Ok(()) if !was_usable => tracing::info!("read replica is usable again"),
            _ => {}
        }
    }
}

/// Refuses a server that is not a replica of this one. Accepts one that does not answer, which may be one.
pub(crate) async fn check_identity(replica: &SessionPool, primary: &SessionPool) -> Result<()> {
    let identity = async |pool: &SessionPool| -> Result<String> {
        let row = query_one(&pool.get().await?, IDENTITY, &[]).await.map_err(store_error)?;
        rows::get(&row, 0)
    };
    match identity(replica).await {
        Ok(found) if found != identity(primary).await? => Err(StoreError::Refused(
            "database_read_url leads to another database than database_url: it must be a physical replica of it"
                .to_owned(),
        )),
        _ => Ok(()),
    }
}

/// Returns the time of the last write, by the primary's clock on both.
async fn last_written(pool: &SessionPool) -> Result<Option<Time>> {
    let row = query_one(&pool.get().await?, LAST_WRITTEN, &[]).await.map_err(store_error)?;
    rows::maybe_time(&row, 0)
}
