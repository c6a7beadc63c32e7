//! Creates and changes sources and their keys. All input is validated first, with all errors at once, and
//! secrets are encrypted before they reach the store.
//!
//! In reading order: [`draft`] is the input; `check` validates it; `targets` assigns an id to each URL;
//! `keys` are added and removed; [`import`] reads the key-value form of partners' keys; `seal` encrypts
//! secrets.

mod check;
pub mod draft;
pub mod import;
mod keys;
pub(crate) mod seal;
mod targets;

use std::sync::Arc;

use gancho_domain::{Clock, FieldError, IdMaker, TenantId, field_error::joined};
use gancho_egress::Client;
use gancho_store::{Precondition, Store, StoreError};
use gancho_vault::{KeyRing, Secret};
use thiserror::Error;

pub use self::draft::{KeyDraft, SourceDraft};
use crate::{
    Partner, Source, Sources, activity,
    registry::{PreparedSource, body, documents, parse_document},
    source::{ON_DELETED, ON_KEYS, ON_SOURCES},
};

pub struct SourceService {
    pub store: Arc<dyn Store>,
    pub ring: Arc<KeyRing>,
    pub sources: Arc<Sources>,
    pub ids: Arc<IdMaker>,
    pub clock: Arc<dyn Clock>,
    /// The client whose policy decides which URLs may get receipts.
    pub client: Client,
}

/// A new source, with the secret that signs its dispatched requests.
pub struct NewSource {
    pub source: Source,
    pub dispatch_secret: Secret,
}

#[derive(Debug, Error)]
pub enum SourceError {
    #[error("{}", joined(.0))]
    Faulty(Vec<FieldError>),
    #[error("no source or key with this name exists")]
    NotFound,
    #[error("a source for the partner `{0}` already exists: change that one")]
    Taken(Partner),
    #[error("the maximum of {max} is reached: remove unused ones")]
    TooMany { max: usize },
    #[error("changed concurrently: try again")]
    Busy,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot encrypt or decrypt a secret: {0}")]
    Vault(String),
}

/// How often a change is retried if another one was faster.
const TRIES: usize = 5;
pub const MAX_SOURCES: usize = 10_000;
/// Maximum keys of a source. If the sender names no key, each valid key costs a pass over the body.
pub const MAX_KEYS: usize = 16;

impl SourceService {
    pub async fn create(&self, draft: SourceDraft) -> Result<NewSource, SourceError> {
        let blank = Source::blank(self.ids.make(), check::name(&draft)?, self.clock.now());
        let (source, secret) = self.apply(blank, &draft, true)?;
        let dispatch_secret = secret.ok_or(SourceError::Busy)?;
        if self.store.documents(ON_SOURCES, None, MAX_SOURCES).await?.len() >= MAX_SOURCES {
            return Err(SourceError::TooMany { max: MAX_SOURCES });
        }
        self.clear_keys(&source.partner).await?;
        let written = self
            .store
            .put_document(
                ON_SOURCES,
                source.partner.as_str(),
                body(&source)?,
                Precondition::Nothing,
            )
            .await?;
        self.sources.forget();
        match written {
            Some(_) => Ok(NewSource { source, dispatch_secret }),
            None => Err(SourceError::Taken(source.partner)),
        }
    }

    /// Changes the given properties and keeps the others.
    pub async fn change(
        &self,
        partner: &Partner,
        draft: SourceDraft,
    ) -> Result<Source, SourceError> {
        for _ in 0..TRIES {
            let (source, version) = self.read(partner).await?;
            let (mut source, _) = self.apply(source, &draft, false)?;
            source.touch(self.clock.now());
            if draft.preset.is_some() {
                self.check_fits(&source).await?;
            }
            if self.write(&source, version).await? {
                return Ok(source);
            }
        }
        Err(SourceError::Busy)
    }

    /// Checks that the keys fit the preset: another scheme must not leave keys that cannot be used with it.
    async fn check_fits(&self, source: &Source) -> Result<(), SourceError> {
        let keys = self.keys(&source.partner).await?;
        if !keys.is_empty() && !source.preset().has_keys() {
            let message = "the source has keys, which this preset does not use: delete them first";
            let error = FieldError::new("preset_unfit", "/preset", message);
            return Err(SourceError::Faulty(vec![error]));
        }
        let ready = PreparedSource::prepare(
            source.clone(),
            keys,
            Vec::new(),
            &self.ring,
            self.sources.defaults(),
            self.sources.checks(),
        );
        ready.map(|_| ()).map_err(|why| {
            let message = format!(
                "the keys of the source do not work with this preset ({why}): replace them"
            );
            SourceError::Faulty(vec![FieldError::new("preset_unfit", "/preset", message)])
        })
    }

    pub async fn get(&self, partner: &Partner) -> Result<Source, SourceError> {
        self.read(partner).await.map(|(source, _)| source)
    }

    /// Returns the tenant of a source, or of a deleted source of that name, whose receipts and dead letters
    /// still exist.
    pub async fn tenant_of(&self, partner: &Partner) -> Result<TenantId, SourceError> {
        match self.get(partner).await {
            Err(SourceError::NotFound) => {}
            found => return found.map(|source| source.tenant()),
        }
        let deleted = documents(&*self.store, ON_DELETED).await?;
        let named = deleted.iter().filter(|document| document.body == partner.as_str());
        // Ids increase with time.
        named.filter_map(|document| document.key.parse().ok()).max().ok_or(SourceError::NotFound)
    }

    /// Returns a page of sources, sorted by name.
    pub async fn list(&self, after: Option<&str>, max: usize) -> Result<Vec<Source>, SourceError> {
        let documents = self.store.documents(ON_SOURCES, after, max).await?;
        Ok(documents.iter().map(parse_document).collect::<Result<_, _>>()?)
    }

    /// Deletes the source and its keys. Its receipts stay; those that wait for dispatch become dead letters.
    pub async fn delete(&self, partner: &Partner) -> Result<(), SourceError> {
        // The keys are deleted first: a source without keys accepts nothing, but keys without a source would
        // belong to the next source of that name.
        for document in self.key_documents(partner).await? {
            self.store.delete_document(ON_KEYS, &document.key).await?;
        }
        if let Ok((source, _)) = self.read(partner).await {
            let (tenant, name) = (source.tenant().to_string(), partner.to_string());
            self.store
                .put_document(ON_DELETED, &tenant, name.into(), Precondition::Anything)
                .await?;
            activity::forget(&*self.store, &source).await?;
        }
        let was_there = self.store.delete_document(ON_SOURCES, partner.as_str()).await?;
        self.sources.forget();
        if was_there { Ok(()) } else { Err(SourceError::NotFound) }
    }

    /// Deletes keys that a deleted source of this name has left, because a key may have been added during the
    /// deletion. Lists them before it checks whether a source exists, because a new source's keys are created
    /// after the source.
    async fn clear_keys(&self, partner: &Partner) -> Result<(), SourceError> {
        let left = self.key_documents(partner).await?;
        if self.store.document(ON_SOURCES, partner.as_str()).await?.is_some() {
            return Err(SourceError::Taken(partner.clone()));
        }
        for document in left {
            self.store.delete_document(ON_KEYS, &document.key).await?;
        }
        Ok(())
    }

    async fn read(&self, partner: &Partner) -> Result<(Source, u64), SourceError> {
        let document = self.store.document(ON_SOURCES, partner.as_str()).await?;
        let document = document.ok_or(SourceError::NotFound)?;
        Ok((parse_document(&document)?, document.version))
    }

    async fn write(&self, source: &Source, version: u64) -> Result<bool, SourceError> {
        let expect = Precondition::Version(version);
        let written = self
            .store
            .put_document(ON_SOURCES, source.partner.as_str(), body(source)?, expect)
            .await?;
        self.sources.forget();
        Ok(written.is_some())
    }
}
