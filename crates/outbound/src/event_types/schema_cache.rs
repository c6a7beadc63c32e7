//! Compiled schemas of event types: compiled when they are used first, and as many kept as fit in a bounded part of
//! memory.
//!
//! Where there is no room for all, the owner whose schemas take most of it loses the one that has not been used for
//! longest, and compiles it again when it needs it. So a tenant with very many or very large schemas waits for them
//! itself, and the schemas of others stay.

use std::{
    collections::HashMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use gancho_schema::Schema;
use parking_lot::{Mutex, RwLock};

use crate::Owner;

/// Maximum memory of all compiled schemas, by their own estimate.
const MAX_BYTES: usize = 128 << 20;

/// A stored schema that cannot be compiled any more. Events of its type are refused.
#[derive(Debug, Clone, Copy)]
pub(super) struct InvalidSchema;

pub(super) type CompiledSchema = Result<Arc<Schema>, InvalidSchema>;

pub(super) struct SchemaCache {
    max_bytes: usize,
    /// The number of the last schema.
    last_id: AtomicU64,
    /// Rises with each schema that is compiled.
    clock: AtomicU64,
    contents: Mutex<Contents>,
}

#[derive(Default)]
struct Contents {
    bytes: usize,
    owners: HashMap<Owner, OwnerSchemas>,
}

#[derive(Default)]
struct OwnerSchemas {
    bytes: usize,
    schemas: HashMap<u64, (Weak<CachedSchema>, usize)>,
}

/// The schema of one version of one event type, compiled or not.
pub(super) struct CachedSchema {
    cache: Arc<SchemaCache>,
    owner: Owner,
    id: u64,
    /// Changed with the contents of the cache locked.
    compiled: RwLock<Option<CompiledSchema>>,
    /// The time of the cache's clock when it was last used.
    used_at: AtomicU64,
}

impl Default for SchemaCache {
    fn default() -> Self {
        Self::with(MAX_BYTES)
    }
}

impl SchemaCache {
    fn with(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            last_id: AtomicU64::default(),
            clock: AtomicU64::default(),
            contents: Mutex::default(),
        }
    }

    /// Adds a schema that is not compiled yet.
    pub fn add(self: &Arc<Self>, owner: Owner) -> Arc<CachedSchema> {
        Arc::new(CachedSchema {
            cache: self.clone(),
            owner,
            id: self.last_id.fetch_add(1, Ordering::Relaxed),
            compiled: RwLock::default(),
            used_at: AtomicU64::default(),
        })
    }

    /// Returns the estimated memory of the compiled schemas.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.contents.lock().bytes
    }

    fn keep(&self, one: &Arc<CachedSchema>, schema: &Arc<Schema>) {
        let now = self.clock.fetch_add(1, Ordering::Relaxed) + 1;
        one.used_at.store(now, Ordering::Relaxed);
        let bytes = schema.memory();
        // Dropped last: what is in it may be the last of its kind, and locks the contents when it is dropped.
        let mut evicted = Vec::new();
        let mut contents = self.contents.lock();
        contents.remove(one.owner, one.id);
        if bytes > self.max_bytes {
            return;
        }
        contents.add(one, bytes);
        *one.compiled.write() = Some(Ok(schema.clone()));
        while contents.bytes > self.max_bytes {
            let Some(last) = contents.take_largest_owners_oldest() else { break };
            if let Some(last) = last.upgrade() {
                let compiled = last.compiled.write().take();
                evicted.push((last, compiled));
            }
        }
        drop(contents);
    }
}

impl Contents {
    fn add(&mut self, one: &Arc<CachedSchema>, bytes: usize) {
        let owner = self.owners.entry(one.owner).or_default();
        owner.schemas.insert(one.id, (Arc::downgrade(one), bytes));
        owner.bytes += bytes;
        self.bytes += bytes;
    }

    fn remove(&mut self, owner: Owner, id: u64) -> Option<Weak<CachedSchema>> {
        let schemas = self.owners.get_mut(&owner)?;
        let (one, bytes) = schemas.schemas.remove(&id)?;
        schemas.bytes -= bytes;
        self.bytes -= bytes;
        if schemas.schemas.is_empty() {
            self.owners.remove(&owner);
        }
        Some(one)
    }

    fn take_largest_owners_oldest(&mut self) -> Option<Weak<CachedSchema>> {
        let (owner, schemas) = self.owners.iter().max_by_key(|(_, schemas)| schemas.bytes)?;
        let used_at =
            |one: &Weak<CachedSchema>| one.upgrade().map(|one| one.used_at.load(Ordering::Relaxed));
        let oldest = schemas.schemas.iter().min_by_key(|(id, (one, _))| (used_at(one), **id));
        let (owner, id) = (*owner, *oldest?.0);
        self.remove(owner, id)
    }
}

impl CachedSchema {
    /// Returns the schema if it is compiled.
    pub fn get(&self) -> Option<CompiledSchema> {
        let compiled = self.compiled.read().clone();
        self.used_at.store(self.cache.clock.load(Ordering::Relaxed), Ordering::Relaxed);
        compiled
    }

    /// Returns the schema, and compiles it if it is not, which may take long.
    pub fn get_or_compile(self: &Arc<Self>, name: &str, text: &str) -> CompiledSchema {
        if let Some(compiled) = self.get() {
            return compiled;
        }
        match Schema::compile(text) {
            Ok(schema) => {
                let schema = Arc::new(schema);
                self.cache.keep(self, &schema);
                Ok(schema)
            }
            Err(error) => {
                tracing::error!(key = name, %error, "stored schema is invalid; its events are refused with 503");
                *self.compiled.write() = Some(Err(InvalidSchema));
                Err(InvalidSchema)
            }
        }
    }
}

impl Drop for CachedSchema {
    fn drop(&mut self) {
        self.cache.contents.lock().remove(self.owner, self.id);
    }
}

#[cfg(test)]
mod tests {
    use gancho_domain::{TenantId, TenantScope};

    use super::*;

    const TEXT: &str = r#"{"pattern":"[ab]*a[ab]{20}c"}"#;

    fn owner(number: u128) -> Owner {
        TenantScope::internal(TenantId::from_bits(number)).into()
    }

    fn cache_for(schemas: usize) -> Arc<SchemaCache> {
        let one = Schema::compile(TEXT).unwrap().memory();
        Arc::new(SchemaCache::with(schemas * one))
    }

    /// Adds schemas of an owner and compiles them.
    fn fill(cache: &Arc<SchemaCache>, owner: Owner, count: usize) -> Vec<Arc<CachedSchema>> {
        let all: Vec<_> = (0..count).map(|_| cache.add(owner)).collect();
        for one in &all {
            one.get_or_compile("a.b", TEXT).unwrap();
        }
        all
    }

    fn compiled(schemas: &[Arc<CachedSchema>]) -> usize {
        schemas.iter().filter(|one| one.compiled.read().is_some()).count()
    }

    #[test]
    fn a_tenant_with_very_many_schemas_fills_what_others_leave() {
        let cache = cache_for(10);
        let few = fill(&cache, owner(1), 3);
        let many = fill(&cache, owner(2), 50);
        assert_eq!((compiled(&few), compiled(&many)), (3, 7), "the owner of most lost some");
        assert!(cache.bytes() <= cache.max_bytes);
        let others = fill(&cache, owner(3), 3);
        assert_eq!((compiled(&few), compiled(&many), compiled(&others)), (3, 4, 3));
        assert!(
            many[0].get_or_compile("a.b", TEXT).is_ok(),
            "it is compiled again when it is used"
        );
        drop((few, many, others));
        assert_eq!((cache.bytes(), cache.contents.lock().owners.len()), (0, 0));
    }

    #[test]
    fn the_one_that_has_not_been_used_for_longest_is_evicted() {
        let cache = cache_for(3);
        let schemas = fill(&cache, owner(1), 3);
        assert!(schemas[0].get().is_some());
        let more = fill(&cache, owner(1), 1);
        assert!(schemas[0].get().is_some() && schemas[1].get().is_none());
        assert_eq!(compiled(&more), 1);
    }

    #[test]
    fn one_that_is_too_large_is_used_but_not_kept() {
        let cache = Arc::new(SchemaCache::with(1_000));
        let one = cache.add(owner(1));
        let schema = one.get_or_compile("a.b", TEXT).unwrap();
        assert!(!schema.is_valid(b"\"x\""), "it is a schema");
        assert!(one.get().is_none() && cache.bytes() == 0);
    }

    #[test]
    fn an_invalid_one_is_compiled_once() {
        let cache = Arc::new(SchemaCache::default());
        let one = cache.add(Owner::Operator);
        assert!(one.get_or_compile("a.b", "{").is_err());
        assert!(matches!(one.get(), Some(Err(InvalidSchema))));
    }
}
