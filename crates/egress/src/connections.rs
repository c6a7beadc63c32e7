//! The connections of a pool, by origin, as a shard with its own lock.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use gancho_domain::{IdMap, TenantId};
use hyper::client::conn::{http1, http2};
use tokio::time::Instant;

use crate::handshake::{Body, MaxStreams};

#[derive(Default)]
pub(crate) struct Shard {
    pub(crate) destinations: HashMap<Box<str>, Destination>,
    pub(crate) counts: ConnectionCounts,
}

/// The tenant that a connection is counted for; `None` for the gateway itself. It is the one that has used it last, or
/// for a shared connection the one that has opened it.
pub(crate) type ConnectionOwner = Option<TenantId>;

/// The numbers of connections, idle and shared.
#[derive(Default)]
pub(crate) struct ConnectionCounts {
    pub(crate) all: usize,
    by_owner: IdMap<ConnectionOwner, usize>,
}

impl ConnectionCounts {
    pub(crate) fn add(&mut self, owner: ConnectionOwner) {
        self.all += 1;
        *self.by_owner.entry(owner).or_default() += 1;
    }

    pub(crate) fn remove(&mut self, owner: ConnectionOwner) {
        self.all -= 1;
        if let Entry::Occupied(mut count) = self.by_owner.entry(owner) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    fn largest(&self) -> usize {
        self.by_owner.values().copied().max().unwrap_or_default()
    }

    fn of(&self, owner: ConnectionOwner) -> usize {
        self.by_owner.get(&owner).copied().unwrap_or_default()
    }
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
    pub(crate) owner: ConnectionOwner,
    pub(crate) sender: http1::SendRequest<Body>,
    pub(crate) peer: Option<IpAddr>,
    pub(crate) opened: Instant,
}

pub(crate) struct SharedConnection {
    pub(crate) owner: ConnectionOwner,
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

    /// Returns the owner of each connection.
    pub(crate) fn owners(&self) -> impl Iterator<Item = ConnectionOwner> {
        let idle = self.idle.iter().map(|idle| idle.own.owner);
        idle.chain(self.shared.iter().map(|shared| shared.owner))
    }

    fn take_unused(
        &mut self,
        may_go: impl Fn(ConnectionOwner) -> bool,
    ) -> Option<Arc<SharedConnection>> {
        let unused = |shared: &Arc<SharedConnection>| {
            shared.in_flight.load(Ordering::Relaxed) == 0 && may_go(shared.owner)
        };
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

    /// Removes a connection of the owner that has most of them: the one that was idle longest, or else an unused
    /// shared one. If all of its connections are in use, another owner loses one. The caller drops it without the
    /// lock.
    pub(crate) fn evict(&mut self) -> Option<EvictedConnection> {
        let largest = self.counts.largest();
        let Self { destinations, counts } = self;
        let evicted = evict(destinations, |owner| counts.of(owner) == largest)
            .or_else(|| evict(destinations, |_| true))?;
        counts.remove(match &evicted {
            EvictedConnection::Idle(idle) => idle.own.owner,
            EvictedConnection::Shared(shared) => shared.owner,
        });
        Some(evicted)
    }
}

fn evict(
    destinations: &mut HashMap<Box<str>, Destination>,
    may_go: impl Fn(ConnectionOwner) -> bool,
) -> Option<EvictedConnection> {
    let oldest = destinations
        .values_mut()
        .filter_map(|destination| {
            let place = destination.idle.iter().position(|idle| may_go(idle.own.owner))?;
            Some((destination.idle[place].since, place, destination))
        })
        .min_by_key(|(since, ..)| *since);
    if let Some((_, place, destination)) = oldest {
        return destination.idle.remove(place).map(EvictedConnection::Idle);
    }
    let unused = destinations.values_mut().find_map(|one| one.take_unused(&may_go));
    unused.map(EvictedConnection::Shared)
}
