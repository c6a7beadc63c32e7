//! Documents: a tenant's in its cell, the operator's in the home cell.

use std::time::Instant;

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{TenantId, Time};
use gancho_store::{Collection, CollectionLimit, Document, Documents, Precondition, Result};

use crate::{CellStore, at_home, cell::Cell, in_cell};

/// Keys whose cells are remembered.
const MAX_KEYS: usize = 50_000;

macro_rules! of_collection {
    ($self:ident, $collection:ident, |$store:ident| $call:expr) => {
        match $collection.tenant() {
            Some(tenant) => in_cell!($self, tenant, |$store| $call),
            None => at_home!($self, |$store| $call),
        }
    };
}

#[async_trait]
impl Documents for CellStore {
    async fn document(&self, collection: Collection, key: &str) -> Result<Option<Document>> {
        of_collection!(self, collection, |store| store.document(collection, key))
    }

    /// In the cell where it was found before, or else in all of them. Before it is said to be in none, the directory is read:
    /// it may be in a cell, or of a tenant that has moved to one, of which this node has not heard yet.
    async fn find_document(&self, kind: &'static str, key: &str) -> Result<Option<Document>> {
        let (begun, version) = (Instant::now(), self.directory.version());
        if let Some(found) = self.find_where_it_was(kind, key).await? {
            return Ok(Some(found));
        }
        if let Some(found) = self.find_anywhere(kind, key).await? {
            return Ok(Some(found));
        }
        self.catch_up(begun).await?;
        if self.directory.version() == version {
            return Ok(None);
        }
        self.find_anywhere(kind, key).await
    }

    async fn documents(
        &self,
        collection: Collection,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<Document>> {
        of_collection!(self, collection, |store| store.documents(collection, after, max))
    }

    async fn collection_version(&self, collection: Collection) -> Result<u64> {
        of_collection!(self, collection, |store| store.collection_version(collection))
    }

    /// All or none: who looks for all documents of a kind must not miss any.
    async fn documents_of_all(
        &self,
        kind: &'static str,
        after: Option<(Option<TenantId>, String)>,
        max: usize,
    ) -> Result<Vec<Document>> {
        let found = self
            .all(|store, _| {
                let after = after.clone();
                async move { store.documents_of_all(kind, after, max).await }
            })
            .await?;
        let mut found = self.living(found, |one| one.tenant);
        found.sort_by(|one, other| (one.tenant, &one.key).cmp(&(other.tenant, &other.key)));
        found.truncate(max);
        Ok(found)
    }

    async fn documents_ending(
        &self,
        kind: &'static str,
        from: Time,
        to: Time,
        max: usize,
    ) -> Result<Vec<Document>> {
        let found = self
            .each(|store, _| async move { store.documents_ending(kind, from, to, max).await })
            .await?;
        let mut found = self.living(found, |one| one.tenant);
        found.sort_by(|one, other| (one.ends_at, &one.key).cmp(&(other.ends_at, &other.key)));
        found.truncate(max);
        Ok(found)
    }

    async fn put_document(
        &self,
        collection: Collection,
        key: &str,
        body: Bytes,
        expect: Precondition,
    ) -> Result<Option<u64>> {
        of_collection!(self, collection, |store| store.put_document(collection, key, body, expect))
    }

    async fn put_document_within(
        &self,
        collection: Collection,
        key: &str,
        body: Bytes,
        expect: Precondition,
        limit: CollectionLimit,
    ) -> Result<Option<u64>> {
        of_collection!(self, collection, |store| store
            .put_document_within(collection, key, body, expect, limit))
    }

    async fn put_document_until(
        &self,
        collection: Collection,
        key: &str,
        body: Bytes,
        expect: Precondition,
        until: Time,
    ) -> Result<Option<u64>> {
        of_collection!(self, collection, |store| store
            .put_document_until(collection, key, body, expect, until))
    }

    async fn delete_document(&self, collection: Collection, key: &str) -> Result<bool> {
        of_collection!(self, collection, |store| store.delete_document(collection, key))
    }
}

impl CellStore {
    async fn find_anywhere(&self, kind: &'static str, key: &str) -> Result<Option<Document>> {
        if self.is_alone() {
            return at_home!(self, |store| store.find_document(kind, key));
        }
        let found = self
            .first_in(|store, cell| async move {
                Ok(self.of_cell(&cell, store.find_document(kind, key).await?))
            })
            .await?;
        Ok(found.map(|(cell, document)| {
            let mut known = self.document_cells.lock();
            if known.len() >= MAX_KEYS {
                known.clear();
            }
            known.insert((kind, key.to_owned()), cell.number);
            document
        }))
    }

    async fn find_where_it_was(&self, kind: &'static str, key: &str) -> Result<Option<Document>> {
        let number = self.document_cells.lock().get(&(kind, key.to_owned())).copied();
        let Some(cell) = number.and_then(|number| self.cell(number).ok()) else { return Ok(None) };
        let store = cell.store()?;
        Ok(self.of_cell(&cell, cell.call(store.find_document(kind, key)).await?))
    }

    /// Unless it is of a tenant that is on its way here, or has left: there it may have been changed or deleted.
    fn of_cell(&self, cell: &Cell, found: Option<Document>) -> Option<Document> {
        let is_elsewhere = |tenant| self.directory.is_elsewhere(tenant, cell.number);
        found.filter(|document| !document.tenant.is_some_and(is_elsewhere))
    }
}
