//! The activity of sources over all nodes: how many requests were accepted, and the most recent rejections.
//! Stored as one small document for each source, and one for requests without a known partner.
//!
//! A request costs no write: a node counts in memory ([`counters`](crate::counters),
//! [`rejections`](crate::rejections)) and adds what is new to the documents every few seconds, a bounded
//! number of them at a time. A node that is killed loses what it has not added yet; a node that stops does
//! not.

use std::{collections::VecDeque, time::Duration};

use bytes::Bytes;
use gancho_domain::{ReceiptId, Time};
use gancho_store::{Collection, Document, Precondition, Result, StoreError};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::{
    Inbound, Reason, Rejection, Source,
    counters::Counts,
    registry::SourceSet,
    rejections::{MAX_KEPT, UNKNOWN},
};

const COLLECTION: Collection = Collection::operators("source_activity");
/// The key for requests without a known partner. No source id looks like it.
const STRANGERS: &str = "unknown";
const SAVE_EVERY: Duration = Duration::from_secs(2);
/// Maximum documents per write. Bounds the cost of a flood over all partners.
const MAX_WRITES: usize = 20;
/// How often a document is read again if another node has changed it.
const TRIES: usize = 5;
/// Maximum writes that a document remembers, so that a write whose response was lost is not counted twice.
const MAX_MARKS: usize = 16;

/// The stored form.
#[derive(Default, Serialize, Deserialize)]
struct ActivityDocument {
    counts: Counts,
    /// Oldest first.
    rejections: VecDeque<RejectionDocument>,
    marks: VecDeque<String>,
}

#[derive(Serialize, Deserialize)]
struct RejectionDocument {
    at: i64,
    partner: String,
    status: u16,
    /// The name of the reason. A node of another version may have written one that this node does not know.
    reason: String,
    detail: Option<String>,
    headers: Vec<(String, String)>,
    size: usize,
}

/// The activity that one node has not stored yet. Its mark stays the same until it is stored.
struct UnsavedActivity {
    partner: Box<str>,
    counts: Counts,
    rejections: Vec<Rejection>,
    mark: String,
}

/// The activity of a source, over all nodes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceActivity {
    pub counts: Counts,
    /// Newest first.
    pub rejections: Vec<Rejection>,
}

/// The state of the writer.
#[derive(Default)]
pub struct Activity(Mutex<SaveRound>);

#[derive(Default)]
struct SaveRound {
    /// The last partner that was stored.
    after: Option<Box<str>>,
    /// A write whose response was lost. It is repeated first, unchanged.
    doubt: Option<UnsavedActivity>,
}

impl Inbound {
    /// Saves the activity regularly until `stop`, then once more.
    pub async fn keep_activity(&self, stop: CancellationToken) {
        loop {
            let is_last = tokio::time::timeout(SAVE_EVERY, stop.cancelled()).await.is_ok();
            if let Err(error) = self.save_activity().await {
                tracing::warn!(%error, "could not save the counts and rejections of sources");
            }
            if is_last {
                return;
            }
        }
    }

    /// Adds what is new on this node to the documents of a limited number of partners, in turn.
    pub async fn save_activity(&self) -> Result<()> {
        let mut round = self.activity.0.lock().await;
        let sources = self.sources.all().await?;
        if let Some(unsaved) = round.doubt.take() {
            self.add(&mut round, &sources, unsaved).await?;
        }
        for _ in 0..MAX_WRITES {
            let Some(unsaved) = self.next_unsaved(round.after.as_deref()) else { break };
            round.after = Some(unsaved.partner.clone());
            self.add(&mut round, &sources, unsaved).await?;
        }
        Ok(())
    }

    /// Returns the activity of a source, over all nodes.
    pub async fn activity_of(&self, source: &Source) -> Result<SourceActivity> {
        self.stored_activity(source.partner.as_str(), &source.id.to_string()).await
    }

    /// Returns the activity of requests without a known partner.
    pub async fn activity_of_unknown_partners(&self) -> Result<SourceActivity> {
        self.stored_activity(UNKNOWN, STRANGERS).await
    }

    async fn stored_activity(&self, partner: &str, key: &str) -> Result<SourceActivity> {
        // Locks out the writer, so that nothing is counted twice or missed.
        let _round = self.activity.0.lock().await;
        let (mut stored, _) = read(self.store.document(COLLECTION, key).await?)?;
        let (counts, rejections) =
            (self.counters.unsaved(partner), self.rejections.unsaved(partner));
        stored.add(counts, rejections);
        let rejections =
            stored.rejections.into_iter().rev().filter_map(RejectionDocument::read).collect();
        Ok(SourceActivity { counts: stored.counts, rejections })
    }

    /// Returns the next partner with something new, in turn.
    fn next_unsaved(&self, after: Option<&str>) -> Option<UnsavedActivity> {
        let mut partners = self.counters.changed();
        partners.extend(self.rejections.changed());
        let next = partners.iter().find(|name| after.is_none_or(|after| &***name > after));
        let partner = next.or(partners.first())?.clone();
        let mark: ReceiptId = self.ids.make();
        Some(UnsavedActivity {
            counts: self.counters.unsaved(&partner),
            rejections: self.rejections.unsaved(&partner),
            mark: mark.to_string(),
            partner,
        })
    }

    async fn add(
        &self,
        round: &mut SaveRound,
        sources: &SourceSet,
        unsaved: UnsavedActivity,
    ) -> Result<()> {
        let key = match sources.id_of(&unsaved.partner) {
            Some(id) => Some(id.to_string()),
            None if *unsaved.partner == *UNKNOWN => Some(STRANGERS.to_owned()),
            // The source was deleted.
            None => None,
        };
        if let Some(key) = key
            && let Err(error) = self.write(&key, &unsaved).await
        {
            round.doubt = Some(unsaved);
            return Err(error);
        }
        self.counters.saved(&unsaved.partner, unsaved.counts);
        self.rejections.saved(&unsaved.partner, unsaved.rejections.len());
        Ok(())
    }

    async fn write(&self, key: &str, unsaved: &UnsavedActivity) -> Result<()> {
        for _ in 0..TRIES {
            let (mut stored, expect) = read(self.store.document(COLLECTION, key).await?)?;
            if stored.marks.contains(&unsaved.mark) {
                return Ok(());
            }
            stored.add(unsaved.counts, unsaved.rejections.clone());
            stored.marks.push_back(unsaved.mark.clone());
            let excess = stored.marks.len().saturating_sub(MAX_MARKS);
            stored.marks.drain(..excess);
            if self.store.put_document(COLLECTION, key, stored.body()?, expect).await?.is_some() {
                return Ok(());
            }
        }
        Err(StoreError::Unavailable("the document was changed concurrently by other nodes".into()))
    }
}

/// Deletes the activity of a deleted source.
pub(crate) async fn forget(store: &dyn gancho_store::Store, source: &Source) -> Result<()> {
    store.delete_document(COLLECTION, &source.id.to_string()).await.map(drop)
}

impl ActivityDocument {
    fn add(&mut self, counts: Counts, rejections: Vec<Rejection>) {
        self.counts = self.counts + counts;
        self.rejections.extend(rejections.into_iter().map(RejectionDocument::of));
        // Nodes write in any order.
        self.rejections.make_contiguous().sort_by_key(|rejection| rejection.at);
        let excess = self.rejections.len().saturating_sub(MAX_KEPT);
        self.rejections.drain(..excess);
    }

    fn body(&self) -> Result<Bytes> {
        let corrupt = |error: serde_json::Error| StoreError::Corrupt(error.to_string());
        serde_json::to_vec(self).map(Bytes::from).map_err(corrupt)
    }
}

impl RejectionDocument {
    fn of(rejection: Rejection) -> Self {
        let Rejection { at, partner, status, reason, detail, headers, size } = rejection;
        let (at, reason) = (at.micros(), reason.name().to_owned());
        Self { at, partner, status, reason, detail, headers, size }
    }

    fn read(self) -> Option<Rejection> {
        let Self { at, partner, status, reason, detail, headers, size } = self;
        let (at, reason) = (Time::from_micros(at), Reason::from_name(&reason)?);
        Some(Rejection { at, partner, status, reason, detail, headers, size })
    }
}

fn read(document: Option<Document>) -> Result<(ActivityDocument, Precondition)> {
    let Some(document) = document else {
        return Ok((ActivityDocument::default(), Precondition::Nothing));
    };
    let stored = crate::registry::parse_document(&document)?;
    Ok((stored, Precondition::Version(document.version)))
}
