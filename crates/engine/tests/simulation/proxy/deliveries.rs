//! Deliveries and events, of a tenant and of all. The engine does not call these methods.

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{
    DeliveryId, Endpoint, EndpointId, EventId, ReplayId, TenantId, TenantScope, Time,
};
use gancho_store::{
    AllTenants, Deliveries, DeliveryCounts, DeliveryFilter, DeliveryRow, DeliveryView, EventFilter,
    EventOutline, EventRow, EventView, NewDelivery, Page, PageRequest, ReplayJob, Result,
    RetryOutcome, Suppression, TenantRow,
};

use super::Proxy;

#[async_trait]
impl Deliveries for Proxy {
    async fn event(&self, scope: TenantScope, id: EventId) -> Result<Option<EventView>> {
        self.inner.event(scope, id).await
    }

    async fn delivery(&self, scope: TenantScope, id: DeliveryId) -> Result<Option<DeliveryView>> {
        self.inner.delivery(scope, id).await
    }

    async fn delivery_owner(&self, id: DeliveryId) -> Result<Option<TenantId>> {
        self.inner.delivery_owner(id).await
    }

    async fn deliveries(
        &self,
        scope: TenantScope,
        filter: DeliveryFilter,
        page: PageRequest,
    ) -> Result<Page<DeliveryRow>> {
        self.inner.deliveries(scope, filter, page).await
    }

    async fn events(
        &self,
        scope: TenantScope,
        filter: EventFilter,
        page: PageRequest,
    ) -> Result<Page<EventRow>> {
        self.inner.events(scope, filter, page).await
    }

    async fn event_outlines(
        &self,
        scope: TenantScope,
        ids: Vec<EventId>,
    ) -> Result<Vec<EventOutline>> {
        self.inner.event_outlines(scope, ids).await
    }

    async fn body_prefixes(
        &self,
        scope: TenantScope,
        ids: Vec<EventId>,
        max_bytes: usize,
    ) -> Result<Vec<(EventId, Bytes)>> {
        self.inner.body_prefixes(scope, ids, max_bytes).await
    }

    async fn redeliver(
        &self,
        scope: TenantScope,
        event: EventId,
        deliveries: Vec<NewDelivery>,
    ) -> Result<bool> {
        self.inner.redeliver(scope, event, deliveries).await
    }

    async fn retry_now(
        &self,
        scope: TenantScope,
        id: DeliveryId,
        now: Time,
    ) -> Result<RetryOutcome> {
        self.inner.retry_now(scope, id, now).await
    }

    async fn cancel(&self, scope: TenantScope, ids: Vec<DeliveryId>, now: Time) -> Result<u64> {
        self.inner.cancel(scope, ids, now).await
    }

    async fn retry_now_in_order(
        &self,
        scope: TenantScope,
        ids: Vec<DeliveryId>,
        now: Time,
    ) -> Result<Vec<RetryOutcome>> {
        self.inner.retry_now_in_order(scope, ids, now).await
    }

    async fn count_deliveries(
        &self,
        deliveries: Vec<(TenantId, DeliveryId)>,
    ) -> Result<DeliveryCounts> {
        self.inner.count_deliveries(deliveries).await
    }
}

#[async_trait]
impl AllTenants for Proxy {
    async fn all_deliveries(
        &self,
        filter: DeliveryFilter,
        page: PageRequest,
    ) -> Result<Page<TenantRow<DeliveryRow>>> {
        self.inner.all_deliveries(filter, page).await
    }

    async fn all_events(
        &self,
        filter: EventFilter,
        page: PageRequest,
    ) -> Result<Page<TenantRow<EventRow>>> {
        self.inner.all_events(filter, page).await
    }

    async fn all_endpoints(&self, before: Option<EndpointId>, max: usize) -> Result<Vec<Endpoint>> {
        self.inner.all_endpoints(before, max).await
    }

    async fn all_suppressions(
        &self,
        after: Option<(TenantId, String)>,
        max: usize,
    ) -> Result<Vec<TenantRow<Suppression>>> {
        self.inner.all_suppressions(after, max).await
    }

    async fn all_replays(&self, before: Option<ReplayId>, max: usize) -> Result<Vec<ReplayJob>> {
        self.inner.all_replays(before, max).await
    }

    async fn external_id_owners(&self, external_id: &str, max: usize) -> Result<Vec<TenantId>> {
        self.inner.external_id_owners(external_id, max).await
    }

    async fn event_owner(&self, id: EventId) -> Result<Option<TenantId>> {
        self.inner.event_owner(id).await
    }

    async fn endpoint_owner(&self, id: EndpointId) -> Result<Option<TenantId>> {
        self.inner.endpoint_owner(id).await
    }
}
