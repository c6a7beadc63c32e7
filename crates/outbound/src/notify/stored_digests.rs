//! Digests that are not sent yet, in the store: if this node dies, another node sends them, or this one after
//! its restart.
//!
//! Each is a document of the operator with the whole notice, written again as it grows, and deleted when it
//! is sent. The counts of the last seconds before a crash are missing, so a digest that was taken over says
//! that it is not exact.

use std::time::Duration;

use bytes::Bytes;
use gancho_domain::{EndpointId, EventId, TenantId, Time};
use gancho_store::{Collection, Document, Precondition, Result, Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    EXHAUSTED, Notice, Notifier,
    digest::{WINDOW, Window},
};

const COLLECTION: Collection = Collection::operators("pending_digest");
/// How long after it is due a digest is taken over.
const GRACE: Duration = Duration::from_mins(1);
/// When the store may remove a digest that no node sent.
const TTL: Duration = Duration::from_hours(24);
/// Maximum documents in one read.
const MAX_READ: usize = 100;

#[derive(Debug, Serialize, Deserialize)]
struct StoredDigest {
    tenant: String,
    endpoint: String,
    /// When the node that counts must have sent it.
    due_at_micros: i64,
    once: String,
    data: Value,
}

/// The digests of one process. Every process has a unique name, also after a restart.
pub(crate) struct StoredDigests {
    process: String,
}

impl StoredDigests {
    pub fn new(process: EventId) -> Self {
        Self { process: process.to_string() }
    }

    fn key(&self, endpoint: EndpointId) -> String {
        format!("{}/{endpoint}", self.process)
    }

    pub async fn save(
        &self,
        notifier: &Notifier,
        (tenant, endpoint): (TenantId, EndpointId),
        window: &Window,
    ) -> Result<()> {
        let notice = window.notice(tenant, endpoint);
        if !notifier.has_audience(tenant, &notice).await? {
            return Ok(());
        }
        let mut data: Value = read(&notice.data)?;
        data["is_exact"] = false.into();
        let digest = StoredDigest {
            tenant: tenant.to_string(),
            endpoint: endpoint.to_string(),
            due_at_micros: (window.began + WINDOW).micros(),
            once: window.once(endpoint),
            data,
        };
        put(&*notifier.store, &self.key(endpoint), &digest, Precondition::Anything).await?;
        Ok(())
    }

    pub async fn forget(&self, store: &dyn Store, endpoint: EndpointId) -> Result<()> {
        store.delete_document(COLLECTION, &self.key(endpoint)).await?;
        Ok(())
    }

    /// Sends the digests that dead processes have left. One that cannot be sent, as the database of its tenant does not
    /// answer, holds up no other; it is retried.
    pub async fn take_over(&self, notifier: &Notifier) -> Result<()> {
        let (mut after, mut outcome) = (None, Ok(()));
        loop {
            let found = notifier.store.documents(COLLECTION, after.as_deref(), MAX_READ).await?;
            for document in &found {
                if !document.key.starts_with(&self.process) {
                    outcome = outcome.and(self.take_over_one(notifier, document).await);
                }
            }
            if found.len() < MAX_READ {
                return outcome;
            }
            after = found.last().map(|document| document.key.clone());
        }
    }

    async fn take_over_one(&self, notifier: &Notifier, document: &Document) -> Result<()> {
        let (now, store) = (notifier.clock.now(), &*notifier.store);
        let Ok(mut digest) = read::<StoredDigest>(&document.body) else {
            // Written by another version, which takes it over itself, or it expires.
            return Ok(());
        };
        if now.since(Time::from_micros(digest.due_at_micros)) < GRACE {
            return Ok(());
        }
        // If several nodes try, one sends it; if that node dies, another does.
        digest.due_at_micros = now.micros();
        let mine =
            put(store, &document.key, &digest, Precondition::Version(document.version)).await?;
        if mine.is_none() {
            return Ok(());
        }
        if let (Ok(tenant), Ok(about)) = (digest.tenant.parse(), digest.endpoint.parse()) {
            let data = Bytes::from(digest.data.to_string());
            let notice = Notice { event_type: EXHAUSTED, data, about };
            notifier.send(tenant, &notice, &digest.once).await?;
        }
        store.delete_document(COLLECTION, &document.key).await?;
        Ok(())
    }
}

fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T> {
    serde_json::from_slice(body).map_err(|error| corrupt(&error))
}

fn corrupt(error: &serde_json::Error) -> StoreError {
    StoreError::Corrupt(format!("a stored digest: {error}"))
}

async fn put(
    store: &dyn Store,
    key: &str,
    digest: &StoredDigest,
    expect: Precondition,
) -> Result<Option<u64>> {
    let body = serde_json::to_vec(digest).map_err(|error| corrupt(&error))?;
    let until = Time::from_micros(digest.due_at_micros) + TTL;
    store.put_document_until(COLLECTION, key, body.into(), expect, until).await
}
