//! Archives dead letters that are too old or too many, and then removes them from the store.
//!
//! A dead letter stays in the store until the archive has acknowledged it. A crash between the two steps
//! leaves it in both, and the next round archives it again.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use gancho_domain::{DeliveryId, Lane, TenantId, Time};
use gancho_store::{ArchiveSelection, ArchivedLetter, FullDeadLetter, StoreError};
use tokio::time::Instant;

use crate::{Engine, prune::BREATH};

/// Permanent storage for dead letters.
#[async_trait]
pub trait Archive: Send + Sync + 'static {
    /// Writes dead letters. `Ok` means that all of them are on stable storage; the caller then removes them
    /// from the store. The same dead letter may be written again, unchanged or with later attempts; it
    /// replaces the earlier copy.
    async fn write_letters(&self, letters: &[FullDeadLetter]) -> Result<(), ArchiveError>;

    /// Removes the archived dead letters of these deliveries, and returns how many it removed. `now` is the
    /// time of the removal.
    async fn forget(&self, letters: &[LetterName], now: Time) -> Result<u64, ArchiveError>;
}

/// The parts of an archived dead letter's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LetterName {
    pub tenant: TenantId,
    pub lane: Lane,
    /// The event's type; for a receipt its label.
    pub event_type: Box<str>,
    pub delivery: DeliveryId,
    /// When the delivery was created. It became a dead letter later.
    pub created_at: Time,
}

/// Why the archive did not accept dead letters, in a text for the operator.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct ArchiveError(pub String);

#[derive(Debug, thiserror::Error)]
pub enum ArchiveRunError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}

/// Maximum bytes read at once, so that memory does not grow with the size of dead letters.
const MAX_BYTES: usize = 16 << 20;
const WARN_AFTER: Duration = Duration::from_mins(1);
/// The first round comes after the interval divided by this.
const START_DIVISOR: u32 = 60;

pub(crate) async fn run(engine: Arc<Engine>) {
    if engine.archive.is_none() {
        return;
    }
    // The first round waits, because a node that has just started is busy.
    tokio::time::sleep(engine.limits.upkeep / START_DIVISOR).await;
    let mut warned_at: Option<Instant> = None;
    loop {
        if engine.trusts_clock(engine.clock.now()) {
            let round = engine.archive_once().await;
            let error = match &round {
                Err(ArchiveRunError::Archive(error)) => Some(error.clone()),
                _ => None,
            };
            *engine.archive_error.lock() = error;
            match round {
                Ok(_) => {
                    if warned_at.take().is_some() {
                        tracing::info!("archiving dead letters again");
                    }
                }
                Err(ArchiveRunError::Store(error)) => {
                    engine.recovery_for("archive", engine.membership.last(), &error);
                }
                Err(ArchiveRunError::Archive(error)) => {
                    if warned_at.is_none_or(|at| at.elapsed() >= WARN_AFTER) {
                        warned_at = Some(Instant::now());
                        tracing::warn!(%error, "could not archive dead letters; keeping them in the store");
                    }
                }
            }
        }
        tokio::time::sleep(engine.limits.upkeep).await;
    }
}

impl Engine {
    /// Archives all dead letters that are due, in small steps, and returns how many left the store. Does
    /// nothing without an archive.
    ///
    /// The tenants that have too many take turns, and those that are too old have a turn together, in the order of
    /// their times: a tenant whose dead letters come faster than the archive writes does not delay those of others.
    pub async fn archive_once(&self) -> Result<u64, ArchiveRunError> {
        let Some(archive) = &self.archive else { return Ok(0) };
        let mut left = 0;
        loop {
            let before = left;
            left +=
                self.archive_step(&**archive, ArchiveSelection::Expired(self.clock.now())).await?;
            for beyond in self.store.dead_overflow(self.limits.dead_letters_per_tenant).await? {
                left += self.archive_step(&**archive, beyond).await?;
            }
            if left == before || !self.trusts_clock(self.clock.now()) {
                return Ok(left);
            }
            *self.archive_error.lock() = None;
        }
    }

    /// Returns how many dead letters of a lane this engine has archived.
    pub fn archived(&self, lane: Lane) -> u64 {
        self.archived[lane.index()].get()
    }

    /// Returns the error of the last round of archiving, if it failed.
    pub fn archive_error(&self) -> Option<ArchiveError> {
        self.archive_error.lock().clone()
    }

    /// Archives the oldest of a selection, and returns how many left the store.
    async fn archive_step(
        &self,
        archive: &dyn Archive,
        which: ArchiveSelection,
    ) -> Result<u64, ArchiveRunError> {
        let max = self.limits.upkeep_step;
        let letters = self.store.letters_to_archive(which, max, MAX_BYTES).await?;
        if letters.is_empty() {
            return Ok(0);
        }
        archive.write_letters(&letters).await?;
        for one in &letters {
            self.archived[one.letter.lane.index()].add(1);
        }
        let gone = letters.iter().map(|one| ArchivedLetter::from(&one.letter)).collect();
        // None of them, if another node is archiving or all of them were replayed.
        let gone = self.store.remove_archived(gone).await?;
        tokio::time::sleep(BREATH).await;
        Ok(gone)
    }
}
