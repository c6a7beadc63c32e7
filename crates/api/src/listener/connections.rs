//! The connections that are open, and who must go when there are too many: whoever waits longest
//! without having proved anything. Connections that are being answered stay.
//!
//! A connection keeps its own standing in a few atomics, so that a request costs no lock here. The table
//! is locked when a connection comes or goes; who must go is found among a few picked by chance.

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

/// So many are compared. Where a hundredth of the connections are idle, one of them is nearly always
/// among so many.
const SAMPLE: usize = 256;

pub struct Table {
    max: usize,
    max_per_address: usize,
    trusted: TrustedProxies,
    began: Instant,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    all: Vec<Entry>,
    /// How many each address has; trusted proxies are not counted.
    by_address: HashMap<AddressBlock, Vec<Arc<Standing>>>,
}

struct Entry {
    standing: Arc<Standing>,
    address: Option<AddressBlock>,
}

/// How a connection stands.
pub struct Standing {
    began: Instant,
    /// Requests that are being answered.
    answering: AtomicU32,
    /// A body is coming in, of a sender who has not proved anything.
    is_reading: AtomicBool,
    /// A request on it was proved to be somebody's.
    is_proved: AtomicBool,
    /// Since when it waits for the peer, in milliseconds since the table was made.
    since: AtomicU64,
    must_go: AtomicBool,
    gone: Notify,
    /// Where it stands in the two lists. Only changed while the table is locked.
    place: AtomicUsize,
    place_of_address: AtomicUsize,
}

impl Standing {
    fn new(began: Instant) -> Self {
        let standing = Self {
            began,
            answering: AtomicU32::new(0),
            is_reading: AtomicBool::new(false),
            is_proved: AtomicBool::new(false),
            since: AtomicU64::new(0),
            must_go: AtomicBool::new(false),
            gone: Notify::new(),
            place: AtomicUsize::new(0),
            place_of_address: AtomicUsize::new(0),
        };
        standing.touch();
        standing
    }

    /// The peer did something that only one who takes part does.
    pub fn touch(&self) {
        self.since.store(self.began.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    /// A request is being answered as long as the guard lives.
    pub fn answer(self: &Arc<Self>) -> Answering {
        self.touch();
        self.answering.fetch_add(1, Ordering::Relaxed);
        Answering(self.clone())
    }

    /// Its body is waited for, and who sends it is not known, as long as the guard lives.
    pub fn read(&self) -> Reading<'_> {
        self.touch();
        self.is_reading.store(true, Ordering::Relaxed);
        Reading(self)
    }

    pub fn prove(&self) {
        if !self.is_proved.load(Ordering::Relaxed) {
            self.is_proved.store(true, Ordering::Relaxed);
        }
    }

    pub fn is_being_answered(&self) -> bool {
        self.answering.load(Ordering::Relaxed) > 0
    }

    /// Until it must make room for another.
    pub async fn must_go(&self) {
        let gone = self.gone.notified();
        if !self.must_go.load(Ordering::Acquire) {
            gone.await;
        }
    }

    /// The higher, the sooner it goes; nothing where it must stay.
    fn rank(&self, now: u64) -> Option<(bool, u64)> {
        let is_reading = self.is_reading.load(Ordering::Relaxed);
        if self.is_being_answered() && !is_reading {
            return None;
        }
        let waited = now.saturating_sub(self.since.load(Ordering::Relaxed));
        Some((!self.is_proved.load(Ordering::Relaxed), waited))
    }
}

pub struct Answering(Arc<Standing>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.touch();
        self.0.answering.fetch_sub(1, Ordering::Relaxed);
    }
}

pub struct Reading<'a>(&'a Standing);

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.is_reading.store(false, Ordering::Relaxed);
    }
}

/// A place in the table, given back when it is dropped.
pub struct Place {
    table: Arc<Table>,
    pub standing: Arc<Standing>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.table.open.lock().remove(&self.standing);
    }
}

impl Table {
    pub fn new(max: usize, max_per_address: usize, trusted: TrustedProxies) -> Self {
        Self { max, max_per_address, trusted, began: Instant::now(), open: Mutex::default() }
    }

    /// A place for a new connection. Where there is none, whoever can best be spared makes room; nothing
    /// where nobody can.
    pub fn admit(self: &Arc<Self>, peer: IpAddr) -> Option<Place> {
        let address = (!self.trusted.has(peer)).then(|| AddressBlock::from(peer));
        let mut open = self.open.lock();
        if let Some(of_address) = address.and_then(|address| open.by_address.get(&address))
            && of_address.len() >= self.max_per_address
        {
            let worst = self.worst(of_address.len(), |at| &of_address[at])?;
            open.dismiss(&worst);
        }
        if open.all.len() >= self.max {
            let worst = self.worst(open.all.len(), |at| &open.all[at].standing)?;
            open.dismiss(&worst);
        }
        let standing = Arc::new(Standing::new(self.began));
        open.add(standing.clone(), address);
        drop(open);
        Some(Place { table: self.clone(), standing })
    }

    /// Lets some go that can be spared: file handles are short.
    pub fn make_room(&self, count: usize) -> usize {
        let mut open = self.open.lock();
        let mut gone = 0;
        while gone < count
            && !open.all.is_empty()
            && let Some(worst) = self.worst(open.all.len(), |at| &open.all[at].standing)
        {
            open.dismiss(&worst);
            gone += 1;
        }
        gone
    }

    fn worst<'a>(
        &self,
        count: usize,
        at: impl Fn(usize) -> &'a Arc<Standing>,
    ) -> Option<Arc<Standing>> {
        let now = self.began.elapsed().as_millis() as u64;
        let ranked = sample(count).filter_map(|place| Some((at(place).rank(now)?, at(place))));
        ranked.max_by_key(|(rank, _)| *rank).map(|(_, standing)| standing.clone())
    }
}

/// Places below `count`: all of them if they are few, or else some, picked by chance.
fn sample(count: usize) -> impl Iterator<Item = usize> {
    let is_few = count <= SAMPLE;
    (0..count.min(SAMPLE))
        .map(move |place| if is_few { place } else { rand::random_range(0..count) })
}

impl Open {
    fn add(&mut self, standing: Arc<Standing>, address: Option<AddressBlock>) {
        if let Some(address) = address {
            let of_address = self.by_address.entry(address).or_default();
            standing.place_of_address.store(of_address.len(), Ordering::Relaxed);
            of_address.push(standing.clone());
        }
        standing.place.store(self.all.len(), Ordering::Relaxed);
        self.all.push(Entry { standing, address });
    }

    /// It is told to go, and no longer counts.
    fn dismiss(&mut self, standing: &Arc<Standing>) {
        self.remove(standing);
        standing.must_go.store(true, Ordering::Release);
        standing.gone.notify_waiters();
    }

    /// Takes it out, if it is still in.
    fn remove(&mut self, standing: &Arc<Standing>) {
        let place = standing.place.load(Ordering::Relaxed);
        let is_in = self.all.get(place).is_some_and(|entry| Arc::ptr_eq(&entry.standing, standing));
        if !is_in {
            return;
        }
        let entry = self.all.swap_remove(place);
        if let Some(moved) = self.all.get(place) {
            moved.standing.place.store(place, Ordering::Relaxed);
        }
        let Some(address) = entry.address else { return };
        let Some(of_address) = self.by_address.get_mut(&address) else { return };
        let place = standing.place_of_address.load(Ordering::Relaxed);
        of_address.swap_remove(place);
        if let Some(moved) = of_address.get(place) {
            moved.place_of_address.store(place, Ordering::Relaxed);
        }
        if of_address.is_empty() {
            self.by_address.remove(&address);
        }
    }
}

#[cfg(test)]
#[path = "connections_tests.rs"]
mod tests;
