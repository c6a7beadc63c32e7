//! Deliveries that were given up, each with its reason: stored, searchable, replayable.

use std::collections::BTreeMap;

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{DeliveryId, Failure, Lane, Parcel, ParcelId, ParcelKind, TenantId, Time};

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
    /// The failure, which always has a reason.
    pub failure: Failure,
    /// When the last attempt failed, or, if it was given up without one, when that was decided.
    pub failed_at: Time,
    pub enqueued_at: Time,
    pub moved_at: Time,
    pub expires_at: Time,
}

impl DeadLetter {
    /// Returns its parcel, as far as the dead letter has the data.
    pub fn to_parcel(&self) -> Parcel {
        Parcel {
            id: self.parcel,
            tenant: self.tenant,
            kind: ParcelKind::of_lane(self.lane),
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
    /// One tenant's, or for the operator those of all tenants.
    pub tenant: Option<TenantId>,
    pub delivery: Option<DeliveryId>,
    pub lane: Option<Lane>,
    /// Only those with this code. Without a code, and if no single delivery is named, canceled ones are left
    /// out: they need nobody's attention.
    pub code: Option<String>,
    /// Given up at or after this time.
    pub since: Option<Time>,
    /// Given up before this time.
    pub until: Option<Time>,
    /// Of webhooks, only those whose endpoint exists and is active: others would be given up again at once.
    pub only_sendable: bool,
}

impl DeadFilter {
    /// Whether the stored counts have the number.
    pub fn is_counted(&self) -> bool {
        self.delivery.is_none()
            && self.since.is_none()
            && self.until.is_none()
            && !self.only_sendable
    }

    /// Returns the code that is left out.
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

/// The result of one page of a replay.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplayPage {
    /// The deliveries that are due again, now or when it is their turn.
    pub retried: Vec<(TenantId, DeliveryId)>,
    /// The position of the next page; `None` after the last. A page scans a bounded number of rows: it may
    /// replay none and still have a next one.
    pub next: Option<[u8; 32]>,
}

#[async_trait]
pub trait DeadLetters: Send + Sync + 'static {
    /// Returns a page of dead letters in the order in which they were given up, including those being
    /// replayed until they succeed. A page ends after [`PageRequest::max_bytes`] of bodies, and has at least
    /// one dead letter if there is one.
    async fn dead_letters(&self, filter: DeadFilter, page: PageRequest)
    -> Result<Page<DeadLetter>>;

    async fn dead_stats(&self, filter: DeadFilter) -> Result<DeadStats>;

    /// Returns how many of all dead letters were given up at or after each of these times.
    async fn dead_since(&self, times: Vec<Time>) -> Result<Vec<u64>>;

    /// Retries at most `max` dead letters, oldest first, from a position on. Each starts its plan over,
    /// ordered ones when it is their turn. The dead letter is removed when it is delivered.
    async fn replay_dead(
        &self,
        filter: DeadFilter,
        max: usize,
        after: Option<[u8; 32]>,
        now: Time,
    ) -> Result<ReplayPage>;

    /// Removes at most `max` dead letters and returns how many. The deliveries stay in the log as failed.
    async fn purge_dead(&self, filter: DeadFilter, max: usize) -> Result<u64>;
}
