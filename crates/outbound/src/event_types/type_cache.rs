//! The cache of event types. Their schemas are compiled when they are used first.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use bytes::Bytes;
use gancho_store::{Document, ReadCache, Result, Store};

use super::{
    EventTypeInfo, catalog,
    own::{KIND, MAX_COUNT, TypeDocument},
    schema_cache::{CachedSchema, CompiledSchema, InvalidSchema, SchemaCache},
};
use crate::Owner;

pub(super) struct CachedType {
    pub shown: EventTypeInfo,
    pub schema: Option<Arc<CachedSchema>>,
    /// What the patterns of its schema take when compiled.
    pattern_bytes: usize,
    /// The document that it was read from, to detect changes.
    body: Bytes,
}

impl CachedType {
    pub fn built_in(shown: EventTypeInfo) -> Self {
        Self { shown, schema: None, pattern_bytes: 0, body: Bytes::new() }
    }

    fn read(document: &Document, owner: Owner, schemas: &Arc<SchemaCache>) -> Option<Self> {
        let stored: TypeDocument = serde_json::from_slice(&document.body)
            .inspect_err(
                |error| tracing::error!(key = document.key, %error, "stored event type is unreadable"),
            )
            .ok()?;
        let pattern_bytes = stored.pattern_bytes;
        let shown = stored.into_info(&document.key, owner);
        let schema = shown.schema.as_ref().map(|_| schemas.add(owner));
        Some(Self { schema, shown, pattern_bytes, body: document.body.clone() })
    }

    /// Returns the schema, and compiles it if it is not, which may take long.
    pub fn compile(&self) -> Option<CompiledSchema> {
        let text = self.shown.schema.as_ref().ok_or(InvalidSchema);
        let schema = self.schema.as_ref()?;
        Some(text.and_then(|text| schema.get_or_compile(&self.shown.name, text.get())))
    }
}

/// The event types of an owner.
#[derive(Default)]
struct OwnerEventTypes {
    /// The version in the store when the types were read.
    version: u64,
    types: HashMap<String, Arc<CachedType>>,
}

pub(super) struct TypeCache {
    store: Arc<dyn Store>,
    collections: ReadCache<Owner, OwnerEventTypes>,
    schemas: Arc<SchemaCache>,
}

/// The event types of one tenant.
pub(super) struct TenantEventTypes {
    own: Arc<OwnerEventTypes>,
    operators: Arc<OwnerEventTypes>,
}

impl TypeCache {
    pub fn new(store: Arc<dyn Store>) -> Self {
        let collections = ReadCache::new().with_pace(|owner| *owner != Owner::Operator);
        Self { store, collections, schemas: Arc::default() }
    }

    pub async fn of(&self, owner: impl Into<Owner>) -> Result<TenantEventTypes> {
        Ok(TenantEventTypes {
            own: self.collection(owner.into()).await?,
            operators: self.collection(Owner::Operator).await?,
        })
    }

    /// Returns what the patterns of an owner's types take when compiled, without those of one type.
    pub async fn pattern_bytes_without(&self, owner: Owner, name: &str) -> Result<usize> {
        let own = self.collection(owner).await?;
        let others = own.types.iter().filter(|(other, _)| *other != name);
        Ok(others.map(|(_, one)| one.pattern_bytes).sum())
    }

    pub fn forget(&self, owner: Owner) {
        self.collections.forget(owner);
    }

    async fn collection(&self, owner: Owner) -> Result<Arc<OwnerEventTypes>> {
        self.collections.get(owner, |before| self.read(owner, before)).await
    }

    /// Reads the types if they have changed, and parses only those that have changed.
    async fn read(
        &self,
        owner: Owner,
        before: Option<Arc<OwnerEventTypes>>,
    ) -> Result<Arc<OwnerEventTypes>> {
        let place = owner.collection(KIND);
        // The version is read first, so that a change between the two reads is seen the next time.
        let version = self.store.collection_version(place).await?;
        if let Some(before) = before.as_ref().filter(|before| before.version == version) {
            return Ok(before.clone());
        }
        let documents = self.store.documents(place, None, MAX_COUNT).await?;
        let same = |document: &Document| {
            let known = before.as_ref()?.types.get(&document.key)?;
            (known.body == document.body).then(|| known.clone())
        };
        let each = documents.iter().filter_map(|document| {
            let read = || CachedType::read(document, owner, &self.schemas).map(Arc::new);
            Some((document.key.clone(), same(document).or_else(read)?))
        });
        Ok(Arc::new(OwnerEventTypes { version, types: each.collect() }))
    }
}

impl TenantEventTypes {
    pub fn find(&self, name: &str) -> Option<Arc<CachedType>> {
        let own = self.own.types.get(name).or_else(|| self.operators.types.get(name));
        own.or_else(|| catalog::get(name)).cloned()
    }

    /// Returns all types sorted by name, without duplicates.
    pub fn all(&self) -> impl Iterator<Item = &CachedType> {
        let built_in = catalog::all().map(|one| (one.shown.name.as_str(), one));
        let operators = self.operators.types.iter().map(|(name, one)| (name.as_str(), &**one));
        let own = self.own.types.iter().map(|(name, one)| (name.as_str(), &**one));
        let merged: BTreeMap<&str, &CachedType> = built_in.chain(operators).chain(own).collect();
        merged.into_values()
    }
}

#[cfg(test)]
mod tests {
    use gancho_store::Precondition;
    use gancho_testkit::stores::{StoreKind, StorePlace};

    use super::*;

    #[tokio::test]
    async fn event_types_are_read_again_only_when_they_have_changed() {
        let place = StorePlace::new(StoreKind::Sqlite).await;
        let store = place.open().await;
        let (cache, owner) = (TypeCache::new(store.clone()), Owner::Operator);
        let put = async |name: &str| {
            let body = Bytes::from_static(b"{\"description\":\"\",\"example\":1,\"schema\":null}");
            store
                .put_document(owner.collection(KIND), name, body, Precondition::Anything)
                .await
                .unwrap();
        };
        let read = async || {
            cache.forget(owner);
            cache.collection(owner).await.unwrap()
        };
        put("a.b").await;
        let first = read().await;
        assert!(Arc::ptr_eq(&first, &read().await), "nothing has changed");
        put("b.c").await;
        let second = read().await;
        assert_eq!(second.types.len(), 2);
        assert!(Arc::ptr_eq(&first.types["a.b"], &second.types["a.b"]), "parsed once");
        store.delete_document(owner.collection(KIND), "a.b").await.unwrap();
        put("a.b").await;
        assert!(!Arc::ptr_eq(&second, &read().await));
    }
}
