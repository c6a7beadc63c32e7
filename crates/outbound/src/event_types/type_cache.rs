//! The cache of event types, with compiled schemas.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use bytes::Bytes;
use gancho_schema::Schema;
use gancho_store::{Document, ReadCache, Result, Store};

use super::{
    EventTypeInfo, catalog,
    own::{KIND, MAX_COUNT, TypeDocument},
};
use crate::Owner;

pub(super) struct CompiledType {
    pub shown: EventTypeInfo,
    pub schema: Option<Result<Arc<Schema>, InvalidSchema>>,
    /// The document that it was compiled from, to detect changes.
    body: Bytes,
}

/// A stored schema that cannot be compiled any more. Events of its type are refused.
#[derive(Debug, Clone, Copy)]
pub(super) struct InvalidSchema;

impl CompiledType {
    pub fn built_in(shown: EventTypeInfo) -> Self {
        Self { shown, schema: None, body: Bytes::new() }
    }

    fn read(document: &Document, owner: Owner) -> Option<Self> {
        let stored: TypeDocument = serde_json::from_slice(&document.body)
            .inspect_err(
                |error| tracing::error!(key = document.key, %error, "stored event type is unreadable"),
            )
            .ok()?;
        let shown = stored.into_info(&document.key, owner);
        let compile = |schema: &serde_json::value::RawValue| {
            Schema::compile(schema.get()).map(Arc::new).map_err(|error| {
                tracing::error!(key = document.key, %error, "stored schema is invalid; its events are refused with 503");
                InvalidSchema
            })
        };
        let schema = shown.schema.as_deref().map(compile);
        Some(Self { schema, shown, body: document.body.clone() })
    }
}

/// The event types of an owner.
#[derive(Default)]
struct OwnerEventTypes {
    /// The version in the store when the types were read.
    version: u64,
    types: HashMap<String, Arc<CompiledType>>,
}

pub(super) struct TypeCache {
    store: Arc<dyn Store>,
    collections: ReadCache<Owner, OwnerEventTypes>,
}

/// The event types of one tenant.
pub(super) struct TenantEventTypes {
    own: Arc<OwnerEventTypes>,
    operators: Arc<OwnerEventTypes>,
}

impl TypeCache {
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, collections: ReadCache::new().with_pace(|owner| *owner != Owner::Operator) }
    }

    pub async fn of(&self, owner: impl Into<Owner>) -> Result<TenantEventTypes> {
        Ok(TenantEventTypes {
            own: self.collection(owner.into()).await?,
            operators: self.collection(Owner::Operator).await?,
        })
    }

    pub fn forget(&self, owner: Owner) {
        self.collections.forget(owner);
    }

    async fn collection(&self, owner: Owner) -> Result<Arc<OwnerEventTypes>> {
        self.collections.get(owner, |before| self.read(owner, before)).await
    }

    /// Reads the types if they have changed, and compiles only what has changed.
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
            let compiled = before.as_ref()?.types.get(&document.key)?;
            (compiled.body == document.body).then(|| compiled.clone())
        };
        let each = documents.iter().filter_map(|document| {
            let one =
                same(document).or_else(|| CompiledType::read(document, owner).map(Arc::new))?;
            Some((document.key.clone(), one))
        });
        Ok(Arc::new(OwnerEventTypes { version, types: each.collect() }))
    }
}

impl TenantEventTypes {
    pub fn find(&self, name: &str) -> Option<Arc<CompiledType>> {
        let own = self.own.types.get(name).or_else(|| self.operators.types.get(name));
        own.or_else(|| catalog::get(name)).cloned()
    }

    /// Returns all types sorted by name, without duplicates.
    pub fn all(&self) -> impl Iterator<Item = &CompiledType> {
        let built_in = catalog::all().map(|one| (one.shown.name.as_str(), one));
        let operators = self.operators.types.iter().map(|(name, one)| (name.as_str(), &**one));
        let own = self.own.types.iter().map(|(name, one)| (name.as_str(), &**one));
        let merged: BTreeMap<&str, &CompiledType> = built_in.chain(operators).chain(own).collect();
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
        assert!(Arc::ptr_eq(&first.types["a.b"], &second.types["a.b"]), "compiled once");
        store.delete_document(owner.collection(KIND), "a.b").await.unwrap();
        put("a.b").await;
        assert!(!Arc::ptr_eq(&second, &read().await));
    }
}
