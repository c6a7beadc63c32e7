//! Small documents of configuration rather than work: API keys, event types, sources.
//!
//! Each is in a collection (one kind of a tenant's or the operator's documents) under a key. Its version
//! counts its changes, so that two writers of the same version do not overwrite each other. The store does
//! not interpret the content.

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{TenantId, TenantScope, Time};

use crate::Result;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Collection {
    tenant: Option<TenantId>,
    kind: &'static str,
}

impl Collection {
    pub const fn of(scope: TenantScope, kind: &'static str) -> Self {
        Self { tenant: Some(scope.tenant()), kind }
    }

    /// A collection that belongs to no tenant.
    pub const fn operators(kind: &'static str) -> Self {
        Self { tenant: None, kind }
    }

    pub const fn tenant(self) -> Option<TenantId> {
        self.tenant
    }

    pub const fn kind(self) -> &'static str {
        self.kind
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The owner; `None` for the operator.
    pub tenant: Option<TenantId>,
    pub key: String,
    pub body: Bytes,
    /// The version, counted from 1.
    pub version: u64,
    /// When it may be removed.
    pub ends_at: Option<Time>,
}

/// What must exist for a document to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precondition {
    Anything,
    Nothing,
    Version(u64),
}

/// The limits of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollectionLimit {
    pub max_count: usize,
    /// Maximum bytes of all bodies together.
    pub max_bytes: usize,
}

/// Event types. Their collections have a version, because they are read again and again to check events.
pub const VERSIONED_KIND: &str = "event_type";

#[async_trait]
pub trait Documents: Send + Sync + 'static {
    async fn document(&self, collection: Collection, key: &str) -> Result<Option<Document>>;

    /// Returns the document of a kind under a key, in any tenant's collection. Only for keys that are
    /// globally unique, such as ids. Unauthenticated callers may cause it, so it waits on a separate account.
    async fn find_document(&self, kind: &'static str, key: &str) -> Result<Option<Document>>;

    /// Returns at most `max` documents by key (compared as bytes), after `after`.
    async fn documents(
        &self,
        collection: Collection,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<Document>>;

    /// Returns a number that changes with every change of a collection of [`VERSIONED_KIND`]; 0 while it is
    /// empty.
    async fn collection_version(&self, collection: Collection) -> Result<u64>;

    /// Returns at most `max` documents of a kind in all collections, by tenant and key, the operator's first.
    async fn documents_of_all(
        &self,
        kind: &'static str,
        after: Option<(Option<TenantId>, String)>,
        max: usize,
    ) -> Result<Vec<Document>>;

    /// Returns at most `max` documents of a kind in all collections that may be removed in this period,
    /// earliest first.
    async fn documents_ending(
        &self,
        kind: &'static str,
        from: Time,
        to: Time,
        max: usize,
    ) -> Result<Vec<Document>>;

    /// Writes a document. Returns the new version, or `None` if `expect` does not hold; in that case nothing
    /// is written.
    async fn put_document(
        &self,
        collection: Collection,
        key: &str,
        body: Bytes,
        expect: Precondition,
    ) -> Result<Option<u64>>;

    /// Replaces a document, or adds one if its collection has fewer than the limit. The bodies of all must be
    /// within the limit of bytes, or the document must not become larger. Returns the new version, or `None`
    /// if a limit is exceeded or `expect` does not hold; in that case nothing is written.
    async fn put_document_within(
        &self,
        collection: Collection,
        key: &str,
        body: Bytes,
        expect: Precondition,
        limit: CollectionLimit,
    ) -> Result<Option<u64>>;

    /// As [`Self::put_document`], for a document that may be removed after that time, unless it is written
    /// again. It may still be found for a while.
    async fn put_document_until(
        &self,
        collection: Collection,
        key: &str,
        body: Bytes,
        expect: Precondition,
        until: Time,
    ) -> Result<Option<u64>>;

    /// Deletes a document. Returns whether it existed.
    async fn delete_document(&self, collection: Collection, key: &str) -> Result<bool>;
}
