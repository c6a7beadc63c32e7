//! The intake: every cell has one, where `gancho.publish` is called for the tenants that live there.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use gancho_domain::{EventId, TenantId, TenantScope, Time};
use gancho_store::{
    AcceptOutcome, Intake, IntakeBatch, IntakeCounts, IntakeEvent, IntakeSettings, NewParcel,
    NodeId, RejectedEvent, Result,
};
use gancho_store_postgres::PlacementState;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::{CellStore, accept::in_parts, at_home, cell::Cell, in_cell};

#[derive(Default)]
pub(crate) struct IntakeState {
    /// The last tenant whose events were taken, in each cell.
    positions: Mutex<HashMap<u32, TenantId>>,
    /// For a cell that is opened later.
    settings: Mutex<Option<IntakeSettings>>,
}

impl IntakeState {
    pub fn settings(&self) -> Option<IntakeSettings> {
        self.settings.lock().clone()
    }
}

#[async_trait]
impl Intake for CellStore {
    fn intake_bell(&self) -> Option<Arc<Notify>> {
        Some(self.intake_bell.clone())
    }

    async fn describe_intake(&self, settings: IntakeSettings) -> Result<()> {
        *self.intake.settings.lock() = Some(settings.clone());
        self.each(|store, _| {
            let settings = settings.clone();
            async move { store.describe_intake(settings).await }
        })
        .await
        .map(drop)
    }

    /// Each cell goes on where it stopped. They share the number of tenants.
    async fn take_intake(
        &self,
        after: Option<TenantId>,
        batch: IntakeBatch,
    ) -> Result<Vec<IntakeEvent>> {
        if self.is_alone() {
            return at_home!(self, |store| store.take_intake(after, batch));
        }
        let max_tenants = batch.max_tenants.div_ceil(self.cells().len());
        let batch = IntakeBatch { max_tenants, ..batch };
        let taken = self
            .each_in_time(|store, cell| {
                let after = self.intake.positions.lock().get(&cell.number).copied();
                async move { store.take_intake(after, batch).await }
            })
            .await?;
        let mut all = Vec::new();
        for (cell, events) in taken {
            if let Some(last) = events.last() {
                self.intake.positions.lock().insert(cell.number, last.tenant);
            }
            let mut strays = BTreeSet::new();
            for event in events {
                if self.directory.known_cell(event.tenant) == cell.number {
                    all.push(event);
                } else {
                    strays.insert(event.tenant);
                }
            }
            for tenant in strays {
                self.forward_strays(tenant, &cell).await;
            }
        }
        Ok(all)
    }

    async fn accept_intake(
        &self,
        parcels: Vec<NewParcel>,
        holder: NodeId,
    ) -> Result<Vec<AcceptOutcome>> {
        let parcels = self.not_held(parcels);
        let parts = self.by_cell(parcels, |new| new.parcel.tenant).await?;
        in_parts(parts, |cell, parcels| async move {
            let store = cell.store()?;
            let number = self.joined_number(&cell, holder).await?;
            cell.accept(store.accept_intake(parcels, number)).await
        })
        .await
    }

    async fn postpone_intake(
        &self,
        scope: TenantScope,
        events: &[EventId],
        delay: Duration,
    ) -> Result<()> {
        in_cell!(self, scope.tenant(), |store| store.postpone_intake(scope, events, delay))
    }

    async fn reject_intake(
        &self,
        scope: TenantScope,
        event: EventId,
        code: &str,
        reason: &str,
        now: Time,
    ) -> Result<bool> {
        in_cell!(self, scope.tenant(), |store| store.reject_intake(scope, event, code, reason, now))
    }

    async fn rejected_events(
        &self,
        tenant: Option<TenantId>,
        after: Option<EventId>,
        max: usize,
    ) -> Result<Vec<RejectedEvent>> {
        if let Some(id) = tenant {
            return in_cell!(self, id, |store| store.rejected_events(tenant, after, max));
        }
        let found = self
            .each(|store, _| async move { store.rejected_events(None, after, max).await })
            .await?;
        let mut found = self.living(found, |one| Some(one.event.tenant));
        found.sort_by_key(|one| std::cmp::Reverse(one.event.id));
        found.truncate(max);
        Ok(found)
    }

    async fn retry_rejected_event(&self, tenant: Option<TenantId>, event: EventId) -> Result<bool> {
        if let Some(id) = tenant {
            return in_cell!(self, id, |store| store.retry_rejected_event(tenant, event));
        }
        let found = self
            .first(|store| async move {
                Ok(store.retry_rejected_event(None, event).await?.then_some(()))
            })
            .await?;
        Ok(found.is_some())
    }

    async fn delete_rejected_event(
        &self,
        tenant: Option<TenantId>,
        event: EventId,
    ) -> Result<bool> {
        if let Some(id) = tenant {
            return in_cell!(self, id, |store| store.delete_rejected_event(tenant, event));
        }
        let found = self
            .first(|store| async move {
                Ok(store.delete_rejected_event(None, event).await?.then_some(()))
            })
            .await?;
        Ok(found.is_some())
    }

    async fn intake_counts(&self) -> Result<IntakeCounts> {
        let found = self.each(|store, _| async move { store.intake_counts().await }).await?;
        let mut sum = IntakeCounts::default();
        for (_, counts) in found {
            sum.waiting = (sum.waiting + counts.waiting).min(IntakeCounts::MAX);
            sum.rejected = (sum.rejected + counts.rejected).min(IntakeCounts::MAX);
        }
        Ok(sum)
    }
}

impl CellStore {
    /// Events that an application has published in a cell which their tenant has left, in a transaction that was open then.
    async fn forward_strays(&self, tenant: TenantId, from: &Cell) {
        let forwarded = async {
            let home = self.home.store()?;
            let placement = self.home.bounded(home.placement(tenant)).await?;
            // A move forwards them itself.
            let Some(to) = placement.filter(|one| one.state == PlacementState::Active) else {
                return Ok(());
            };
            if to.cell == from.number {
                self.directory.note(&to);
                return Ok(());
            }
            let (store, target) = (from.store()?, self.cell(to.cell)?.store()?);
            from.call(store.forward_intake(&target, tenant)).await
        };
        if let Err(error) = forwarded.await {
            tracing::warn!(%tenant, cell = from.name, %error, "could not forward events of a tenant that has moved; will retry");
        }
    }
}
