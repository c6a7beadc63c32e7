//! The cache of all sources, prepared for verification: a request of an unknown sender causes no read of
//! the store. The [`ReadCache`] decides how long it is valid.
//!
//! When the cache expires all documents are read again, but only those that changed are prepared again.

mod prepared_source;

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use gancho_domain::{RetryPlan, SourceId, TenantId};
use gancho_egress::Hops;
use gancho_engine::CheckThreads;
use gancho_store::{Collection, Document, ReadCache, Result, Store, StoreError};
use gancho_vault::KeyRing;

pub use self::prepared_source::{PreparedKey, PreparedSource, ProofKeys, Target, TargetAddress};
use crate::{
    Source, SourceKey,
    source::{DEFAULT_TARGET, ON_DELETED, ON_KEYS, ON_SOURCES},
};

pub struct Sources {
    store: Arc<dyn Store>,
    ring: Arc<KeyRing>,
    known: ReadCache<(), SourceSet>,
    defaults: SourceDefaults,
    hops: Hops,
    checks: Arc<CheckThreads>,
}

/// Defaults of sources.
#[derive(Debug, Clone)]
pub struct SourceDefaults {
    /// The default target, applied when a source is created.
    pub target_url: String,
    pub plan: Arc<RetryPlan>,
}

impl Default for SourceDefaults {
    fn default() -> Self {
        Self { target_url: DEFAULT_TARGET.to_owned(), plan: Arc::new(RetryPlan::DISPATCH) }
    }
}

/// All sources.
#[derive(Default)]
pub struct SourceSet {
    by_partner: HashMap<Box<str>, Arc<PreparedSource>>,
    by_tenant: HashMap<TenantId, Arc<PreparedSource>>,
    /// Sources that this node cannot use: its key ring is another one, or their documents are unreadable.
    unusable: HashMap<Box<str>, String>,
}

pub enum SourceLookup {
    Source(Arc<PreparedSource>),
    Nobody,
    /// It exists but is unusable on this node, for this reason.
    Unusable(String),
}

const PAGE: usize = 500;

impl Sources {
    pub fn new(store: Arc<dyn Store>, ring: Arc<KeyRing>) -> Self {
        let hops = Hops::new(ring.clone());
        Self {
            store,
            ring,
            known: ReadCache::new(),
            defaults: SourceDefaults::default(),
            hops,
            checks: Arc::default(),
        }
    }

    #[must_use]
    pub fn with_defaults(self, defaults: SourceDefaults) -> Self {
        Self { defaults, ..self }
    }

    pub fn defaults(&self) -> &SourceDefaults {
        &self.defaults
    }

    /// The threads that check the schemas of sources.
    pub(crate) fn checks(&self) -> &Arc<CheckThreads> {
        &self.checks
    }

    /// Marks the gateway's own requests, to detect loops.
    pub fn hops(&self) -> &Hops {
        &self.hops
    }

    pub async fn all(&self) -> Result<Arc<SourceSet>> {
        self.known.get((), |before| async { self.read(before).await.map(Arc::new) }).await
    }

    pub async fn find(&self, partner: &str) -> Result<SourceLookup> {
        Ok(self.all().await?.find(partner))
    }

    /// Returns the source of this tenant id. Reads the store if it is not cached, because another node may
    /// have just created it.
    pub async fn of_tenant(&self, tenant: TenantId) -> Result<Option<Arc<PreparedSource>>> {
        if let Some(source) = self.all().await?.of_tenant(tenant) {
            return Ok(Some(source));
        }
        if self.store.document(ON_DELETED, &tenant.to_string()).await?.is_some() {
            return Ok(None);
        }
        self.forget();
        Ok(self.all().await?.of_tenant(tenant))
    }

    /// Returns a cached source, without reading the store.
    pub fn known(&self, tenant: TenantId) -> Option<Arc<PreparedSource>> {
        self.known.peek(()).and_then(|all| all.of_tenant(tenant))
    }

    /// Whether this node cannot use one of the sources that were read last.
    pub fn has_unusable(&self) -> bool {
        self.known.peek(()).is_some_and(|all| all.has_unusable())
    }

    /// Returns the partner of this tenant id, also of a deleted source; `None` for other tenants.
    pub async fn partner_of(&self, tenant: TenantId) -> Result<Option<Arc<str>>> {
        if let Some(source) = self.all().await?.of_tenant(tenant) {
            return Ok(Some(source.source.partner.as_str().into()));
        }
        let document = self.store.document(ON_DELETED, &tenant.to_string()).await?;
        let name = |document: Document| String::from_utf8(document.body.into()).ok().map(Arc::from);
        Ok(document.and_then(name))
    }

    /// Invalidates the cache after a change on this node.
    pub fn forget(&self) {
        self.known.forget(());
    }

    async fn read(&self, before: Option<Arc<SourceSet>>) -> Result<SourceSet> {
        let before = before.unwrap_or_default();
        let known_unusable = &before.unusable;
        let mut keys = HashMap::<Box<str>, Vec<Document>>::new();
        for document in documents(&*self.store, ON_KEYS).await? {
            let partner = document.key.split('/').next().unwrap_or_default();
            keys.entry(partner.into()).or_default().push(document);
        }
        let mut all = SourceSet::default();
        for document in documents(&*self.store, ON_SOURCES).await? {
            let keys = keys.remove(document.key.as_str()).unwrap_or_default();
            let made_of: Vec<Bytes> = std::iter::once(&document)
                .chain(&keys)
                .map(|document| document.body.clone())
                .collect();
            let before = before.by_partner.get(document.key.as_str());
            if let Some(unchanged) =
                before.filter(|prepared_source| prepared_source.made_of == made_of)
            {
                all.add(unchanged.clone());
                continue;
            }
            match self.prepare(&document, &keys, made_of) {
                Ok(prepared_source) => all.add(Arc::new(prepared_source)),
                Err(why) => {
                    // Logged once, not at each reload.
                    if known_unusable.get(document.key.as_str()) != Some(&why) {
                        tracing::error!(partner = document.key, reason = why, "source is unusable");
                    }
                    all.unusable.insert(document.key.into(), why);
                }
            }
        }
        Ok(all)
    }

    /// Prepares the sources. An unreadable one affects only itself: the others are updated.
    fn prepare(
        &self,
        document: &Document,
        keys: &[Document],
        made_of: Vec<Bytes>,
    ) -> std::result::Result<PreparedSource, String> {
        let source: Source = parse_document(document).map_err(|error| error.to_string())?;
        let keys = keys.iter().map(parse_document::<SourceKey>).collect::<Result<Vec<_>>>();
        let mut keys = keys.map_err(|error| error.to_string())?;
        keys.retain(|key| key.is_of(&source));
        PreparedSource::prepare(source, keys, made_of, &self.ring, &self.defaults, &self.checks)
    }
}

/// Reads all documents, a page at a time.
pub(crate) async fn documents(store: &dyn Store, on: Collection) -> Result<Vec<Document>> {
    let mut all: Vec<Document> = Vec::new();
    loop {
        let after = all.last().map(|document| document.key.clone());
        let page = store.documents(on, after.as_deref(), PAGE).await?;
        let is_last = page.len() < PAGE;
        all.extend(page);
        if is_last {
            return Ok(all);
        }
    }
}

impl SourceSet {
    pub fn find(&self, partner: &str) -> SourceLookup {
        match (self.by_partner.get(partner), self.unusable.get(partner)) {
            (Some(prepared_source), _) => SourceLookup::Source(prepared_source.clone()),
            (None, Some(why)) => SourceLookup::Unusable(why.clone()),
            (None, None) => SourceLookup::Nobody,
        }
    }

    pub fn of_tenant(&self, tenant: TenantId) -> Option<Arc<PreparedSource>> {
        self.by_tenant.get(&tenant).cloned()
    }

    /// Returns the id of a partner's source.
    pub(crate) fn id_of(&self, partner: &str) -> Option<SourceId> {
        self.by_partner.get(partner).map(|prepared_source| prepared_source.source.id)
    }

    /// Returns the sources by name.
    pub fn sources(&self) -> Vec<Arc<PreparedSource>> {
        let mut all: Vec<_> = self.by_partner.values().cloned().collect();
        all.sort_unstable_by(|one, other| one.source.partner.cmp(&other.source.partner));
        all
    }

    /// Whether some sources are unusable on this node, so that their deliveries are not ended.
    pub fn has_unusable(&self) -> bool {
        !self.unusable.is_empty()
    }

    fn add(&mut self, prepared_source: Arc<PreparedSource>) {
        self.by_tenant.insert(prepared_source.source.tenant(), prepared_source.clone());
        self.by_partner.insert(prepared_source.source.partner.as_str().into(), prepared_source);
    }
}

/// Parses a document.
pub(crate) fn parse_document<T: serde::de::DeserializeOwned>(document: &Document) -> Result<T> {
    let corrupt = |error| StoreError::Corrupt(format!("the document `{}`: {error}", document.key));
    serde_json::from_slice(&document.body).map_err(corrupt)
}

pub(crate) fn body(document: &impl serde::Serialize) -> Result<Bytes> {
    let corrupt = |error: serde_json::Error| StoreError::Corrupt(error.to_string());
    serde_json::to_vec(document).map(Bytes::from).map_err(corrupt)
}
