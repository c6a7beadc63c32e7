//! Lists over all tenants: of the cells that answer, merged.

use async_trait::async_trait;
use gancho_domain::{Endpoint, EndpointId, EventId, ReplayId, TenantId};
use gancho_store::{
    AllTenants, DeliveryFilter, DeliveryRow, EventFilter, EventRow, ListOrder, Page, PageRequest,
    ReplayJob, Result, Suppression, TenantRow,
};

use crate::{
    CellStore,
    merge::{merge, place_of_id},
};

#[async_trait]
impl AllTenants for CellStore {
    async fn all_deliveries(
        &self,
        filter: DeliveryFilter,
        page: PageRequest,
    ) -> Result<Page<TenantRow<DeliveryRow>>> {
        let pages = self
            .each(|store, _| {
                let (filter, page) = (filter.clone(), page.clone());
                async move { store.all_deliveries(filter, page).await }
            })
            .await?;
        let place = |one: &TenantRow<DeliveryRow>| place_of_id(one.row.id.bytes());
        Ok(merged(self.living_pages(pages, |one| one.tenant).into_iter(), page.max, place))
    }

    async fn all_events(
        &self,
        filter: EventFilter,
        page: PageRequest,
    ) -> Result<Page<TenantRow<EventRow>>> {
        let pages = self
            .each(|store, _| {
                let (filter, page) = (filter.clone(), page.clone());
                async move { store.all_events(filter, page).await }
            })
            .await?;
        let place = |one: &TenantRow<EventRow>| place_of_id(one.row.id.bytes());
        Ok(merged(self.living_pages(pages, |one| one.tenant).into_iter(), page.max, place))
    }

    async fn all_endpoints(&self, before: Option<EndpointId>, max: usize) -> Result<Vec<Endpoint>> {
        let found =
            self.each(|store, _| async move { store.all_endpoints(before, max).await }).await?;
        let mut found = self.living(found, |endpoint| Some(endpoint.tenant));
        found.sort_by_key(|endpoint| std::cmp::Reverse(endpoint.id));
        found.truncate(max);
        Ok(found)
    }

    async fn all_suppressions(
        &self,
        after: Option<(TenantId, String)>,
        max: usize,
    ) -> Result<Vec<TenantRow<Suppression>>> {
        let found = self
            .each(|store, _| {
                let after = after.clone();
                async move { store.all_suppressions(after, max).await }
            })
            .await?;
        let mut found = self.living(found, |one| Some(one.tenant));
        found.sort_by(|one, other| {
            (one.tenant, &one.row.address).cmp(&(other.tenant, &other.row.address))
        });
        found.truncate(max);
        Ok(found)
    }

    async fn all_replays(&self, before: Option<ReplayId>, max: usize) -> Result<Vec<ReplayJob>> {
        let found =
            self.each(|store, _| async move { store.all_replays(before, max).await }).await?;
        let mut found = self.living(found, |job| job.tenant);
        found.sort_by_key(|job| std::cmp::Reverse(job.id));
        found.truncate(max);
        Ok(found)
    }

    async fn external_id_owners(&self, external_id: &str, max: usize) -> Result<Vec<TenantId>> {
        let found = self
            .each(|store, _| async move { store.external_id_owners(external_id, max).await })
            .await?;
        let mut found = self.living(found, |tenant| Some(*tenant));
        found.truncate(max);
        Ok(found)
    }

    async fn event_owner(&self, id: EventId) -> Result<Option<TenantId>> {
        let found = self.first(|store| async move { store.event_owner(id).await }).await?;
        Ok(found.map(|(_, owner)| owner))
    }

    async fn endpoint_owner(&self, id: EndpointId) -> Result<Option<TenantId>> {
        let found = self.first(|store| async move { store.endpoint_owner(id).await }).await?;
        Ok(found.map(|(_, owner)| owner))
    }
}

fn merged<T>(
    pages: impl Iterator<Item = Page<T>>,
    max: usize,
    place: impl Fn(&T) -> [u8; 32],
) -> Page<T> {
    merge(pages, ListOrder::NewestFirst, max, usize::MAX, place, |_| 1)
}
