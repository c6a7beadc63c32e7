//! Lists over all tenants, newest first, and the owners of rows. For the operator alone: nothing here takes a
//! scope.

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
    /// Returns deliveries of all tenants, newest first in any order of the request. `event` and `external_id`
    /// must not be set, because deliveries of an event or an external id belong to a tenant, see
    /// [`AllTenants::event_owner`].
    async fn all_deliveries(
        &self,
        filter: DeliveryFilter,
        page: PageRequest,
    ) -> Result<Page<TenantRow<DeliveryRow>>>;

    /// Returns events of all tenants, newest first in any order of the request. `external_id` must not be
    /// set.
    async fn all_events(
        &self,
        filter: EventFilter,
        page: PageRequest,
    ) -> Result<Page<TenantRow<EventRow>>>;

    /// Returns at most `max` endpoints of all tenants, newest first, before `before`.
    async fn all_endpoints(&self, before: Option<EndpointId>, max: usize) -> Result<Vec<Endpoint>>;

    /// Returns at most `max` suppressed addresses of all tenants, by tenant and address (compared as bytes),
    /// after `after`.
    async fn all_suppressions(
        &self,
        after: Option<(TenantId, String)>,
        max: usize,
    ) -> Result<Vec<TenantRow<Suppression>>>;

    /// Returns at most `max` replays of all tenants and of the operator, newest first, before `before`.
    async fn all_replays(&self, before: Option<ReplayId>, max: usize) -> Result<Vec<ReplayJob>>;

    /// Returns at most `max` tenants that have an event or an e-mail with this external id, in no particular
    /// order.
    async fn external_id_owners(&self, external_id: &str, max: usize) -> Result<Vec<TenantId>>;

    /// Returns the tenant of an event or another parcel.
    async fn event_owner(&self, id: EventId) -> Result<Option<TenantId>>;

    /// Returns the tenant of an endpoint.
    async fn endpoint_owner(&self, id: EndpointId) -> Result<Option<TenantId>>;
}
