//! Moves dead letters from the store to an archive: which are due, their complete data, and their removal
//! once the archive has them.

use async_trait::async_trait;
use gancho_domain::{Attempt, DeliveryId, TenantId, Time};

use crate::{DeadLetter, Result};

/// Which dead letters to archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveSelection {
    /// Dead letters of all tenants that expire by this time.
    Expired(Time),
    /// A tenant's oldest dead letters, in the order in which they were given up, up to and including this
    /// one.
    Overflow(TenantId, Time, DeliveryId),
}

/// A dead letter with its attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullDeadLetter {
    pub letter: DeadLetter,
    /// The attempts, oldest first.
    pub attempts: Vec<Attempt>,
}

impl FullDeadLetter {
    /// Returns how many attempts its delivery has had, including those that were pruned.
    pub fn attempts_made(&self) -> u32 {
        let last = self.attempts.iter().map(|attempt| attempt.number).max();
        last.unwrap_or(0).max(self.letter.failed_attempts)
    }
}

/// A dead letter that the archive has. `moved_at` distinguishes it from a later one of the same delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchivedLetter {
    pub tenant: TenantId,
    pub delivery: DeliveryId,
    pub moved_at: Time,
}

impl From<&DeadLetter> for ArchivedLetter {
    fn from(letter: &DeadLetter) -> Self {
        Self { tenant: letter.tenant, delivery: letter.delivery, moved_at: letter.moved_at }
    }
}

/// The outcome of importing a dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportOutcome {
    /// The delivery is a dead letter again.
    Imported,
    /// The dead letter is in the store already.
    Present,
    /// Its delivery is in the store, and is pending again or was delivered since.
    Revived,
    /// The content of its parcel was erased, and stays erased.
    Erased,
    /// Another delivery or parcel has its id.
    Clash,
}

#[async_trait]
pub trait Archiving: Send + Sync + 'static {
    /// Returns the dead letters beyond `max_per_tenant`, as one selection for each tenant that has more.
    async fn dead_overflow(&self, max_per_tenant: u64) -> Result<Vec<ArchiveSelection>>;

    /// Returns the oldest dead letters of a selection, without those that are being replayed: at most `max`
    /// and about `max_bytes`, but at least one if there is one. Only reads.
    async fn letters_to_archive(
        &self,
        which: ArchiveSelection,
        max: usize,
        max_bytes: usize,
    ) -> Result<Vec<FullDeadLetter>>;

    /// Removes these dead letters and returns how many still existed. A dead letter that was replayed since
    /// then stays, even if it was given up again. The deliveries stay in the log as failed.
    async fn remove_archived(&self, letters: Vec<ArchivedLetter>) -> Result<u64>;

    /// Restores dead letters that have left the store, and returns one outcome for each, in order. They keep
    /// their ids and times, and expire as if they had become dead letters `now`. Writes the parts of a
    /// delivery, its parcel and its attempts that were pruned; if nothing was pruned, only the dead letter.
    async fn import_dead(
        &self,
        letters: Vec<FullDeadLetter>,
        now: Time,
    ) -> Result<Vec<ImportOutcome>>;
}
