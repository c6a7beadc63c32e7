//! The real store, behind the connection of one process. Every call passes a tap before and after, where it
//! may be delayed, refused, or be the last thing its process does.

#![allow(clippy::similar_names, reason = "`self` and a collection")]

mod statistics;
mod work;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{
    DeliveryId, Endpoint, EndpointId, EventId, Lane, ReplayId, Tenant, TenantId, TenantScope, Time,
};
use gancho_store::{
    Accept, AcceptOutcome, AllTenants, ArchiveSelection, ArchivedLetter, Archiving, Claim,
    ClaimResult, Claiming, Collection, CollectionLimit, DeadFilter, DeadLetter, DeadLetters,
    DeadStats, Deliveries, DeliveryCounts, DeliveryFilter, DeliveryRow, DeliveryView, Document,
    Documents, EndedDelivery, Endpoints, EventFilter, EventOutline, EventRow, EventView,
    FullDeadLetter, ImportOutcome, LaneDepth, Lease, Ledger, NewDelivery, NewParcel, NodeFacts,
    NodeId, NodeRecord, Nodes, OrphanScan, Orphans, Page, PageRequest, ParcelPart, Pause, Pauses,
    Placement, PlanCharge, Precondition, PruneStep, ReplayJob, ReplayPage, RescueCounts, Result,
    RetryOutcome, Settle, SettleOutcome, Settlement, Space, Store, Suppression, TenantEndpoint,
    TenantRow, Tenants, Upkeep, Usage,
};
use gancho_store_sqlite::SqliteStore;
use tokio::sync::Notify;

use crate::tap::{Step, Tap};

pub struct Proxy {
    pub inner: Arc<SqliteStore>,
    pub tap: Tap,
}

/// Passes the tap, makes the call, and passes the tap again.
macro_rules! through {
    ($self:ident, $step:ident, $call:expr) => {{
        $self.tap.before(Step::$step).await?;
        let answer = $call.await;
        $self.tap.after(Step::$step).await?;
        answer
    }};
}
use through;

impl Store for Proxy {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn bell(&self) -> Arc<Notify> {
        self.inner.bell()
    }
}

#[async_trait]
impl Accept for Proxy {
    async fn accept(&self, parcels: Vec<NewParcel>, holder: NodeId) -> Result<Vec<AcceptOutcome>> {
        through!(self, Accept, self.tap.accept(&self.inner, parcels, holder))
    }

    async fn place_part(&self, part: ParcelPart, holder: NodeId) -> Result<Vec<Placement>> {
        through!(self, Accept, self.inner.place_part(part, holder))
    }

    async fn place_left_parts(&self, before: Time, max: usize) -> Result<usize> {
        through!(self, Rescue, self.inner.place_left_parts(before, max))
    }
}

#[async_trait]
impl Claiming for Proxy {
    async fn claim(&self, claim: Claim) -> Result<ClaimResult> {
        through!(self, Claim, self.tap.claim(&self.inner, claim))
    }

    async fn release(&self, node: NodeId, leases: Vec<Lease>) -> Result<()> {
        assert!(leases.iter().all(|lease| lease.since.is_some()), "a lease says since when");
        through!(self, Release, self.inner.release(node, leases))
    }

    async fn note_attempt(&self, node: NodeId, lease: Lease) -> Result<bool> {
        through!(self, Release, self.inner.note_attempt(node, lease))
    }
}

#[async_trait]
impl Settle for Proxy {
    async fn settle(
        &self,
        node: NodeId,
        settlements: Vec<Settlement>,
    ) -> Result<Vec<SettleOutcome>> {
        assert!(settlements.iter().all(|one| one.leased_at.is_some()), "as does a result");
        through!(self, Settle, self.tap.settle(&self.inner, node, settlements))
    }
}

#[async_trait]
impl Nodes for Proxy {
    async fn join(&self, name: &str, now: Time) -> Result<NodeId> {
        through!(self, Join, self.tap.join(&self.inner, name, now))
    }

    async fn describe_node(&self, node: NodeId, facts: NodeFacts) -> Result<()> {
        through!(self, Join, self.inner.describe_node(node, facts))
    }

    async fn nodes(&self, max: usize) -> Result<Vec<NodeRecord>> {
        through!(self, Join, self.inner.nodes(max))
    }

    async fn heartbeat(&self, node: NodeId, now: Time) -> Result<()> {
        through!(self, Heartbeat, self.tap.heartbeat(&self.inner, node, now))
    }

    async fn leave(&self, node: NodeId, now: Time) -> Result<()> {
        through!(self, Leave, self.tap.leave(&self.inner, node, now))
    }

    async fn rescue(
        &self,
        caller: NodeId,
        silent_for: Duration,
        now: Time,
    ) -> Result<RescueCounts> {
        through!(self, Rescue, self.tap.rescue(&self.inner, caller, silent_for, now))
    }
}

#[async_trait]
impl Pauses for Proxy {
    async fn pause(&self, what: Pause, now: Time) -> Result<()> {
        through!(self, Pauses, self.inner.pause(what, now))
    }

    async fn resume(&self, what: Pause) -> Result<()> {
        through!(self, Pauses, self.inner.resume(what))
    }

    async fn pauses(&self) -> Result<Vec<Pause>> {
        through!(self, Pauses, self.inner.pauses())
    }
}

#[async_trait]
impl Upkeep for Proxy {
    async fn prune(&self, before: Time, max: usize, now: Time) -> Result<PruneStep> {
        through!(self, Upkeep, self.inner.prune(before, max, now))
    }

    async fn expire(
        &self,
        lane: Lane,
        before: Time,
        max: usize,
        now: Time,
    ) -> Result<Vec<EndedDelivery>> {
        through!(self, Upkeep, self.inner.expire(lane, before, max, now))
    }

    async fn depths(&self) -> Result<Vec<LaneDepth>> {
        self.inner.depths().await
    }

    async fn space(&self) -> Result<Space> {
        self.inner.space().await
    }

    async fn last_written(&self) -> Result<Option<Time>> {
        self.inner.last_written().await
    }

    async fn highest_lead(&self) -> Result<i64> {
        self.inner.highest_lead().await
    }
}

// The engine does not call the following methods.

impl gancho_store::Intake for Proxy {}

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
impl DeadLetters for Proxy {
    async fn dead_letters(
        &self,
        filter: DeadFilter,
        page: PageRequest,
    ) -> Result<Page<DeadLetter>> {
        self.inner.dead_letters(filter, page).await
    }

    async fn dead_stats(&self, filter: DeadFilter) -> Result<DeadStats> {
        self.inner.dead_stats(filter).await
    }

    async fn dead_since(&self, times: Vec<Time>) -> Result<Vec<u64>> {
        self.inner.dead_since(times).await
    }

    async fn replay_dead(
        &self,
        filter: DeadFilter,
        max: usize,
        after: Option<[u8; 32]>,
        now: Time,
    ) -> Result<ReplayPage> {
        self.inner.replay_dead(filter, max, after, now).await
    }

    async fn purge_dead(&self, filter: DeadFilter, max: usize) -> Result<u64> {
        self.inner.purge_dead(filter, max).await
    }
}

#[async_trait]
impl Archiving for Proxy {
    async fn dead_overflow(&self, max_per_tenant: u64) -> Result<Vec<ArchiveSelection>> {
        self.inner.dead_overflow(max_per_tenant).await
    }

    async fn letters_to_archive(
        &self,
        which: ArchiveSelection,
        max: usize,
        max_bytes: usize,
    ) -> Result<Vec<FullDeadLetter>> {
        self.inner.letters_to_archive(which, max, max_bytes).await
    }

    async fn remove_archived(&self, letters: Vec<ArchivedLetter>) -> Result<u64> {
        self.inner.remove_archived(letters).await
    }

    async fn import_dead(
        &self,
        letters: Vec<FullDeadLetter>,
        now: Time,
    ) -> Result<Vec<ImportOutcome>> {
        self.inner.import_dead(letters, now).await
    }
}

#[async_trait]
impl Endpoints for Proxy {
    async fn add_endpoint(
        &self,
        scope: TenantScope,
        endpoint: Endpoint,
        max_endpoints: Option<u32>,
    ) -> Result<bool> {
        self.inner.add_endpoint(scope, endpoint, max_endpoints).await
    }

    async fn change_endpoint(&self, scope: TenantScope, endpoint: Endpoint) -> Result<bool> {
        self.inner.change_endpoint(scope, endpoint).await
    }

    async fn save_endpoint(&self, scope: TenantScope, endpoint: Endpoint) -> Result<()> {
        self.inner.save_endpoint(scope, endpoint).await
    }

    async fn endpoint(&self, scope: TenantScope, id: EndpointId) -> Result<Option<Endpoint>> {
        self.inner.endpoint(scope, id).await
    }

    async fn endpoint_by_external_id(
        &self,
        scope: TenantScope,
        external_id: &str,
    ) -> Result<Option<Endpoint>> {
        self.inner.endpoint_by_external_id(scope, external_id).await
    }

    async fn endpoints(&self, scope: TenantScope) -> Result<Vec<Endpoint>> {
        self.inner.endpoints(scope).await
    }

    async fn newest_endpoints(
        &self,
        scope: TenantScope,
        before: Option<EndpointId>,
        max: usize,
    ) -> Result<Vec<Endpoint>> {
        self.inner.newest_endpoints(scope, before, max).await
    }

    async fn endpoints_version(&self, scope: TenantScope) -> Result<u64> {
        self.inner.endpoints_version(scope).await
    }

    async fn delete_endpoint(&self, scope: TenantScope, id: EndpointId) -> Result<bool> {
        self.inner.delete_endpoint(scope, id).await
    }
}

#[async_trait]
impl Orphans for Proxy {
    async fn scan_orphans(&self, after: Option<TenantEndpoint>, max: usize) -> Result<OrphanScan> {
        self.inner.scan_orphans(after, max).await
    }

    async fn give_up_orphans(
        &self,
        scope: TenantScope,
        endpoint: EndpointId,
        max: usize,
        now: Time,
    ) -> Result<Vec<EndedDelivery>> {
        self.inner.give_up_orphans(scope, endpoint, max, now).await
    }

    async fn lift_orphaned_pauses(&self) -> Result<u64> {
        self.inner.lift_orphaned_pauses().await
    }
}

#[async_trait]
impl Tenants for Proxy {
    async fn create_tenant(&self, tenant: Tenant) -> Result<()> {
        self.inner.create_tenant(tenant).await
    }

    async fn change_tenant(&self, tenant: Tenant) -> Result<bool> {
        self.inner.change_tenant(tenant).await
    }

    async fn tenants(&self, after: Option<&str>, max: usize) -> Result<Vec<Tenant>> {
        self.inner.tenants(after, max).await
    }

    async fn tenant(&self, id: TenantId) -> Result<Option<Tenant>> {
        self.inner.tenant(id).await
    }

    async fn tenant_by_slug(&self, slug: &str) -> Result<Option<Tenant>> {
        self.inner.tenant_by_slug(slug).await
    }
}

#[async_trait]
impl Documents for Proxy {
    async fn document(&self, collection: Collection, key: &str) -> Result<Option<Document>> {
        self.inner.document(collection, key).await
    }

    async fn find_document(&self, kind: &'static str, key: &str) -> Result<Option<Document>> {
        self.inner.find_document(kind, key).await
    }

    async fn documents(
        &self,
        collection: Collection,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<Document>> {
        self.inner.documents(collection, after, max).await
    }

    async fn collection_version(&self, collection: Collection) -> Result<u64> {
        self.inner.collection_version(collection).await
    }

    async fn documents_of_all(
        &self,
        kind: &'static str,
        after: Option<(Option<TenantId>, String)>,
        max: usize,
    ) -> Result<Vec<Document>> {
        self.inner.documents_of_all(kind, after, max).await
    }

    async fn documents_ending(
        &self,
        kind: &'static str,
        from: Time,
        to: Time,
        max: usize,
    ) -> Result<Vec<Document>> {
        self.inner.documents_ending(kind, from, to, max).await
    }

    async fn put_document(
        &self,
        collection: Collection,
        key: &str,
        body: Bytes,
        expect: Precondition,
    ) -> Result<Option<u64>> {
        self.inner.put_document(collection, key, body, expect).await
    }

    async fn put_document_within(
        &self,
        collection: Collection,
        key: &str,
        body: Bytes,
        expect: Precondition,
        limit: CollectionLimit,
    ) -> Result<Option<u64>> {
        self.inner.put_document_within(collection, key, body, expect, limit).await
    }

    async fn put_document_until(
        &self,
        collection: Collection,
        key: &str,
        body: Bytes,
        expect: Precondition,
        until: Time,
    ) -> Result<Option<u64>> {
        self.inner.put_document_until(collection, key, body, expect, until).await
    }

    async fn delete_document(&self, collection: Collection, key: &str) -> Result<bool> {
        self.inner.delete_document(collection, key).await
    }
}

#[async_trait]
impl Usage for Proxy {
    async fn spend(
        &self,
        scope: TenantScope,
        period: &str,
        count: u64,
        limit: u64,
    ) -> Result<PlanCharge> {
        self.inner.spend(scope, period, count, limit).await
    }

    async fn give_back(&self, scope: TenantScope, period: &str, count: u64) -> Result<()> {
        self.inner.give_back(scope, period, count).await
    }

    async fn used(&self, scope: TenantScope, period: &str) -> Result<u64> {
        self.inner.used(scope, period).await
    }
}

/// Read only in tests of the stores: the simulation has no receipts.
#[async_trait]
impl Ledger for Proxy {
    async fn ledger_lines(&self, after: u64, max: usize) -> Result<Vec<gancho_ledger::Line>> {
        self.inner.ledger_lines(after, max).await
    }

    async fn ledger_line_of(
        &self,
        parcel: gancho_domain::ParcelId,
    ) -> Result<Option<gancho_ledger::Line>> {
        self.inner.ledger_line_of(parcel).await
    }

    async fn ledger_size(&self) -> Result<u64> {
        self.inner.ledger_size().await
    }
}
