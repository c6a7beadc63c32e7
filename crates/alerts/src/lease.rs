//! Decides which node evaluates the rules: the one that renews a document of the store. A node that sees it
//! unchanged for a while takes it over. Clocks are not compared, so they may differ.

use std::time::Duration;

use bytes::Bytes;
use gancho_store::{Collection, Precondition, Result, Store, StoreError};
use tokio::time::Instant;

const COLLECTION: Collection = Collection::operators("alerts");
const KEY: &str = "lease";

#[derive(Default)]
pub(crate) struct Lease {
    /// The version that this node wrote.
    mine: Option<u64>,
    /// The version of another node, and when it was first seen.
    seen: Option<(u64, Instant)>,
}

impl Lease {
    /// Takes or renews the lease. Returns whether this node holds it for the next `ttl`.
    pub async fn hold(&mut self, store: &dyn Store, node: &str, ttl: Duration) -> Result<bool> {
        let found = store.document(COLLECTION, KEY).await?.map(|document| document.version);
        // Only one process at a time has an embedded store.
        let is_alone = store.name() == "sqlite";
        let expect = match found {
            None => Precondition::Nothing,
            Some(version) if self.mine == Some(version) || is_alone => {
                Precondition::Version(version)
            }
            Some(version) => {
                self.mine = None;
                match self.seen {
                    Some((seen, at)) if seen == version && at.elapsed() >= ttl => {
                        Precondition::Version(version)
                    }
                    Some((seen, _)) if seen == version => return Ok(false),
                    _ => {
                        self.seen = Some((version, Instant::now()));
                        return Ok(false);
                    }
                }
            }
        };
        let body = Bytes::copy_from_slice(node.as_bytes());
        match store.put_document(COLLECTION, KEY, body, expect).await {
            Ok(version) => {
                self.mine = version;
                Ok(version.is_some())
            }
            // No other node can write it either.
            Err(StoreError::Full(_)) => Ok(self.mine.is_some() || is_alone),
            Err(error) => Err(error),
        }
    }

    /// Lets another node take it at once.
    pub async fn release(&mut self, store: &dyn Store) {
        let Some(mine) = self.mine.take() else { return };
        if let Ok(Some(found)) = store.document(COLLECTION, KEY).await
            && found.version == mine
        {
            let _ = store.delete_document(COLLECTION, KEY).await;
        }
    }
}
