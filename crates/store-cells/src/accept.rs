//! Accepting: parcels are split by the cells of their tenants, and each part is one transaction in its cell.
//!
//! A call for tenants of several cells may succeed in one and fail in another; then it fails, and what was written
//! stays. The engine accepts for one tenant at a time; notices, which go to a tenant and to the operator, have
//! idempotency keys.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use futures_util::future::join_all;
use gancho_domain::Time;
use gancho_store::{
    Accept, AcceptOutcome, NewParcel, NodeId, ParcelPart, Placement, Result, StoreError,
};

use crate::{CellStore, cell::Cell};

#[async_trait]
impl Accept for CellStore {
    fn max_placed(&self) -> usize {
        self.home.open_store().map_or(usize::MAX, |store| store.max_placed())
    }

    async fn accept(&self, parcels: Vec<NewParcel>, holder: NodeId) -> Result<Vec<AcceptOutcome>> {
        let parcels = self.not_held(parcels);
        let parts = self.by_cell(parcels, |new| new.parcel.tenant).await?;
        in_parts(parts, |cell, parcels| async move {
            if !cell.is_home() && parcels.iter().any(|new| new.ledger.is_some()) {
                return Err(StoreError::Invalid(format!(
                    "a receipt in the cell {}: sources live in the home cell, with the ledger",
                    cell.name
                )));
            }
            let store = cell.store()?;
            let number = self.joined_number(&cell, holder).await?;
            cell.accept(store.accept(parcels, number)).await
        })
        .await
    }

    async fn place_part(&self, mut part: ParcelPart, holder: NodeId) -> Result<Vec<Placement>> {
        if self.may_not_hold(part.parcel.tenant) {
            part.deliveries.iter_mut().for_each(|to| to.hold = false);
        }
        let cell = self.cell_of(part.parcel.tenant).await?;
        let store = cell.store()?;
        let number = self.joined_number(&cell, holder).await?;
        cell.accept(store.place_part(part, number)).await
    }

    async fn place_left_parts(&self, before: Time, max: usize) -> Result<usize> {
        let placed =
            self.each(|store, _| async move { store.place_left_parts(before, max).await }).await?;
        Ok(placed.into_iter().map(|(_, placed)| placed).sum())
    }
}

/// When a caller whose call has begun at `begin` may have noted the time for its leases.
pub(crate) fn asked_at(begin: Instant) -> Instant {
    begin.checked_sub(Duration::from_millis(100)).unwrap_or(begin)
}

/// The things for one cell.
pub(crate) struct CellBatch<T> {
    pub cell: Arc<Cell>,
    /// Of each among all; none where all are in one cell.
    pub places: Vec<usize>,
    pub things: Vec<T>,
}

impl CellStore {
    /// Nothing is leased of a tenant that is about to leave its cell, nor of one that has just moved: what a caller asked for
    /// before that would pass for a lease in the old cell.
    fn may_not_hold(&self, tenant: gancho_domain::TenantId) -> bool {
        self.directory.is_leaving(tenant)
            || self.directory.moved_at(tenant).is_some_and(|at| at > asked_at(Instant::now()))
    }

    pub(crate) fn not_held(&self, mut parcels: Vec<NewParcel>) -> Vec<NewParcel> {
        if self.is_alone() {
            return parcels;
        }
        for new in &mut parcels {
            if self.may_not_hold(new.parcel.tenant) {
                new.deliveries.iter_mut().for_each(|to| to.hold = false);
            }
        }
        parcels
    }

    /// Splits what belongs to tenants by their cells.
    pub(crate) async fn by_cell<T>(
        &self,
        things: Vec<T>,
        tenant: impl Fn(&T) -> gancho_domain::TenantId,
    ) -> Result<Vec<CellBatch<T>>> {
        if self.is_alone() && !things.is_empty() {
            return Ok(vec![CellBatch { cell: self.home.clone(), places: Vec::new(), things }]);
        }
        let mut parts: BTreeMap<u32, CellBatch<T>> = BTreeMap::new();
        for (place, thing) in things.into_iter().enumerate() {
            let cell = self.cell_of(tenant(&thing)).await?;
            let part = parts.entry(cell.number).or_insert_with(|| CellBatch {
                cell,
                places: Vec::new(),
                things: Vec::new(),
            });
            part.places.push(place);
            part.things.push(thing);
        }
        Ok(parts.into_values().collect())
    }
}

/// Calls every cell side by side, and puts the answers into the order of the things.
pub(crate) async fn in_parts<T, A, F>(
    mut parts: Vec<CellBatch<T>>,
    call: impl Fn(Arc<Cell>, Vec<T>) -> F,
) -> Result<Vec<A>>
where
    F: Future<Output = Result<Vec<A>>>,
{
    if parts.len() == 1
        && let Some(CellBatch { cell, things, .. }) = parts.pop()
    {
        return call(cell, things).await;
    }
    let calls = parts.into_iter().map(|CellBatch { cell, places, things }| {
        let answers = call(cell, things);
        async move { Ok((places, answers.await?)) }
    });
    let mut all = Vec::new();
    // Waits for all of them, even if one fails.
    for answered in join_all(calls).await {
        let (places, answers): (Vec<usize>, Vec<A>) = answered?;
        if places.len() != answers.len() {
            return Err(StoreError::Corrupt("a cell returned too few results".into()));
        }
        all.extend(places.into_iter().zip(answers));
    }
    all.sort_by_key(|(place, _)| *place);
    Ok(all.into_iter().map(|(_, answer)| answer).collect())
}
