//! Reading the log of deliveries, retrying and redelivering.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{
    Attempt, DeliveryId, EndpointId, EventId, Failure, Kind, Lane, Parcel, ParcelId, State, Status,
    TenantId, TenantScope, Time,
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
    /// Of the last attempt.
    pub response_status: Option<u16>,
    /// Why it was given up, or else of the last attempt.
    pub last_failure: Option<Failure>,
    /// When it may be tried, or might have been.
    pub due_at: Time,
    /// As the plan says it, before jitter; nothing once it has ended.
    pub next_retry_at: Option<Time>,
    /// When the last attempt was answered: its start and its latency.
    pub delivered_at: Option<Time>,
    /// When it was given up: when its last attempt failed, or, where it ended without one, when that was
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
pub struct DeliveryTally {
    pub delivered: u64,
    pub failed: u64,
    /// Pending, in flight, or behind another of their subject.
    pub waiting: u64,
}

impl DeliveryTally {
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
    /// Oldest first.
    pub attempts: Vec<Attempt>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventView {
    pub parcel: Arc<Parcel>,
    pub number: Option<u64>,
    pub deliveries: Vec<DeliveryRow>,
    /// What [`crate::LedgerReceipt::request`] was given, where it was received.
    pub request: Option<Bytes>,
}

/// How much of a body is searched for a text.
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
    /// Of the last attempt.
    pub response_status: Option<u16>,
    /// Occurs in the first [`MAX_SEARCHED_BYTES`] of its parcel's body, byte for byte.
    pub text: Option<String>,
    /// Made at or after,
    pub since: Option<Time>,
    /// and before.
    pub until: Option<Time>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Events, where nothing else is asked for.
    pub kind: Kind,
    pub event_type: Option<String>,
    pub external_id: Option<String>,
    /// Only those that matched no endpoint.
    pub is_unmatched: bool,
    /// Published at or after,
    pub since: Option<Time>,
    /// and before.
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
    /// How many it has.
    pub deliveries: u64,
    pub created_at: Time,
}

/// An event without its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventOutline {
    pub row: EventRow,
    /// Bytes of data.
    pub size: usize,
    pub deliveries: Vec<DeliveryRow>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryOutcome {
    /// It is due now, or as soon as it is its turn.
    Due,
    /// It is being tried at this moment.
    InFlight,
    Unknown,
}

#[async_trait]
pub trait Deliveries: Send + Sync + 'static {
    async fn event(&self, scope: TenantScope, id: EventId) -> Result<Option<EventView>>;

    async fn delivery(&self, scope: TenantScope, id: DeliveryId) -> Result<Option<DeliveryView>>;

    /// The tenant of a delivery. For the operator, who may read those of all tenants.
    async fn delivery_owner(&self, id: DeliveryId) -> Result<Option<TenantId>>;

    /// In the order of their ids; if filtered by `external_id`, by event, and within it by delivery.
    async fn deliveries(
        &self,
        scope: TenantScope,
        filter: DeliveryFilter,
        page: PageRequest,
    ) -> Result<Page<DeliveryRow>>;

    /// In the order of their ids.
    async fn events(
        &self,
        scope: TenantScope,
        filter: EventFilter,
        page: PageRequest,
    ) -> Result<Page<EventRow>>;

    /// Events without their data, which is not read: for lists that do not show it. In the order of `ids`;
    /// unknown ids are left out.
    async fn event_outlines(
        &self,
        scope: TenantScope,
        ids: Vec<EventId>,
    ) -> Result<Vec<EventOutline>>;

    /// The first `max_bytes` bytes of each parcel's body: for lists that show a little of what may be
    /// large. In the order of `ids`; unknown ids are left out.
    async fn body_prefixes(
        &self,
        scope: TenantScope,
        ids: Vec<ParcelId>,
        max_bytes: usize,
    ) -> Result<Vec<(ParcelId, Bytes)>>;

    /// Delivers a stored event to more targets: none of the deliveries is leased, and those that are kept
    /// in order take their turn by the event's number. A target that has a delivery of it gets another.
    /// Returns false if there is no such event, or if its content was erased.
    async fn redeliver(
        &self,
        scope: TenantScope,
        event: EventId,
        deliveries: Vec<NewDelivery>,
    ) -> Result<bool>;

    /// Makes a delivery due now, whatever its state; one that has ended starts its plan over. One that is
    /// kept in order does not wait for its turn.
    async fn retry_now(
        &self,
        scope: TenantScope,
        id: DeliveryId,
        now: Time,
    ) -> Result<RetryOutcome>;

    /// Gives up those of the deliveries that no node holds, as dead letters with the code `CANCELED`. Returns how
    /// many.
    async fn cancel(&self, scope: TenantScope, ids: Vec<DeliveryId>, now: Time) -> Result<u64>;

    /// Makes deliveries due now that have ended or wait for their retry. Ordered ones wait
    /// for their turn, by the numbers of their parcels. Answers in the order of `ids`.
    async fn retry_now_in_order(
        &self,
        scope: TenantScope,
        ids: Vec<DeliveryId>,
        now: Time,
    ) -> Result<Vec<RetryOutcome>>;

    /// Counts deliveries, of any tenants, by their current state. Those that were pruned are not counted.
    async fn tally(&self, deliveries: Vec<(TenantId, DeliveryId)>) -> Result<DeliveryTally>;
}
