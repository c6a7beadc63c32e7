//! Deliveries that were given up, each with its reason: kept, searchable, replayable.

use std::collections::BTreeMap;

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{DeliveryId, Failure, Kind, Lane, Parcel, ParcelId, TenantId, Time};

use crate::{Page, PageRequest, Result, TargetId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    pub delivery: DeliveryId,
    pub lane: Lane,
    pub tenant: TenantId,
    pub target: TargetId,
    pub parcel: ParcelId,
    pub subject: Option<Box<str>>,
    /// The event's type; for a receipt its label.
    pub event_type: Box<str>,
    pub external_id: Option<Box<str>>,
    pub is_test: bool,
    pub original: Bytes,
    pub failed_attempts: u32,
    /// Cannot be blank.
    pub failure: Failure,
    /// When the last attempt failed, or, where it was given up without one, when that was decided.
    pub failed_at: Time,
    pub enqueued_at: Time,
    pub moved_at: Time,
    pub expires_at: Time,
}

impl DeadLetter {
    /// The parcel that it is of, as far as the letter tells.
    pub fn to_parcel(&self) -> Parcel {
        Parcel {
            id: self.parcel,
            tenant: self.tenant,
            kind: Kind::of_lane(self.lane),
            event_type: self.event_type.clone(),
            subject: self.subject.clone(),
            external_id: self.external_id.clone(),
            is_test: self.is_test,
            body: self.original.clone(),
            created_at: self.enqueued_at,
            trace: None,
            erased_at: None,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeadFilter {
    /// One tenant's, or, for the operator, everyone's.
    pub tenant: Option<TenantId>,
    pub delivery: Option<DeliveryId>,
    pub lane: Option<Lane>,
    /// Without a code, and for no single delivery, those that someone canceled are left out: nobody waits for them.
    pub code: Option<String>,
    /// Given up at or after,
    pub since: Option<Time>,
    /// and before.
    pub until: Option<Time>,
    /// Of webhooks, only those whose endpoint exists and is active: others would be given up again at once.
    pub only_sendable: bool,
}

impl DeadFilter {
    /// Whether the stored counts tell how many there are.
    pub fn is_counted(&self) -> bool {
        self.delivery.is_none()
            && self.since.is_none()
            && self.until.is_none()
            && !self.only_sendable
    }

    /// The code that is left out.
    pub fn excluded_code(&self) -> Option<&'static str> {
        (self.code.is_none() && self.delivery.is_none()).then_some("CANCELED")
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeadStats {
    pub total: u64,
    /// When the oldest of them was given up.
    pub oldest: Option<Time>,
    pub by_code: BTreeMap<String, u64>,
    pub by_tenant: BTreeMap<TenantId, u64>,
    pub by_lane: BTreeMap<Lane, u64>,
}

/// What one page of a replay did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplayPage {
    /// The deliveries that are due again, now or when their turn comes.
    pub retried: Vec<(TenantId, DeliveryId)>,
    /// The place where the next page begins; `None` after the last. A page scans a bounded number of rows:
    /// it may replay none and still have a next.
    pub next: Option<[u8; 32]>,
}

#[async_trait]
pub trait DeadLetters: Send + Sync + 'static {
    /// By when they were given up, those being replayed included until they succeed. A page ends after
    /// [`PageRequest::max_bytes`] of bodies, and holds at least one letter if there is one.
    async fn dead_letters(&self, filter: DeadFilter, page: PageRequest)
    -> Result<Page<DeadLetter>>;

    async fn dead_stats(&self, filter: DeadFilter) -> Result<DeadStats>;

    /// How many of all dead letters were given up at or after each of these times.
    async fn dead_since(&self, times: Vec<Time>) -> Result<Vec<u64>>;

    /// Rearms at most `max`, the oldest first, starting at a place. Each goes through its whole plan
    /// again, those that are kept in order when it is their turn; its entry leaves when it is delivered.
    async fn replay_dead(
        &self,
        filter: DeadFilter,
        max: usize,
        after: Option<[u8; 32]>,
        now: Time,
    ) -> Result<ReplayPage>;

    /// Removes at most `max` entries and returns how many. The deliveries stay in the log as failed.
    async fn purge_dead(&self, filter: DeadFilter, max: usize) -> Result<u64>;
}
