//! What belongs to one tenant: it is all in the tenant's cell.

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{
    DeliveryId, EmailId, Endpoint, EndpointId, EventId, ParcelId, TenantId, TenantScope, Time,
};
use gancho_store::{
    AcceptOutcome, Deliveries, DeliveryCounts, DeliveryFilter, DeliveryRow, DeliveryView,
    EmailReport, EmailReports, Endpoints, EventFilter, EventOutline, EventRow, EventView,
    FailedEmails, NewDelivery, NewEmailReport, NewSuppression, Page, PageRequest, PlanCharge,
    Result, RetryOutcome, Suppression, Suppressions, Usage,
};

use crate::{CellStore, accept::CellBatch, in_cell, long_in_cell};

#[async_trait]
impl Endpoints for CellStore {
    async fn add_endpoint(
        &self,
        scope: TenantScope,
        endpoint: Endpoint,
        max_endpoints: Option<u32>,
    ) -> Result<bool> {
        in_cell!(self, scope.tenant(), |store| store.add_endpoint(scope, endpoint, max_endpoints))
    }

    async fn change_endpoint(&self, scope: TenantScope, endpoint: Endpoint) -> Result<bool> {
        in_cell!(self, scope.tenant(), |store| store.change_endpoint(scope, endpoint))
    }

    async fn save_endpoint(&self, scope: TenantScope, endpoint: Endpoint) -> Result<()> {
        in_cell!(self, scope.tenant(), |store| store.save_endpoint(scope, endpoint))
    }

    async fn endpoint(&self, scope: TenantScope, id: EndpointId) -> Result<Option<Endpoint>> {
        in_cell!(self, scope.tenant(), |store| store.endpoint(scope, id))
    }

    async fn endpoint_by_external_id(
        &self,
        scope: TenantScope,
        external_id: &str,
    ) -> Result<Option<Endpoint>> {
        in_cell!(self, scope.tenant(), |store| store.endpoint_by_external_id(scope, external_id))
    }

    async fn endpoints(&self, scope: TenantScope) -> Result<Vec<Endpoint>> {
        long_in_cell!(self, scope.tenant(), |store| store.endpoints(scope))
    }

    async fn newest_endpoints(
        &self,
        scope: TenantScope,
        before: Option<EndpointId>,
        max: usize,
    ) -> Result<Vec<Endpoint>> {
        long_in_cell!(self, scope.tenant(), |store| store.newest_endpoints(scope, before, max))
    }

    async fn endpoints_version(&self, scope: TenantScope) -> Result<u64> {
        in_cell!(self, scope.tenant(), |store| store.endpoints_version(scope))
    }

    async fn delete_endpoint(&self, scope: TenantScope, id: EndpointId) -> Result<bool> {
        in_cell!(self, scope.tenant(), |store| store.delete_endpoint(scope, id))
    }
}

#[async_trait]
impl Deliveries for CellStore {
    async fn event(&self, scope: TenantScope, id: EventId) -> Result<Option<EventView>> {
        in_cell!(self, scope.tenant(), |store| store.event(scope, id))
    }

    async fn delivery(&self, scope: TenantScope, id: DeliveryId) -> Result<Option<DeliveryView>> {
        in_cell!(self, scope.tenant(), |store| store.delivery(scope, id))
    }

    async fn delivery_owner(&self, id: DeliveryId) -> Result<Option<TenantId>> {
        let found = self.first(|store| async move { store.delivery_owner(id).await }).await?;
        Ok(found.map(|(_, owner)| owner))
    }

    async fn count_deliveries(
        &self,
        deliveries: Vec<(TenantId, DeliveryId)>,
    ) -> Result<DeliveryCounts> {
        let mut all = DeliveryCounts::default();
        for CellBatch { cell, things, .. } in self.by_cell(deliveries, |one| one.0).await? {
            let tally = cell.long(cell.store()?.count_deliveries(things)).await?;
            all.delivered += tally.delivered;
            all.failed += tally.failed;
            all.waiting += tally.waiting;
        }
        Ok(all)
    }

    async fn deliveries(
        &self,
        scope: TenantScope,
        filter: DeliveryFilter,
        page: PageRequest,
    ) -> Result<Page<DeliveryRow>> {
        long_in_cell!(self, scope.tenant(), |store| store.deliveries(scope, filter, page))
    }

    async fn events(
        &self,
        scope: TenantScope,
        filter: EventFilter,
        page: PageRequest,
    ) -> Result<Page<EventRow>> {
        long_in_cell!(self, scope.tenant(), |store| store.events(scope, filter, page))
    }

    async fn event_outlines(
        &self,
        scope: TenantScope,
        ids: Vec<EventId>,
    ) -> Result<Vec<EventOutline>> {
        long_in_cell!(self, scope.tenant(), |store| store.event_outlines(scope, ids))
    }

    async fn body_prefixes(
        &self,
        scope: TenantScope,
        ids: Vec<ParcelId>,
        max_bytes: usize,
    ) -> Result<Vec<(ParcelId, Bytes)>> {
        long_in_cell!(self, scope.tenant(), |store| store.body_prefixes(scope, ids, max_bytes))
    }

    async fn redeliver(
        &self,
        scope: TenantScope,
        event: EventId,
        deliveries: Vec<NewDelivery>,
    ) -> Result<bool> {
        long_in_cell!(self, scope.tenant(), |store| store.redeliver(scope, event, deliveries))
    }

    async fn retry_now(
        &self,
        scope: TenantScope,
        id: DeliveryId,
        now: Time,
    ) -> Result<RetryOutcome> {
        in_cell!(self, scope.tenant(), |store| store.retry_now(scope, id, now))
    }

    async fn cancel(&self, scope: TenantScope, ids: Vec<DeliveryId>, now: Time) -> Result<u64> {
        long_in_cell!(self, scope.tenant(), |store| store.cancel(scope, ids, now))
    }

    async fn retry_now_in_order(
        &self,
        scope: TenantScope,
        ids: Vec<DeliveryId>,
        now: Time,
    ) -> Result<Vec<RetryOutcome>> {
        long_in_cell!(self, scope.tenant(), |store| store.retry_now_in_order(scope, ids, now))
    }
}

#[async_trait]
impl EmailReports for CellStore {
    async fn report_email(&self, scope: TenantScope, new: NewEmailReport) -> Result<AcceptOutcome> {
        in_cell!(self, scope.tenant(), |store| store.report_email(scope, new))
    }

    async fn email_reports(
        &self,
        scope: TenantScope,
        emails: Vec<EmailId>,
    ) -> Result<Vec<EmailReport>> {
        in_cell!(self, scope.tenant(), |store| store.email_reports(scope, emails))
    }

    async fn failed_emails(
        &self,
        scope: TenantScope,
        which: FailedEmails,
        page: PageRequest,
    ) -> Result<Page<DeliveryRow>> {
        long_in_cell!(self, scope.tenant(), |store| store.failed_emails(scope, which, page))
    }
}

#[async_trait]
impl Suppressions for CellStore {
    async fn suppress(&self, scope: TenantScope, new: Vec<NewSuppression>) -> Result<u64> {
        long_in_cell!(self, scope.tenant(), |store| store.suppress(scope, new))
    }

    async fn suppression(&self, scope: TenantScope, address: &str) -> Result<Option<Suppression>> {
        in_cell!(self, scope.tenant(), |store| store.suppression(scope, address))
    }

    async fn suppressions(
        &self,
        scope: TenantScope,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<Suppression>> {
        long_in_cell!(self, scope.tenant(), |store| store.suppressions(scope, after, max))
    }

    async fn remove_suppression(&self, scope: TenantScope, address: &str) -> Result<bool> {
        in_cell!(self, scope.tenant(), |store| store.remove_suppression(scope, address))
    }
}

#[async_trait]
impl Usage for CellStore {
    async fn spend(
        &self,
        scope: TenantScope,
        period: &str,
        count: u64,
        limit: u64,
    ) -> Result<PlanCharge> {
        in_cell!(self, scope.tenant(), |store| store.spend(scope, period, count, limit))
    }

    async fn give_back(&self, scope: TenantScope, period: &str, count: u64) -> Result<()> {
        in_cell!(self, scope.tenant(), |store| store.give_back(scope, period, count))
    }

    async fn used(&self, scope: TenantScope, period: &str) -> Result<u64> {
        in_cell!(self, scope.tenant(), |store| store.used(scope, period))
    }
}
