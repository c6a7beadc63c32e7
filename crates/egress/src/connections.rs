//! The connections of a pool, by origin, as a shard with its own lock.

use std::{
    collections::{HashMap, VecDeque},
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use hyper::client::conn::{http1, http2};
use tokio::time::Instant;

use crate::handshake::{Body, MaxStreams};

#[derive(Default)]
pub(crate) struct Shard {
    pub(crate) destinations: HashMap<Box<str>, Destination>,
    /// The number of connections, idle and shared.
    pub(crate) kept: usize,
}

#[derive(Default)]
pub(crate) struct Destination {
    /// The most recently used is at the back.
    pub(crate) idle: VecDeque<IdleConnection>,
    pub(crate) shared: Vec<Arc<SharedConnection>>,
}

pub(crate) struct IdleConnection {
    pub(crate) own: ExclusiveConnection,
    pub(crate) since: Instant,
    pub(crate) until: Instant,
}

/// A connection that has to make room for others. Held for its `Drop`, which closes it.
#[expect(dead_code, reason = "held to be dropped")]
pub(crate) enum EvictedConnection {
    Idle(IdleConnection),
    Shared(Arc<SharedConnection>),
}

/// A connection in use.
pub(crate) enum PooledConnection {
    ExclusiveConnection(ExclusiveConnection),
    SharedConnection(StreamPermit),
}

pub(crate) struct ExclusiveConnection {
    pub(crate) sender: http1::SendRequest<Body>,
    pub(crate) peer: Option<IpAddr>,
    pub(crate) opened: Instant,
}

pub(crate) struct SharedConnection {
    pub(crate) sender: http2::SendRequest<Body>,
    pub(crate) peer: Option<IpAddr>,
    pub(crate) opened: Instant,
    pub(crate) in_flight: AtomicU32,
    pub(crate) max_streams: Arc<MaxStreams>,
    /// Milliseconds since the pool was created.
    pub(crate) last_used: AtomicU64,
}

/// A permit for one stream on a shared connection. Returned when dropped.
pub(crate) struct StreamPermit {
    pub(crate) shared: Arc<SharedConnection>,
    pub(crate) born: Instant,
}

impl StreamPermit {
    pub(crate) fn sender(&self) -> http2::SendRequest<Body> {
        self.shared.sender.clone()
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        self.shared.last_used.store(self.born.elapsed().as_millis() as u64, Ordering::Relaxed);
        self.shared.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.shared.max_streams.refresh();
    }
}

impl Destination {
    pub(crate) fn idle_count(&self) -> usize {
        self.idle.len() + self.shared.len()
    }

    pub(crate) fn living(&self) -> usize {
        self.idle.iter().filter(|idle| !idle.own.sender.is_closed()).count()
            + self.shared.iter().filter(|shared| !shared.sender.is_closed()).count()
    }

    fn take_unused(&mut self) -> Option<Arc<SharedConnection>> {
        let unused = |shared: &Arc<SharedConnection>| shared.in_flight.load(Ordering::Relaxed) == 0;
        self.shared.iter().position(unused).map(|at| self.shared.swap_remove(at))
    }
}

impl SharedConnection {
    /// Whether it has room for another stream, under the peer's limit and the client's.
    pub(crate) fn has_room(&self, max: u32) -> bool {
        let max = max.min(self.max_streams.get());
        self.in_flight.load(Ordering::Relaxed) < max
    }

    pub(crate) fn last_used(&self, born: Instant) -> Instant {
        self.opened.max(born + Duration::from_millis(self.last_used.load(Ordering::Relaxed)))
    }
}

impl Shard {
    /// Changes the entry of an origin. Copies the name only for a new origin.
    pub(crate) fn at<R>(&mut self, origin: &str, change: impl FnOnce(&mut Destination) -> R) -> R {
        if let Some(destination) = self.destinations.get_mut(origin) {
            return change(destination);
        }
        change(self.destinations.entry(origin.into()).or_default())
    }

    /// Removes the connection that was idle longest, or else an unused shared one. The caller drops it without the
    /// lock.
    pub(crate) fn evict(&mut self) -> Option<EvictedConnection> {
        let oldest = self
            .destinations
            .values_mut()
            .filter(|destination| !destination.idle.is_empty())
            .min_by_key(|destination| destination.idle.front().map(|idle| idle.since));
        let idle = oldest.and_then(|destination| destination.idle.pop_front());
        let evicted = idle.map(EvictedConnection::Idle).or_else(|| {
            let unused = self.destinations.values_mut().find_map(Destination::take_unused);
            unused.map(EvictedConnection::Shared)
        })?;
        self.kept -= 1;
        Some(evicted)
    }
}
