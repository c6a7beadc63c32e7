//! Monitoring: liveness, readiness and metrics.
//!
//! In reading order: `health` answers the probes; `observe` reads figures from the store, at most every few
//! seconds; `encode` writes all metrics, with `delivery_metrics`, `store_metrics`, `inbound_metrics`, `process`
//! and `disk` for those of the engine, the store, the sources and the system, using `metric`; `text_format` converts OpenMetrics to the
//! older text format.
//!
//! **Bounded cardinality.** No label value is chosen by a caller, except tenants: the busiest fifty are
//! named, the rest are `other`. So the number of series does not grow with the number of tenants, endpoints
//! or event types.

mod delivery_metrics;
pub mod disk;
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
    path::PathBuf,
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
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use observe::Observer;

pub struct WatchSetup {
    pub store: Arc<dyn Store>,
    pub engine: Arc<Engine>,
    pub clock: Arc<dyn Clock>,
    /// `None` if receiving is disabled.
    pub inbound: Option<Arc<Inbound>>,
    /// The directory whose disk is measured.
    pub data_dir: Option<PathBuf>,
}

pub struct Watch {
    store: Arc<dyn Store>,
    engine: Arc<Engine>,
    clock: Arc<dyn Clock>,
    inbound: Option<Arc<Inbound>>,
    data_dir: Option<PathBuf>,
    observer: Observer,
    /// Whether the store answered the last check.
    store_check: tokio::sync::Mutex<Option<(Instant, bool)>>,
    /// Time from a publish request to its events being durably stored.
    accept: Histogram,
    events_accepted: AtomicU64,
    is_stopping: AtomicBool,
    tasks: TaskTracker,
}

/// A response of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub status: StatusCode,
    pub content_type: &'static str,
    pub body: String,
}

impl Watch {
    pub fn new(parts: WatchSetup) -> Arc<Self> {
        let WatchSetup { store, engine, clock, inbound, data_dir } = parts;
        Arc::new(Self {
            store,
            engine,
            clock,
            inbound,
            data_dir,
            observer: Observer::default(),
            store_check: tokio::sync::Mutex::default(),
            accept: Histogram::quick(),
            events_accepted: AtomicU64::new(0),
            is_stopping: AtomicBool::new(false),
            tasks: TaskTracker::new(),
        })
    }

    /// Records the events of a publish request that are durably stored.
    pub fn accepted(&self, count: usize, took: Duration) {
        self.accept.add(took);
        self.events_accepted.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Makes this process not ready, so that load balancers send requests elsewhere.
    pub fn stopping(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }
}
