//! Small documents that are set up rather than worked on: API keys, event types, sources.
//!
//! Each is in a collection (one kind of one tenant's, or of the operator's) under a key, and counts its
//! changes, so that two writers of the same version do not overwrite each other. The store does not
//! interpret the content.

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

    /// One that belongs to no tenant.
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
    /// Whose it is; nobody's where it is the operator's.
    pub tenant: Option<TenantId>,
    pub key: String,
    pub body: Bytes,
    /// From 1.
    pub version: u64,
    /// When it may be removed.
    pub ends_at: Option<Time>,
}

/// What must be there for a document to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    Anything,
    Nothing,
    Version(u64),
}

/// What a collection may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollectionLimit {
    pub max_count: usize,
    /// Of all bodies together.
    pub max_bytes: usize,
}

/// Event types. Their collections are numbered, since they are read again and again to check what is published.
pub const VERSIONED_KIND: &str = "event_type";

#[async_trait]
pub trait Documents: Send + Sync + 'static {
    async fn document(&self, collection: Collection, key: &str) -> Result<Option<Document>>;

    /// The document of a kind under a key, in any tenant's collection. Only for keys that are
    /// globally unique, such as ids. Strangers may cause it: it waits on an account of their own.
    async fn find_document(&self, kind: &'static str, key: &str) -> Result<Option<Document>>;

    /// Returns at most `max` documents by key (compared as bytes), after `after`.
    async fn documents(
        &self,
        collection: Collection,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<Document>>;

    /// A number that changes with every change of a collection of [`VERSIONED_KIND`]; 0 while it is empty.
    async fn collection_version(&self, collection: Collection) -> Result<u64>;

    /// Returns at most `max` documents of a kind in all collections, by tenant and key, the operator's first.
    async fn documents_of_all(
        &self,
        kind: &'static str,
        after: Option<(Option<TenantId>, String)>,
        max: usize,
    ) -> Result<Vec<Document>>;

    /// Returns at most `max` documents of a kind in all collections that may be removed at or after the one time and before
    /// the other, the first to go first.
    async fn documents_ending(
        &self,
        kind: &'static str,
        from: Time,
        to: Time,
        max: usize,
    ) -> Result<Vec<Document>>;

    /// The new version; `None` if what was expected is not so, and then nothing is written.
    async fn put_document(
        &self,
        collection: Collection,
        key: &str,
        body: Bytes,
        expect: Expect,
    ) -> Result<Option<u64>>;

    /// Puts a document that is there already, or one more if its collection has fewer than the limit, as long as the
    /// bodies of all are within the limit of bytes or the document becomes no larger. The new version; `None` if
    /// there are too many, or what was expected is not so, and then nothing is written.
    async fn put_document_within(
        &self,
        collection: Collection,
        key: &str,
        body: Bytes,
        expect: Expect,
        limit: CollectionLimit,
    ) -> Result<Option<u64>>;

    /// The same as [`Self::put_document`], for a document that may be removed after that time, unless it is put again. It may still
    /// be found for a while.
    async fn put_document_until(
        &self,
        collection: Collection,
        key: &str,
        body: Bytes,
        expect: Expect,
        until: Time,
    ) -> Result<Option<u64>>;

    /// Whether it was there.
    async fn delete_document(&self, collection: Collection, key: &str) -> Result<bool>;
}
