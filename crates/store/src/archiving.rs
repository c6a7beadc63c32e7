//! Moving dead letters from the store to an archive: which are due, all that is known of them, and their
//! removal once the archive has them.

use async_trait::async_trait;
use gancho_domain::{Attempt, DeliveryId, TenantId, Time};

use crate::{DeadLetter, Result};

/// Which dead letters to archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveSelection {
    /// Those that expire by then, of all tenants.
    Expired(Time),
    /// A tenant's oldest, up to and including this one, by when it was given up.
    Overflow(TenantId, Time, DeliveryId),
}

/// A dead letter with its attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullDeadLetter {
    pub letter: DeadLetter,
    /// Oldest first.
    pub attempts: Vec<Attempt>,
}

impl FullDeadLetter {
    /// How many attempts its delivery has behind it, those that are not known any more included.
    pub fn attempts_made(&self) -> u32 {
        let last = self.attempts.iter().map(|attempt| attempt.number).max();
        last.unwrap_or(0).max(self.letter.failed_attempts)
    }
}

/// A dead letter that the archive has. `moved_at` tells it from a later one of the same delivery.
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
    /// It is a dead letter again.
    Imported,
    /// It is in the store already.
    Present,
    /// Its delivery is in the store, and is due again or was delivered since.
    Revived,
    /// The content of its parcel was erased, and stays so.
    Erased,
    /// Another delivery or parcel has its id.
    Clash,
}

#[async_trait]
pub trait Archiving: Send + Sync + 'static {
    /// One selection for each tenant that has more than `max_per_tenant`, for those beyond.
    async fn dead_overflow(&self, max_per_tenant: u64) -> Result<Vec<ArchiveSelection>>;

    /// Oldest first, without those that are being replayed: at most `max` and not many more bytes than
    /// `max_bytes`, but always one if there is one. It only reads.
    async fn letters_to_archive(
        &self,
        which: ArchiveSelection,
        max: usize,
        max_bytes: usize,
    ) -> Result<Vec<FullDeadLetter>>;

    /// Removes these dead letters and returns how many were still there. One that was replayed since then
    /// stays, also if it was given up again. The deliveries stay in the log as failed.
    async fn remove_archived(&self, letters: Vec<ArchivedLetter>) -> Result<u64>;

    /// Brings dead letters back that have left the store, and returns one outcome for each, in order. They keep their
    /// ids and times, and expire as if they had become dead letters `now`. What has been pruned of a delivery, its
    /// parcel and its attempts is written again; of others only the dead letter.
    async fn import_dead(
        &self,
        letters: Vec<FullDeadLetter>,
        now: Time,
    ) -> Result<Vec<ImportOutcome>>;
}
