//! Reads the log of deliveries, and retries and redelivers.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{
    Attempt, DeliveryId, EndpointId, EventId, Failure, Lane, Parcel, ParcelId, ParcelKind, State,
    Status, TenantId, TenantScope, Time,
};

use crate::{NewDelivery, Page, PageRequest, Result, TargetId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRow {
    pub id: DeliveryId,
    pub lane: Lane,
    pub target: TargetId,
    pub event: EventId,
    pub event_type: Box<str>,
    pub external_id: Option<Box<str>>,
    pub is_test: bool,
    pub state: State,
    pub attempts: u32,
    /// The status of the last attempt's response.
    pub response_status: Option<u16>,
    /// Why it was given up, or else why the last attempt failed.
    pub last_failure: Option<Failure>,
    /// When it may be tried, or might have been.
    pub due_at: Time,
    /// The time by the plan, before jitter; `None` once it has ended.
    pub next_retry_at: Option<Time>,
    /// When the last attempt got its response: its start and its latency.
    pub delivered_at: Option<Time>,
    /// When it was given up: when its last attempt failed, or, if it ended without one, when that was
    /// decided.
    pub failed_at: Option<Time>,
    pub created_at: Time,
}

impl DeliveryRow {
    pub fn status(&self) -> Status {
        Status::of(self.state, self.attempts)
    }
}

/// The states of some deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeliveryCounts {
    pub delivered: u64,
    pub failed: u64,
    /// Pending, in flight, or waiting for an earlier one of their subject.
    pub waiting: u64,
}

impl DeliveryCounts {
    pub fn add(&mut self, state: State, count: u64) {
        match state {
            State::Delivered => self.delivered += count,
            State::Dead => self.failed += count,
            State::Pending | State::Leased | State::Waiting => self.waiting += count,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryView {
    pub row: DeliveryRow,
    pub parcel: Arc<Parcel>,
    pub number: Option<u64>,
    /// The attempts, oldest first.
    pub attempts: Vec<Attempt>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventView {
    pub parcel: Arc<Parcel>,
    pub number: Option<u64>,
    pub deliveries: Vec<DeliveryRow>,
    /// For a receipt, what [`crate::LedgerReceipt::request`] had.
    pub request: Option<Bytes>,
}

/// Maximum deliveries that a call cancels, so that no other writer waits long.
pub const MAX_CANCELED: usize = 100;

/// Maximum bytes of a body that are searched for a text.
pub const MAX_SEARCHED_BYTES: usize = 64 << 10;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeliveryFilter {
    pub lane: Option<Lane>,
    pub endpoint: Option<EndpointId>,
    pub status: Option<Status>,
    pub event_type: Option<String>,
    /// The beginning of its event type, such as `invoice.`
    pub event_type_prefix: Option<String>,
    pub event: Option<EventId>,
    pub external_id: Option<String>,
    pub subject: Option<String>,
    /// The code of [`DeliveryRow::last_failure`].
    pub error_code: Option<String>,
    /// The status of the last attempt's response.
    pub response_status: Option<u16>,
    /// A text that occurs in the first [`MAX_SEARCHED_BYTES`] of its parcel's body, byte for byte.
    pub text: Option<String>,
    /// Created at or after this time.
    pub since: Option<Time>,
    /// Created before this time.
    pub until: Option<Time>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// The kind of parcels. Default: events.
    pub kind: ParcelKind,
    pub event_type: Option<String>,
    pub external_id: Option<String>,
    /// Only events that matched no endpoint.
    pub is_unmatched: bool,
    /// Published at or after this time.
    pub since: Option<Time>,
    /// Published before this time.
    pub until: Option<Time>,
}

/// An event in a list, without its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    pub id: EventId,
    pub event_type: Box<str>,
    pub subject: Option<Box<str>>,
    pub external_id: Option<Box<str>>,
    pub number: Option<u64>,
    pub is_test: bool,
    /// The number of its deliveries.
    pub deliveries: u64,
    pub created_at: Time,
}

/// An event without its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventOutline {
    pub row: EventRow,
    /// The size of the data in bytes.
    pub size: usize,
    pub deliveries: Vec<DeliveryRow>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryOutcome {
    /// It is due now, or when it is its turn.
    Due,
    /// An attempt is in flight.
    InFlight,
    Unknown,
}

#[async_trait]
pub trait Deliveries: Send + Sync + 'static {
    async fn event(&self, scope: TenantScope, id: EventId) -> Result<Option<EventView>>;

    async fn delivery(&self, scope: TenantScope, id: DeliveryId) -> Result<Option<DeliveryView>>;

    /// Returns the tenant of a delivery. For the operator, who may read those of all tenants.
    async fn delivery_owner(&self, id: DeliveryId) -> Result<Option<TenantId>>;

    /// Returns a page of deliveries in the order of their ids; if filtered by `external_id`, by event, and
    /// within it by delivery.
    async fn deliveries(
        &self,
        scope: TenantScope,
        filter: DeliveryFilter,
        page: PageRequest,
    ) -> Result<Page<DeliveryRow>>;

    /// Returns a page of events in the order of their ids.
    async fn events(
        &self,
        scope: TenantScope,
        filter: EventFilter,
        page: PageRequest,
    ) -> Result<Page<EventRow>>;

    /// Returns events without their data, which is not read: for lists that do not show it. In the order of
    /// `ids`, without unknown ids.
    async fn event_outlines(
        &self,
        scope: TenantScope,
        ids: Vec<EventId>,
    ) -> Result<Vec<EventOutline>>;

    /// Returns the first `max_bytes` bytes of each parcel's body: for lists that show a small part of large
    /// bodies. In the order of `ids`, without unknown ids.
    async fn body_prefixes(
        &self,
        scope: TenantScope,
        ids: Vec<ParcelId>,
        max_bytes: usize,
    ) -> Result<Vec<(ParcelId, Bytes)>>;

    /// Delivers a stored event to more targets. None of the deliveries is leased, and ordered ones take their
    /// turn by the event's number. A target that already has a delivery of it gets another. Returns false if
    /// there is no such event, or if its content was erased.
    async fn redeliver(
        &self,
        scope: TenantScope,
        event: EventId,
        deliveries: Vec<NewDelivery>,
    ) -> Result<bool>;

    /// Makes a delivery due now, whatever its state; one that has ended starts its plan over. An ordered one
    /// does not wait for its turn.
    async fn retry_now(
        &self,
        scope: TenantScope,
        id: DeliveryId,
        now: Time,
    ) -> Result<RetryOutcome>;

    /// Gives up those of the deliveries that no node holds, as dead letters with the code `CANCELED`. Returns
    /// how many. Callers pass at most [`MAX_CANCELED`].
    async fn cancel(&self, scope: TenantScope, ids: Vec<DeliveryId>, now: Time) -> Result<u64>;

    /// Makes deliveries due now that have ended or wait for their retry. Ordered ones wait for their turn, by
    /// the numbers of their parcels. Returns one outcome for each, in the order of `ids`.
    async fn retry_now_in_order(
        &self,
        scope: TenantScope,
        ids: Vec<DeliveryId>,
        now: Time,
    ) -> Result<Vec<RetryOutcome>>;

    /// Counts deliveries, of any tenants, by their current state. Pruned ones are not counted.
    async fn count_deliveries(
        &self,
        deliveries: Vec<(TenantId, DeliveryId)>,
    ) -> Result<DeliveryCounts>;
}
