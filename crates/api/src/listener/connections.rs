//! Tracks open connections, and decides which to close when there are too many: one whose request body does
//! not arrive, or else the one that has been idle longest without authentication. A connection that is being
//! answered is never closed, once its request was read.
//!
//! The same applies when incomplete heads of requests take too much memory.
//!
//! Each connection stores its state in atomics, so that a request takes no lock here. The table is locked
//! when a connection opens or closes; the connection to close is chosen from a random sample.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    },
    time::Instant,
};

use gancho_domain::AddressBlock;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::client_address::TrustedProxies;

/// Size of the sample. If a hundredth of the connections are idle, the sample nearly always contains one of
/// them. One random number for all: where a crowd connects, a sample is taken for each connection.
const SAMPLE: usize = 256;
/// Bytes of a head that every connection may hold uncounted.
const UNCOUNTED_HEAD: usize = 4 * 1024;
/// Maximum bytes of all incomplete heads.
const MAX_HEAD_BYTES: usize = 32 * 1024 * 1024;
/// One part in this number of the maximum of connections is how many may end slowly in addition.
const ENDING_PART: usize = 4;

pub struct ConnectionTable {
    max: usize,
    max_per_address: usize,
    trusted: TrustedProxies,
    began: Instant,
    open: Mutex<OpenConnections>,
    /// Bytes of incomplete heads, beyond what every connection may hold.
    head_bytes: AtomicUsize,
    /// Connections that were chosen to be closed and may continue for a while.
    ending: AtomicUsize,
}

#[derive(Default)]
struct OpenConnections {
    all: Vec<Entry>,
    /// The connections of each address, except those of trusted proxies.
    by_address: HashMap<AddressBlock, Vec<Arc<ConnectionState>>>,
}

struct Entry {
    connection: Arc<ConnectionState>,
    address: Option<AddressBlock>,
}

/// The state of a connection.
pub struct ConnectionState {
    began: Instant,
    /// Number of requests that are being answered.
    answering: AtomicU32,
    /// Whether a body is being read that did not arrive at once, or its caller is being authenticated.
    is_reading: AtomicBool,
    /// Whether a request on it was authenticated.
    is_authenticated: AtomicBool,
    /// Since when it has been idle, in milliseconds since the table was created.
    since: AtomicU64,
    /// Bytes of the head that is arriving.
    head_bytes: AtomicUsize,
    /// Whether it has answered with a stream that does not end by itself.
    has_stream: AtomicBool,
    must_close: AtomicBool,
    closing: Notify,
    /// Positions in the two lists. Invariant: they change only while the table is locked.
    place: AtomicUsize,
    index_in_address: AtomicUsize,
}

impl ConnectionState {
    fn new(began: Instant) -> Self {
        let connection = Self {
            began,
            answering: AtomicU32::new(0),
            is_reading: AtomicBool::new(false),
            is_authenticated: AtomicBool::new(false),
            since: AtomicU64::new(0),
            head_bytes: AtomicUsize::new(0),
            has_stream: AtomicBool::new(false),
            must_close: AtomicBool::new(false),
            closing: Notify::new(),
            place: AtomicUsize::new(0),
            index_in_address: AtomicUsize::new(0),
        };
        connection.touch();
        connection
    }

    /// Restarts the idle time, after the peer did something that only an active peer does.
    pub fn touch(&self) {
        self.since.store(self.began.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    /// Marks a request as being answered until the guard is dropped.
    pub fn answer(self: &Arc<Self>) -> AnswerGuard {
        self.touch();
        self.answering.fetch_add(1, Ordering::Relaxed);
        AnswerGuard(self.clone())
    }

    /// Marks a body as being read, or its caller as being authenticated, until the guard is dropped. The
    /// connection can be closed meanwhile: nothing was done yet.
    pub fn read(&self) -> ReadGuard<'_> {
        self.touch();
        self.is_reading.store(true, Ordering::Relaxed);
        ReadGuard(self)
    }

    pub fn mark_authenticated(&self) {
        if !self.is_authenticated.load(Ordering::Relaxed) {
            self.is_authenticated.store(true, Ordering::Relaxed);
        }
    }

    /// Notes that it answers with a stream that does not end by itself.
    pub fn mark_stream(&self) {
        self.has_stream.store(true, Ordering::Relaxed);
    }

    pub fn has_stream(&self) -> bool {
        self.has_stream.load(Ordering::Relaxed)
    }

    pub fn is_being_answered(&self) -> bool {
        self.answering.load(Ordering::Relaxed) > 0
    }

    /// Whether a completely read request is being answered.
    pub fn is_busy(&self) -> bool {
        self.is_being_answered() && !self.is_reading.load(Ordering::Relaxed)
    }

    /// Closes the connection, even while it is being answered.
    pub fn close(&self) {
        self.must_close.store(true, Ordering::Release);
        self.closing.notify_waiters();
    }

    /// Waits until the connection must be closed to make room.
    pub async fn must_close(&self) {
        let closing = self.closing.notified();
        if !self.must_close.load(Ordering::Acquire) {
            closing.await;
        }
    }

    /// Returns the rank of the connection. The one with the highest rank is closed first; `None` if it must
    /// not be closed.
    fn rank(&self, now: u64) -> Option<(bool, bool, u64)> {
        if self.is_busy() {
            return None;
        }
        let idle = now.saturating_sub(self.since.load(Ordering::Relaxed));
        let is_reading = self.is_reading.load(Ordering::Relaxed);
        let is_unknown = !self.is_authenticated.load(Ordering::Relaxed);
        Some((is_reading, is_unknown, idle))
    }

    /// Returns the rank for the memory of heads: the one that has been arriving longest is the highest.
    fn head_rank(&self, now: u64) -> Option<u64> {
        let is_large = self.head_bytes.load(Ordering::Relaxed) > UNCOUNTED_HEAD;
        is_large.then(|| now.saturating_sub(self.since.load(Ordering::Relaxed)))
    }
}

pub struct AnswerGuard(Arc<ConnectionState>);

impl AnswerGuard {
    /// Whether a request on the connection was authenticated.
    pub fn is_authenticated(&self) -> bool {
        self.0.is_authenticated.load(Ordering::Relaxed)
    }
}

impl Drop for AnswerGuard {
    fn drop(&mut self) {
        self.0.touch();
        self.0.answering.fetch_sub(1, Ordering::Relaxed);
    }
}

pub struct ReadGuard<'a>(&'a ConnectionState);

impl Drop for ReadGuard<'_> {
    fn drop(&mut self) {
        self.0.is_reading.store(false, Ordering::Relaxed);
    }
}

/// Counts a connection that ends slowly until it is dropped.
pub struct EndingGuard(Arc<ConnectionTable>);

impl Drop for EndingGuard {
    fn drop(&mut self) {
        self.0.ending.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A slot in the table, freed when dropped.
pub struct ConnectionSlot {
    pub table: Arc<ConnectionTable>,
    pub connection: Arc<ConnectionState>,
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.table.count_head(&self.connection, 0);
        self.table.open.lock().remove(&self.connection);
    }
}

impl ConnectionTable {
    pub fn new(max: usize, max_per_address: usize, trusted: TrustedProxies) -> Self {
        let (head_bytes, ending) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (began, open) = (Instant::now(), Mutex::default());
        Self { max, max_per_address, trusted, began, open, head_bytes, ending }
    }

    /// Lets a connection that was chosen to be closed continue until the guard is dropped; `None` if too many
    /// do already, because they count no more among the open ones.
    pub fn end_slowly(self: &Arc<Self>) -> Option<EndingGuard> {
        let guard = EndingGuard(self.clone());
        let count = self.ending.fetch_add(1, Ordering::Relaxed);
        (count < self.max.div_ceil(ENDING_PART)).then_some(guard)
    }

    /// Counts the bytes of the head that is arriving on a connection; 0 when it is complete. When all of them take too much
    /// memory, others are closed.
    pub fn count_head(&self, connection: &ConnectionState, bytes: usize) {
        let before = connection.head_bytes.swap(bytes, Ordering::Relaxed);
        let counted = |bytes: usize| bytes.saturating_sub(UNCOUNTED_HEAD);
        let (before, now) = (counted(before), counted(bytes));
        if now <= before {
            self.head_bytes.fetch_sub(before - now, Ordering::Relaxed);
            return;
        }
        let used = self.head_bytes.fetch_add(now - before, Ordering::Relaxed) + now - before;
        if used > MAX_HEAD_BYTES {
            self.free_heads();
        }
    }

    fn free_heads(&self) {
        let mut open = self.open.lock();
        while self.head_bytes.load(Ordering::Relaxed) > MAX_HEAD_BYTES {
            let now = self.now();
            let all = sample(open.all.len()).map(|place| &open.all[place].connection);
            let ranked = all.filter_map(|one| Some((one.head_rank(now)?, one)));
            let Some((_, worst)) = ranked.max_by_key(|(rank, _)| *rank) else { return };
            let worst = worst.clone();
            open.evict(&worst);
            let bytes = worst.head_bytes.swap(0, Ordering::Relaxed);
            self.head_bytes.fetch_sub(bytes.saturating_sub(UNCOUNTED_HEAD), Ordering::Relaxed);
        }
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    /// Returns a slot for a new connection, closing another one if the table is full. Returns `None` if no
    /// connection can be closed.
    pub fn admit(self: &Arc<Self>, peer: IpAddr) -> Option<ConnectionSlot> {
        let address = (!self.trusted.has(peer)).then(|| AddressBlock::from(peer));
        let mut open = self.open.lock();
        if let Some(of_address) = address.and_then(|address| open.by_address.get(&address))
            && of_address.len() >= self.max_per_address
        {
            let worst = self.eviction_candidate(of_address.len(), |at| &of_address[at])?;
            open.evict(&worst);
        }
        if open.all.len() >= self.max {
            let worst = self.eviction_candidate(open.all.len(), |at| &open.all[at].connection)?;
            open.evict(&worst);
        }
        let connection = Arc::new(ConnectionState::new(self.began));
        open.add(connection.clone(), address);
        drop(open);
        Some(ConnectionSlot { table: self.clone(), connection })
    }

    /// Closes up to `count` connections, because there are too few file handles.
    pub fn make_room(&self, count: usize) -> usize {
        let mut open = self.open.lock();
        let mut gone = 0;
        while gone < count
            && !open.all.is_empty()
            && let Some(worst) =
                self.eviction_candidate(open.all.len(), |at| &open.all[at].connection)
        {
            open.evict(&worst);
            gone += 1;
        }
        gone
    }

    fn eviction_candidate<'a>(
        &self,
        count: usize,
        at: impl Fn(usize) -> &'a Arc<ConnectionState>,
    ) -> Option<Arc<ConnectionState>> {
        let now = self.now();
        let ranked = sample(count).filter_map(|place| Some((at(place).rank(now)?, at(place))));
        ranked.max_by_key(|(rank, _)| *rank).map(|(_, connection)| connection.clone())
    }
}

/// Returns positions below `count`: all of them if they are few, otherwise a sample at equal distances, from a random
/// position on.
#[expect(
    clippy::disallowed_methods,
    reason = "a caller must not be able to foresee which are sampled"
)]
fn sample(count: usize) -> impl Iterator<Item = usize> {
    let size = count.min(SAMPLE);
    let first = if count > SAMPLE { rand::random_range(0..count) } else { 0 };
    (0..size).map(move |number| (first + number * count / size) % count)
}

impl OpenConnections {
    fn add(&mut self, connection: Arc<ConnectionState>, address: Option<AddressBlock>) {
        if let Some(address) = address {
            let of_address = self.by_address.entry(address).or_default();
            connection.index_in_address.store(of_address.len(), Ordering::Relaxed);
            of_address.push(connection.clone());
        }
        connection.place.store(self.all.len(), Ordering::Relaxed);
        self.all.push(Entry { connection, address });
    }

    /// Tells the connection to close, and removes it.
    fn evict(&mut self, connection: &Arc<ConnectionState>) {
        self.remove(connection);
        connection.close();
    }

    /// Removes the connection, if it is still listed.
    fn remove(&mut self, connection: &Arc<ConnectionState>) {
        let place = connection.place.load(Ordering::Relaxed);
        let is_listed =
            self.all.get(place).is_some_and(|entry| Arc::ptr_eq(&entry.connection, connection));
        if !is_listed {
            return;
        }
        let entry = self.all.swap_remove(place);
        if let Some(moved) = self.all.get(place) {
            moved.connection.place.store(place, Ordering::Relaxed);
        }
        let Some(address) = entry.address else { return };
        let Some(of_address) = self.by_address.get_mut(&address) else { return };
        let place = connection.index_in_address.load(Ordering::Relaxed);
        of_address.swap_remove(place);
        if let Some(moved) = of_address.get(place) {
            moved.index_in_address.store(place, Ordering::Relaxed);
        }
        if of_address.is_empty() {
            self.by_address.remove(&address);
        }
    }
}

#[cfg(test)]
mod tests;
