//! Lists over all tenants, newest first, and whose a thing is. For the operator alone: nothing here takes a scope.

use async_trait::async_trait;
use gancho_domain::{Endpoint, EndpointId, EventId, ReplayId, TenantId};

use crate::{
    DeliveryFilter, DeliveryRow, EventFilter, EventRow, Page, PageRequest, ReplayJob, Result,
    Suppression,
};

/// A row of a list over all tenants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantRow<T> {
    pub tenant: TenantId,
    pub row: T,
}

#[async_trait]
pub trait AllTenants: Send + Sync + 'static {
    /// Deliveries of all tenants, newest first whatever order is asked for. Those of one event or of one external id
    /// belong to a tenant: `event` and `external_id` must not be set, see [`AllTenants::event_owner`].
    async fn all_deliveries(
        &self,
        filter: DeliveryFilter,
        page: PageRequest,
    ) -> Result<Page<TenantRow<DeliveryRow>>>;

    /// Events of all tenants, newest first whatever order is asked for. `external_id` must not be set.
    async fn all_events(
        &self,
        filter: EventFilter,
        page: PageRequest,
    ) -> Result<Page<TenantRow<EventRow>>>;

    /// At most `max` endpoints of all tenants, newest first, before `before`.
    async fn all_endpoints(&self, before: Option<EndpointId>, max: usize) -> Result<Vec<Endpoint>>;

    /// At most `max` suppressed addresses of all tenants, by tenant and address (compared as bytes), after `after`.
    async fn all_suppressions(
        &self,
        after: Option<(TenantId, String)>,
        max: usize,
    ) -> Result<Vec<TenantRow<Suppression>>>;

    /// At most `max` replays of all tenants and of the operator, newest first, before `before`.
    async fn all_replays(&self, before: Option<ReplayId>, max: usize) -> Result<Vec<ReplayJob>>;

    /// At most `max` tenants that have an event or an e-mail with this external id, in no order.
    async fn external_id_owners(&self, external_id: &str, max: usize) -> Result<Vec<TenantId>>;

    /// The tenant of an event, or of another parcel.
    async fn event_owner(&self, id: EventId) -> Result<Option<TenantId>>;

    /// The tenant of an endpoint.
    async fn endpoint_owner(&self, id: EndpointId) -> Result<Option<TenantId>>;
}
