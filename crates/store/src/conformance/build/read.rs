//! Reads the outcomes of deliveries.

use gancho_domain::{DeliveryId, Lane, ParcelId, TenantId};

use super::{World, scope};
use crate::{
    DeadFilter, DeadLetter, DeliveryFilter, DeliveryRow, DeliveryView, EventFilter, EventRow,
    EventView, LaneDepth, PageRequest, conformance::Fixture,
};

/// More pages than any case fills: a longer list does not end.
const MAX_PAGES: usize = 1_000;

impl<F: Fixture> World<F> {
    pub async fn find_event(&self, tenant: TenantId, id: ParcelId) -> Option<EventView> {
        self.store.event(scope(tenant), id).await.unwrap()
    }

    pub async fn see_event(&self, tenant: TenantId, id: ParcelId) -> EventView {
        let found = self.find_event(tenant, id).await;
        found.expect("the event is in the store")
    }

    pub async fn find(&self, tenant: TenantId, id: DeliveryId) -> Option<DeliveryView> {
        self.store.delivery(scope(tenant), id).await.unwrap()
    }

    pub async fn see(&self, tenant: TenantId, id: DeliveryId) -> DeliveryView {
        let found = self.find(tenant, id).await;
        found.expect("the delivery is in the store")
    }

    pub async fn list(&self, tenant: TenantId, filter: DeliveryFilter) -> Vec<DeliveryRow> {
        self.list_by(tenant, filter, 100).await
    }

    /// Reads all pages of `max` rows.
    pub async fn list_by(
        &self,
        tenant: TenantId,
        filter: DeliveryFilter,
        max: usize,
    ) -> Vec<DeliveryRow> {
        let mut rows = Vec::new();
        let mut request = PageRequest::first(max);
        for _ in 0..MAX_PAGES {
            let page = self.store.deliveries(scope(tenant), filter.clone(), request).await.unwrap();
            assert!(page.rows.len() <= max, "a page holds what was asked for");
            rows.extend(page.rows);
            match page.next {
                Some(after) => request = PageRequest::new(max, Some(after)),
                None => return rows,
            }
        }
        panic!("the pages never end");
    }

    pub async fn list_events(&self, tenant: TenantId, filter: EventFilter) -> Vec<EventRow> {
        self.list_events_by(tenant, filter, 100).await
    }

    /// Reads all pages of `max` rows.
    pub async fn list_events_by(
        &self,
        tenant: TenantId,
        filter: EventFilter,
        max: usize,
    ) -> Vec<EventRow> {
        let mut rows = Vec::new();
        let mut request = PageRequest::first(max);
        for _ in 0..MAX_PAGES {
            let page = self.store.events(scope(tenant), filter.clone(), request).await.unwrap();
            assert!(page.rows.len() <= max, "a page holds what was asked for");
            rows.extend(page.rows);
            match page.next {
                Some(after) => request = PageRequest::new(max, Some(after)),
                None => return rows,
            }
        }
        panic!("the pages never end");
    }

    pub async fn dead(&self, filter: DeadFilter) -> Vec<DeadLetter> {
        self.dead_by(filter, 100).await
    }

    /// Reads all pages of `max` rows.
    pub async fn dead_by(&self, filter: DeadFilter, max: usize) -> Vec<DeadLetter> {
        let mut rows = Vec::new();
        let mut request = PageRequest::first(max);
        for _ in 0..MAX_PAGES {
            let page = self.store.dead_letters(filter.clone(), request).await.unwrap();
            assert!(page.rows.len() <= max, "a page holds what was asked for");
            rows.extend(page.rows);
            match page.next {
                Some(after) => request = PageRequest::new(max, Some(after)),
                None => return rows,
            }
        }
        panic!("the pages never end");
    }

    /// Returns the dead letter of a delivery, if it has one.
    pub async fn dead_letter(&self, delivery: DeliveryId) -> Option<DeadLetter> {
        let filter = DeadFilter { delivery: Some(delivery), ..DeadFilter::default() };
        let mut rows = self.dead(filter).await;
        assert!(rows.len() <= 1, "a delivery has one entry: {rows:?}");
        rows.pop()
    }

    pub async fn replay(&self, filter: DeadFilter, max: usize) -> u64 {
        self.store.replay_dead(filter, max, None, self.now()).await.unwrap().retried.len() as u64
    }

    pub async fn depth(&self, lane: Lane) -> LaneDepth {
        let depths = self.store.depths().await.unwrap();
        let mut of_lane = depths.into_iter().filter(|depth| depth.lane == lane);
        let depth = of_lane.next().expect("each lane has a depth");
        assert_eq!(of_lane.next(), None, "each lane has one depth");
        depth
    }
}
