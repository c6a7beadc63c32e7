//! Tenants: each in its cell, its slug in the directory, where it is in use once.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{ParcelId, Tenant, TenantId, TenantScope, Time};
use gancho_store::{
    ContentErasure, DeletedTenant, EraseStep, Erasure, Result, StoreError, SubjectScan, Tenants,
};
use gancho_store_postgres::{Placement, PlacementState, Reservation};

use crate::{CellStore, at_home, directory::placed, in_cell, long_in_cell};

/// A creation that takes longer is given up.
const MAX_CREATING: Duration = Duration::from_secs(20);
/// A slug that was reserved this long ago, and never used, is free.
const MAX_RESERVED: Duration = Duration::from_secs(60);

#[async_trait]
impl Tenants for CellStore {
    async fn create_tenant(&self, tenant: Tenant) -> Result<()> {
        if self.is_alone() {
            return at_home!(self, |store| store.create_tenant(tenant));
        }
        let cell = self.cell_for_new().await?;
        let (id, slug) = (tenant.id, tenant.slug.clone());
        self.reserve(id, &slug, cell.number).await?;
        let store = cell.store()?;
        let made = tokio::time::timeout(MAX_CREATING, store.create_tenant(tenant)).await;
        let Ok(made) = made else {
            // It may still come to be: the slug is reserved for a while.
            return Err(StoreError::Unavailable("creating the tenant took too long".into()));
        };
        match cell.noted(made) {
            Ok(()) => {
                let placement = placed(id, &slug, &cell, PlacementState::Active);
                self.place(placement, PlacementState::Creating).await.map(drop)
            }
            Err(error) => {
                at_home!(self, |home| home.release_reservation(id, Duration::ZERO))?;
                Err(error)
            }
        }
    }

    async fn change_tenant(&self, tenant: Tenant) -> Result<bool> {
        in_cell!(self, tenant.id, |store| store.change_tenant(tenant))
    }

    /// All or none: who looks for all tenants, as to encrypt their secrets again, must not miss any.
    async fn tenants(&self, after: Option<&str>, max: usize) -> Result<Vec<Tenant>> {
        let found = self.all(|store, _| async move { store.tenants(after, max).await }).await?;
        Ok(by_slug(self.living(found, |tenant| Some(tenant.id)), max))
    }

    async fn tenants_to_show(&self, after: Option<&str>, max: usize) -> Result<Vec<Tenant>> {
        let found = self.each(|store, _| async move { store.tenants(after, max).await }).await?;
        Ok(by_slug(self.living(found, |tenant| Some(tenant.id)), max))
    }

    async fn tenant(&self, id: TenantId) -> Result<Option<Tenant>> {
        in_cell!(self, id, |store| store.tenant(id))
    }

    /// By the directory; without the home cell, by asking every other.
    async fn tenant_by_slug(&self, slug: &str) -> Result<Option<Tenant>> {
        if self.is_alone() {
            return at_home!(self, |store| store.tenant_by_slug(slug));
        }
        let placed = async { self.home.bounded(self.home.store()?.placement_of_slug(slug)).await };
        if let Ok(placement) = placed.await {
            // One from before there were cells may not be listed yet.
            let cell = placement.map_or(Ok(self.home.clone()), |one| self.cell(one.cell))?;
            let store = cell.store()?;
            return cell.call(store.tenant_by_slug(slug)).await;
        }
        let found = self.first(|store| async move { store.tenant_by_slug(slug).await }).await?;
        Ok(found.map(|(_, tenant)| tenant))
    }
}

fn by_slug(mut tenants: Vec<Tenant>, max: usize) -> Vec<Tenant> {
    tenants.sort_by(|one, other| one.slug.cmp(&other.slug));
    tenants.truncate(max);
    tenants
}

impl CellStore {
    /// Reserves a slug, after it was freed if what it was used for did not come to be, or is gone.
    async fn reserve(&self, id: TenantId, slug: &str, cell: u32) -> Result<()> {
        let home = self.home.store()?;
        for _ in 0..2 {
            let reserved = self.home.call(home.reserve_tenant(id, slug, cell)).await?;
            let Reservation::Taken(other) = reserved else { return Ok(()) };
            if other.tenant == id && other.slug != slug {
                // An id comes once. The slug of a creation that was refused may be another's now.
                return Err(StoreError::Taken(id.to_string()));
            }
            if !self.is_unused(&other).await? {
                break;
            }
        }
        Err(StoreError::Taken(slug.to_owned()))
    }

    /// Frees the slug of a tenant that is not in its cell.
    pub(crate) async fn is_unused(&self, other: &Placement) -> Result<bool> {
        let cell = self.cell(other.cell)?;
        let store = cell.store()?;
        if cell.call(store.tenant(other.tenant)).await?.is_some() {
            if other.state == PlacementState::Creating {
                let placement = Placement { state: PlacementState::Active, ..other.clone() };
                self.place(placement, PlacementState::Creating).await?;
            }
            return Ok(false);
        }
        match other.state {
            PlacementState::Creating => {
                let home = self.home.store()?;
                self.home.call(home.release_reservation(other.tenant, MAX_RESERVED)).await
            }
            PlacementState::Active => {
                let placement = Placement { state: PlacementState::Deleted, ..other.clone() };
                self.place(placement, PlacementState::Active).await
            }
            PlacementState::Deleted | PlacementState::Moving | PlacementState::Leaving => Ok(false),
        }
    }
}

#[async_trait]
impl Erasure for CellStore {
    async fn delete_tenant(&self, id: TenantId, now: Time) -> Result<bool> {
        if self.is_alone() {
            return at_home!(self, |store| store.delete_tenant(id, now));
        }
        let home = self.home.store()?;
        let placement = self.home.bounded(home.placement(id)).await?;
        let cell = match placement {
            Some(one) if one.is_moving() => {
                return Err(StoreError::Moving(
                    "a tenant can be deleted when the move is over".into(),
                ));
            }
            // What this node knows may be older.
            Some(one) => {
                self.directory.note(&one);
                self.cell(one.cell)?
            }
            None => self.home.clone(),
        };
        let store = cell.store()?;
        let was_there = cell.call(store.delete_tenant(id, now)).await?;
        // A move that has begun meanwhile finds it deleted, and says so in the end.
        self.home.call(home.mark_deleted(id, cell.number)).await?;
        Ok(was_there)
    }

    async fn deleted_tenants(&self, max: usize) -> Result<Vec<DeletedTenant>> {
        let found = self.each(|store, _| async move { store.deleted_tenants(max).await }).await?;
        let mut found: Vec<_> = found.into_iter().flat_map(|(_, found)| found).collect();
        found.sort_by_key(|one| (one.deleted_at, one.id));
        found.truncate(max);
        Ok(found)
    }

    async fn erase(&self, id: TenantId, max: usize) -> Result<EraseStep> {
        long_in_cell!(self, id, |store| store.erase(id, max))
    }

    async fn mark_erased(&self, id: TenantId) -> Result<()> {
        in_cell!(self, id, |store| store.mark_erased(id))
    }

    async fn forget_deleted(&self, id: TenantId) -> Result<()> {
        in_cell!(self, id, |store| store.forget_deleted(id))?;
        if !self.is_alone() {
            at_home!(self, |store| store.forget_placement(id))?;
            self.directory.forget(id);
        }
        Ok(())
    }

    async fn erase_content(
        &self,
        scope: TenantScope,
        id: ParcelId,
        replacement: Bytes,
        now: Time,
    ) -> Result<ContentErasure> {
        in_cell!(self, scope.tenant(), |store| store.erase_content(scope, id, replacement, now))
    }

    async fn parcels_about(
        &self,
        scope: TenantScope,
        subject: String,
        after: Option<ParcelId>,
        max: usize,
    ) -> Result<SubjectScan> {
        long_in_cell!(self, scope.tenant(), |store| store.parcels_about(scope, subject, after, max))
    }
}
