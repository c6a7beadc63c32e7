//! Watching the gateway: whether it lives, whether it is ready, and what it has done.
//!
//! In reading order: `health` answers the two questions of a supervisor; `observe` asks the store
//! what only it knows, at most every few seconds; `encode` writes all of it as metrics and
//! `of_store` what the store told and `received` what partners posted, in the words of `metric`, with
//! `process` for what the system knows of us; `text` is the older form of the same.
//!
//! **Bounded.** No label holds what a caller chose, except tenants, of which the busiest fifty are
//! named and the rest are `other`. So the number of series does not grow with the number of tenants,
//! endpoints or event types.

mod encode;
mod health;
mod inbound_metrics;
mod metric;
mod observe;
mod process;
mod store_metrics;
#[cfg(test)]
mod tests;
mod text_format;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use gancho_domain::Clock;
use gancho_engine::{Engine, Histogram};
use gancho_inbound::Inbound;
use gancho_store::Store;
use http::StatusCode;
use tokio_util::task::TaskTracker;

use observe::Observer;

pub struct WatchSetup {
    pub store: Arc<dyn Store>,
    pub engine: Arc<Engine>,
    pub clock: Arc<dyn Clock>,
    /// Nothing where no webhooks are received.
    pub inbound: Option<Arc<Inbound>>,
}

pub struct Watch {
    store: Arc<dyn Store>,
    engine: Arc<Engine>,
    clock: Arc<dyn Clock>,
    inbound: Option<Arc<Inbound>>,
    observer: Observer,
    /// From the beginning of a publish call to its being on stable storage.
    accept: Histogram,
    events_accepted: AtomicU64,
    is_stopping: AtomicBool,
    tasks: TaskTracker,
}

/// What to answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub status: StatusCode,
    pub content_type: &'static str,
    pub body: String,
}

impl Watch {
    pub fn new(parts: WatchSetup) -> Arc<Self> {
        let WatchSetup { store, engine, clock, inbound } = parts;
        Arc::new(Self {
            store,
            engine,
            clock,
            inbound,
            observer: Observer::default(),
            accept: Histogram::quick(),
            events_accepted: AtomicU64::new(0),
            is_stopping: AtomicBool::new(false),
            tasks: TaskTracker::new(),
        })
    }

    /// So many events of one call are on stable storage.
    pub fn accepted(&self, count: usize, took: Duration) {
        self.accept.add(took);
        self.events_accepted.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// From now on this process is not ready: whoever spreads requests goes elsewhere.
    pub fn stopping(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }
}
