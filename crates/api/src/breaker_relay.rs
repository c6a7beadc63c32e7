//! Lets every node show the circuit breakers that any node has opened.
//!
//! Each node with open breakers writes a small document to the store, which expires with the node.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use gancho_domain::{Clock, Time};
use gancho_engine::{Engine, OpenBreaker};
use gancho_store::{Collection, Precondition, Result, Store};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The documents, by the node's number.
const BREAKERS: Collection = Collection::operators("breakers");
const PACE: Duration = Duration::from_secs(2);
/// How often an unchanged document is written again, so that it does not expire.
const REFRESH: Duration = Duration::from_secs(20);
const TTL: Duration = Duration::from_secs(60);
/// Maximum nodes that are read.
const MAX_NODES: usize = 64;

pub struct BreakerRelay {
    engine: Arc<Engine>,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    /// What was last written, and when.
    written: Option<(Vec<OpenBreaker>, Instant)>,
}

/// The time is in microseconds.
#[derive(Serialize, Deserialize)]
struct BreakerRecord {
    lane: String,
    tenant: String,
    target: String,
    until: i64,
}

#[derive(Serialize, Deserialize)]
struct NodeBreakers {
    /// When it was written, in microseconds.
    at: i64,
    open: Vec<BreakerRecord>,
}

impl BreakerRelay {
    pub fn new(engine: Arc<Engine>, store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self { engine, store, clock, written: None }
    }

    /// Runs until it is stopped.
    pub async fn run(mut self, stop: CancellationToken) {
        while tokio::time::timeout(PACE, stop.cancelled()).await.is_err() {
            // An unreachable store has its own alert, and the node shows only its own breakers then.
            if let Err(error) = self.round().await {
                tracing::debug!(%error, "could not exchange open circuit breakers; will retry");
            }
        }
        let _ = self.store.delete_document(BREAKERS, &self.key()).await;
    }

    async fn round(&mut self) -> Result<()> {
        self.write().await?;
        let (own, now) = (self.key(), self.clock.now());
        let found = self.store.documents(BREAKERS, None, MAX_NODES).await?;
        let node = found
            .iter()
            .filter(|document| document.key != own)
            .filter_map(|document| serde_json::from_slice::<NodeBreakers>(&document.body).ok())
            .filter(|node| now.since(Time::from_micros(node.at)) < TTL);
        self.engine
            .show_breakers(node.flat_map(|node| node.open).filter_map(BreakerRecord::breaker));
        Ok(())
    }

    async fn write(&mut self) -> Result<()> {
        let open = self.engine.open_breakers();
        let is_known = |(written, at): &(Vec<OpenBreaker>, Instant)| {
            *written == open && (open.is_empty() || at.elapsed() < REFRESH)
        };
        if self.written.as_ref().map_or(open.is_empty(), is_known) {
            return Ok(());
        }
        if open.is_empty() {
            self.store.delete_document(BREAKERS, &self.key()).await?;
        } else {
            let now = self.clock.now();
            let node = NodeBreakers {
                at: now.micros(),
                open: open.iter().map(BreakerRecord::of).collect(),
            };
            let body = Bytes::from(serde_json::to_vec(&node).unwrap_or_default());
            let (key, until) = (self.key(), now + TTL);
            self.store
                .put_document_until(BREAKERS, &key, body, Precondition::Anything, until)
                .await?;
        }
        self.written = Some((open, Instant::now()));
        Ok(())
    }

    fn key(&self) -> String {
        self.engine.node().0.to_string()
    }
}

impl BreakerRecord {
    fn of(breaker: &OpenBreaker) -> Self {
        Self {
            lane: breaker.lane.name().to_owned(),
            tenant: breaker.tenant.to_string(),
            target: breaker.target.to_string(),
            until: breaker.until.micros(),
        }
    }

    /// Converts the record. Nodes of two versions may run at the same time, so a record that cannot be read
    /// is left out.
    fn breaker(self) -> Option<OpenBreaker> {
        Some(OpenBreaker {
            lane: self.lane.parse().ok()?,
            tenant: self.tenant.parse().ok()?,
            target: self.target.parse().ok()?,
            until: Time::from_micros(self.until),
        })
    }
}
