//! Dead letters on their way out of the store: which are to leave, all that is known of them, and that
//! they have left. Between the second and the third they are put where they are kept for good.

use async_trait::async_trait;
use gancho_domain::{Attempt, DeliveryId, TenantId, Time};

use crate::{DeadLetter, Result};

/// Which dead letters are to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    /// Those whose time is over by then, everyone's.
    Expired(Time),
    /// A tenant's oldest, up to this one: when it was given up, and which it is.
    Overflow(TenantId, Time, DeliveryId),
}

/// A dead letter with all that is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeLetter {
    pub letter: DeadLetter,
    /// The event's type; for a receipt its label.
    pub event_type: Box<str>,
    pub external_id: Option<Box<str>>,
    pub is_test: bool,
    /// Oldest first.
    pub attempts: Vec<Attempt>,
}

/// One that may go. It is told from a later one of the same delivery by when it was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    pub tenant: TenantId,
    pub delivery: DeliveryId,
    pub moved_at: Time,
}

impl From<&DeadLetter> for Left {
    fn from(letter: &DeadLetter) -> Self {
        Self { tenant: letter.tenant, delivery: letter.delivery, moved_at: letter.moved_at }
    }
}

#[async_trait]
pub trait Leave: Send + Sync + 'static {
    /// One for each tenant that has more than so many, for those beyond.
    async fn dead_overflow(&self, most_per_tenant: u64) -> Result<Vec<Leaving>>;

    /// Oldest first, without those that are being replayed: at most so many and not many more bytes
    /// than that, but always one if there is one. It only reads.
    async fn dead_leaving(
        &self,
        which: Leaving,
        most: usize,
        most_bytes: usize,
    ) -> Result<Vec<WholeLetter>>;

    /// Removes these entries and says how many were still there. One that was replayed since then
    /// stays, also if it was given up again. The deliveries stay in the log as failed.
    async fn dead_left(&self, letters: Vec<Left>) -> Result<u64>;
}
