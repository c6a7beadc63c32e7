//! Writes the counts, every few seconds and when the engine stops.

use std::sync::Arc;

use gancho_store::{MinuteFigures, Result, StatisticsBatch, statistics::MAX_BATCH};

use crate::{Engine, prune::BREATH};

pub(crate) async fn run(engine: Arc<Engine>) {
    loop {
        tokio::time::sleep(engine.limits.statistics_flush).await;
        if let Err(error) = engine.flush_statistics().await {
            engine.recovery_for("statistics", engine.membership.last(), &error);
        }
    }
}

impl Engine {
    /// Writes everything that was counted since the last write, in small steps.
    pub async fn flush_statistics(&self) -> Result<()> {
        let _turn = self.statistics.flushing.lock().await;
        let mut outcome = Ok(());
        for (key, rows) in self.statistics.take_changed() {
            let written = match outcome {
                Ok(()) => self.write_minute(key.0, &rows).await,
                Err(_) => outcome.clone(),
            };
            if written.is_err() {
                self.statistics.put_back(key);
                outcome = written;
            }
        }
        self.statistics.forget_written();
        outcome
    }

    async fn write_minute(&self, part: u32, rows: &[MinuteFigures]) -> Result<()> {
        for (step, some) in rows.chunks(MAX_BATCH).enumerate() {
            if step > 0 {
                tokio::time::sleep(BREATH).await;
            }
            let batch = StatisticsBatch { node: self.first_node, part, rows: some.to_vec() };
            self.store.write_statistics(batch, self.clock.now()).await?;
        }
        Ok(())
    }
}
