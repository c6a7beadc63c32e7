//! The connection pool, by origin (scheme, host and port).
//!
//! An HTTP/1.1 connection belongs to one delivery at a time and is idle here in between. The most recently
//! used is taken first, so that few stay warm and the rest expire. An HTTP/2 connection is shared up to a
//! limit. Locks are held for a lookup and a push, never across an await.
//!
//! Where there is no room, the tenant with most connections loses one: a tenant with very many hosts in steady use does
//! not make the rarely used ones of others open a connection for each delivery.

use std::{
    collections::VecDeque,
    hash::{BuildHasher, RandomState},
    net::IpAddr,
    ops::{Deref, DerefMut},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::{
    connections::{
        ConnectionCounts, ConnectionOwner, Destination, ExclusiveConnection, IdleConnection,
        PooledConnection, Shard, SharedConnection, StreamPermit,
    },
    handshake::Sender,
    settings::Settings,
};

const SHARDS: usize = 16;
/// Maximum shared connections to an origin with room for more streams. Further ones are used once and not
/// kept. Connections without room do not count: streams that hang must not force all other requests to open a
/// connection each.
const MAX_WITH_ROOM: usize = 4;
/// How long after its start a connection may not know yet how many streams its peer allows.
const SETTINGS_WITHIN: Duration = Duration::from_secs(1);

pub(crate) struct Pool {
    shards: [Mutex<Shard>; SHARDS],
    /// A locked shard. When it is unlocked, the pool adds the change in its number of connections.
    kept: AtomicUsize,
    hasher: RandomState,
    closed: AtomicBool,
    born: Instant,
    limits: Limits,
}

/// Wraps around if there are fewer, which is intended.
struct LockedShard<'a> {
    shard: MutexGuard<'a, Shard>,
    before: usize,
    kept_in_all: &'a AtomicUsize,
}

impl<'a> LockedShard<'a> {
    fn new(shard: &'a Mutex<Shard>, kept_in_all: &'a AtomicUsize) -> Self {
        let shard = shard.lock();
        Self { before: shard.counts.all, shard, kept_in_all }
    }
}

impl Deref for LockedShard<'_> {
    type Target = Shard;

    fn deref(&self) -> &Shard {
        &self.shard
    }
}

impl DerefMut for LockedShard<'_> {
    fn deref_mut(&mut self) -> &mut Shard {
        &mut self.shard
    }
}

impl Drop for LockedShard<'_> {
    fn drop(&mut self) {
        // Wraps around for fewer, as it must.
        let change = self.shard.counts.all.wrapping_sub(self.before);
        self.kept_in_all.fetch_add(change, Ordering::Relaxed);
    }
}

struct Limits {
    idle_timeout: Duration,
    longest_life: Duration,
    per_destination: usize,
    in_all: usize,
    streams: u32,
}

impl Pool {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
            kept: AtomicUsize::new(0),
            hasher: RandomState::new(),
            closed: AtomicBool::new(false),
            born: Instant::now(),
            limits: Limits {
                idle_timeout: settings.idle_timeout,
                longest_life: settings.longest_life,
                per_destination: settings.idle_per_destination,
                in_all: settings.idle_in_all,
                streams: settings.streams_per_connection.max(1),
            },
        }
    }

    fn locked(&self, origin: &str) -> LockedShard<'_> {
        let shard = &self.shards[self.hasher.hash_one(origin) as usize % SHARDS];
        LockedShard::new(shard, &self.kept)
    }

    /// Closes connections while there are too many, from the shard that has the most. So a shard with few
    /// connections keeps them, and one destination may have all that others do not use.
    fn shrink(&self) {
        while self.kept.load(Ordering::Relaxed) > self.limits.in_all {
            let fullest = self.shards.iter().max_by_key(|shard| shard.lock().counts.all);
            let evicted = fullest.and_then(|shard| LockedShard::new(shard, &self.kept).evict());
            if evicted.is_none() {
                return;
            }
        }
    }

    /// Returns a live connection to the origin whose peer `fits` the current policy, for this owner.
    pub(crate) fn take(
        &self,
        origin: &str,
        owner: ConnectionOwner,
        fits: impl Fn(IpAddr) -> bool,
    ) -> Option<PooledConnection> {
        let now = Instant::now();
        let fresh = |opened: Instant| now.duration_since(opened) < self.limits.longest_life;
        let fits = |peer: Option<IpAddr>| peer.is_none_or(&fits);
        // Unusable connections are dropped after the lock is released.
        let mut unfit = Vec::new();
        let mut shard = self.locked(origin);
        let shard = &mut *shard;
        let destination = shard.destinations.get_mut(origin)?;
        if !destination.shared.is_empty() {
            destination.shared.retain(|shared| {
                let stays = !shared.sender.is_closed() && fresh(shared.opened) && fits(shared.peer);
                if !stays {
                    shard.counts.remove(shared.owner);
                }
                stays
            });
            let has_room = |shared: &&Arc<SharedConnection>| shared.has_room(self.limits.streams);
            if let Some(shared) = destination.shared.iter().find(has_room) {
                shared.in_flight.fetch_add(1, Ordering::Relaxed);
                return Some(PooledConnection::SharedConnection(StreamPermit {
                    shared: shared.clone(),
                    born: self.born,
                }));
            }
        }
        while let Some(IdleConnection { mut own, until, .. }) = destination.idle.pop_back() {
            shard.counts.remove(own.owner);
            if own.sender.is_ready() && now < until && fresh(own.opened) && fits(own.peer) {
                own.owner = owner;
                return Some(PooledConnection::ExclusiveConnection(own));
            }
            unfit.push(own);
        }
        None
    }

    /// Adds a new connection. A shared one is available to others immediately.
    pub(crate) fn hold(
        &self,
        origin: &str,
        owner: ConnectionOwner,
        sender: Sender,
        peer: Option<IpAddr>,
    ) -> PooledConnection {
        let opened = Instant::now();
        match sender {
            Sender::H1(sender) => {
                let own = ExclusiveConnection { owner, sender, peer, opened };
                PooledConnection::ExclusiveConnection(own)
            }
            Sender::H2(sender, max_streams) => {
                let shared = Arc::new(SharedConnection {
                    owner,
                    sender,
                    peer,
                    opened,
                    in_flight: AtomicU32::new(1),
                    max_streams,
                    last_used: AtomicU64::new(0),
                });
                self.share(origin, shared.clone());
                PooledConnection::SharedConnection(StreamPermit { shared, born: self.born })
            }
        }
    }

    fn share(&self, origin: &str, connection: Arc<SharedConnection>) {
        if self.closed.load(Ordering::Acquire) {
            return;
        }
        let owner = connection.owner;
        let mut shard = self.locked(origin);
        let grew = shard.at(origin, |destination| {
            let may_have_room = |one: &&Arc<SharedConnection>| {
                one.has_room(self.limits.streams) || one.opened.elapsed() < SETTINGS_WITHIN
            };
            let is_kept = destination.shared.iter().filter(may_have_room).count() < MAX_WITH_ROOM;
            destination.shared.extend(is_kept.then_some(connection));
            is_kept
        });
        if grew {
            shard.counts.add(owner);
        }
        drop(shard);
        self.shrink();
    }

    /// Keeps a connection for the next delivery, at most for the peer's keep-alive timeout.
    pub(crate) fn put_back(
        &self,
        origin: &str,
        own: ExclusiveConnection,
        keep_for: Option<Duration>,
    ) {
        if self.closed.load(Ordering::Acquire) || self.limits.per_destination == 0 {
            return;
        }
        let since = Instant::now();
        let keep_for = keep_for.unwrap_or(Duration::MAX).min(self.limits.idle_timeout);
        let owner = own.owner;
        let idle = IdleConnection { own, since, until: since + keep_for };
        let mut shard = self.locked(origin);
        let evicted = shard.at(origin, |destination| {
            destination.idle.push_back(idle);
            let full = destination.idle.len() > self.limits.per_destination;
            full.then(|| destination.idle.pop_front()).flatten()
        });
        shard.counts.add(owner);
        if let Some(evicted) = &evicted {
            shard.counts.remove(evicted.own.owner);
        }
        drop(shard);
        drop(evicted);
        self.shrink();
    }

    /// Closes expired connections, and forgets origins without connections.
    pub(crate) fn sweep(&self) {
        let now = Instant::now();
        let idle_timeout = self.limits.idle_timeout;
        for shard in &self.shards {
            let mut old = Vec::new();
            let mut shard = LockedShard::new(shard, &self.kept);
            for destination in shard.destinations.values_mut() {
                let (kept, dropped): (VecDeque<_>, VecDeque<_>) = destination
                    .idle
                    .drain(..)
                    .partition(|idle| now < idle.until && !idle.own.sender.is_closed());
                destination.idle = kept;
                old.push(dropped);
                destination.shared.retain(|shared| {
                    !shared.sender.is_closed()
                        && (shared.in_flight.load(Ordering::Relaxed) > 0
                            || now.duration_since(shared.last_used(self.born)) < idle_timeout)
                });
            }
            shard.destinations.retain(|_, destination| destination.idle_count() > 0);
            let mut counts = ConnectionCounts::default();
            shard
                .destinations
                .values()
                .flat_map(Destination::owners)
                .for_each(|one| counts.add(one));
            shard.counts = counts;
            drop(shard);
        }
    }

    /// Closes the pool: keeps nothing from now on.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        for shard in &self.shards {
            let closed = std::mem::take(&mut *LockedShard::new(shard, &self.kept));
            drop(closed);
        }
    }

    /// Returns the number of live connections.
    pub(crate) fn idle_count(&self) -> usize {
        let living = |shard: &Mutex<Shard>| {
            shard.lock().destinations.values().map(Destination::living).sum::<usize>()
        };
        self.shards.iter().map(living).sum()
    }
}
