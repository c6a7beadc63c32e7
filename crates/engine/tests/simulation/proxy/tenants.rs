//! Tenants, and what they have. The engine does not call these methods.

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{Tenant, TenantId, TenantScope, Time};
use gancho_store::{
    Collection, CollectionLimit, Document, Documents, Ledger, PlanCharge, Precondition, Result,
    Tenants, Usage,
};

use super::Proxy;

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
