//! Memory budget for request bodies that are arriving: from partners, which are verified by their bodies, and
//! to the API.
//!
//! Bytes are counted as they arrive, never as announced. When the budget is used up, the slowest sender loses
//! its body, so that the next one can be read: slow senders compete only with each other.
//!
//! A complete body keeps its bytes until it is answered and cannot be evicted. A new body is refused only if
//! complete bodies fill the budget. So that no partner fills it, its complete bodies are counted for it once
//! they are verified, and it may hold its share of the budget.

use std::{
    collections::HashMap,
    fmt::Display,
    hash::Hash,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use hyper::body::Body;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::{
    client_address::ClientAddress, codes, fair_shares::FairShares, input::content, problem::Problem,
};

/// Number of transfers compared to find the slowest.
const SAMPLE: usize = 256;
/// After this time a sender's speed can be judged.
const GRACE: Duration = Duration::from_secs(1);
/// One part in this number of the budget is what an address, or a partner, may hold before its bodies are
/// evicted first.
const ADDRESS_SHARE: usize = 8;
const PARTNER_SHARE: usize = 2;

pub struct BodyBudget {
    max_bytes: usize,
    used: AtomicUsize,
    transfers: Mutex<Transfers>,
    /// The bytes of complete bodies whose owner is known.
    shares: Mutex<FairShares<Box<str>>>,
}

#[derive(Default)]
struct Transfers {
    all: Vec<Arc<Transfer>>,
    by_address: HashMap<ClientAddress, usize>,
    by_partner: HashMap<Box<str>, usize>,
}

/// A body that is arriving.
struct Transfer {
    sender: Sender,
    began: Instant,
    bytes: AtomicUsize,
    is_evicted: AtomicBool,
    evicted: Notify,
    /// Position in the list. Invariant: it changes only while the list is locked.
    place: AtomicUsize,
}

/// What is known about a sender before its body is read.
#[derive(Debug, Clone)]
pub struct Sender {
    pub address: ClientAddress,
    /// The partner or the tenant; empty for the operator at the API.
    pub partner: Box<str>,
    /// Whether its bytes are stored. A body for an unknown partner is read and dropped; it takes no memory,
    /// but is evicted like all others, so that the sender cannot tell the difference.
    pub is_stored: bool,
    /// Whether its address sent a verified webhook before.
    pub is_known: bool,
}

/// Complete bodies fill the budget.
#[derive(Debug, PartialEq, Eq)]
pub struct BudgetFullError;

/// The body was evicted to make room for others.
#[derive(Debug, PartialEq, Eq)]
pub struct EvictedError;

impl From<EvictedError> for Problem {
    fn from(EvictedError: EvictedError) -> Self {
        let detail = "the request body arrived too slowly while the gateway is under load; retry";
        Self::new(&codes::SLOW_BODY, detail).retry_after(Duration::from_secs(1))
    }
}

/// The bytes of a complete body, until it is answered.
pub struct HeldBytes {
    budget: Arc<BodyBudget>,
    bytes: usize,
    /// Set once it is known.
    owner: OnceLock<Box<str>>,
}

/// A body that is arriving.
pub struct IncomingBody {
    budget: Arc<BodyBudget>,
    transfer: Arc<Transfer>,
}

impl BodyBudget {
    pub fn new(max_bytes: usize) -> Arc<Self> {
        Arc::new(Self {
            max_bytes,
            used: AtomicUsize::new(0),
            transfers: Mutex::default(),
            shares: Mutex::new(FairShares::new(max_bytes)),
        })
    }

    /// Takes the bytes of a body that arrived in one piece, as nearly all do.
    pub fn hold(self: &Arc<Self>, bytes: usize) -> Result<HeldBytes, BudgetFullError> {
        let used = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let held = HeldBytes::new(self, bytes);
        if used > self.max_bytes && self.transfers.lock().free(used - self.max_bytes, self) {
            return Err(BudgetFullError);
        }
        Ok(held)
    }

    /// Begins a body that arrives in pieces, with its first bytes.
    pub fn begin(
        self: &Arc<Self>,
        sender: Sender,
        bytes: usize,
    ) -> Result<IncomingBody, EvictedError> {
        let transfer = Arc::new(Transfer {
            sender,
            began: Instant::now(),
            bytes: AtomicUsize::new(0),
            is_evicted: AtomicBool::new(false),
            evicted: Notify::new(),
            place: AtomicUsize::new(0),
        });
        self.transfers.lock().add(transfer.clone());
        let incoming = IncomingBody { budget: self.clone(), transfer };
        incoming.add(bytes)?;
        Ok(incoming)
    }
}

impl HeldBytes {
    fn new(budget: &Arc<BodyBudget>, bytes: usize) -> Self {
        Self { budget: budget.clone(), bytes, owner: OnceLock::new() }
    }

    /// Counts the bytes for their owner, who is verified. Returns whether it may hold them.
    pub fn claim(&self, owner: &str) -> bool {
        if self.owner.get().is_some() {
            return true;
        }
        let may = self.budget.shares.lock().take(owner.into(), self.bytes);
        if may {
            let _ = self.owner.set(owner.into());
        }
        may
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
        if let Some(owner) = self.owner.get() {
            self.budget.shares.lock().give_back(owner, self.bytes);
        }
    }
}

impl IncomingBody {
    /// Counts bytes that have arrived.
    pub fn add(&self, bytes: usize) -> Result<(), EvictedError> {
        let mut transfers = self.budget.transfers.lock();
        if self.transfer.is_evicted.load(Ordering::Relaxed) {
            return Err(EvictedError);
        }
        self.transfer.bytes.fetch_add(bytes, Ordering::Relaxed);
        if !self.transfer.sender.is_stored {
            return Ok(());
        }
        transfers.count(&self.transfer.sender, bytes);
        let used = self.budget.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if used > self.budget.max_bytes {
            transfers.free(used - self.budget.max_bytes, &self.budget);
        }
        if self.transfer.is_evicted.load(Ordering::Relaxed) { Err(EvictedError) } else { Ok(()) }
    }

    /// Reads the rest of the body, and completes it. `store` gets each piece.
    pub async fn read_rest<B>(
        self,
        body: &mut B,
        max: usize,
        mut store: impl FnMut(&[u8]),
    ) -> Result<HeldBytes, Problem>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: Display,
    {
        loop {
            let next = tokio::select! {
                biased;
                evicted = self.evicted() => return Err(evicted.into()),
                next = content::next(body) => next?,
            };
            let Some(data) = next else { break };
            if self.transfer.bytes.load(Ordering::Relaxed) + data.len() > max {
                return Err(content::too_large(max));
            }
            self.add(data.len())?;
            store(&data);
        }
        Ok(self.finish()?)
    }

    /// Waits until the body is evicted.
    pub async fn evicted(&self) -> EvictedError {
        let evicted = self.transfer.evicted.notified();
        if !self.transfer.is_evicted.load(Ordering::Acquire) {
            evicted.await;
        }
        EvictedError
    }

    /// Completes the body, which can no longer be evicted.
    pub fn finish(self) -> Result<HeldBytes, EvictedError> {
        let mut transfers = self.budget.transfers.lock();
        // Removed here, so it is not given back when `self` is dropped.
        let bytes = transfers.remove(&self.transfer).ok_or(EvictedError)?;
        drop(transfers);
        Ok(HeldBytes::new(&self.budget, bytes))
    }
}

impl Drop for IncomingBody {
    fn drop(&mut self) {
        if let Some(bytes) = self.budget.transfers.lock().remove(&self.transfer) {
            self.budget.used.fetch_sub(bytes, Ordering::Relaxed);
        }
    }
}

impl Transfers {
    fn add(&mut self, transfer: Arc<Transfer>) {
        transfer.place.store(self.all.len(), Ordering::Relaxed);
        self.all.push(transfer);
    }

    fn count(&mut self, sender: &Sender, bytes: usize) {
        if !sender.address.is_shared {
            *self.by_address.entry(sender.address).or_default() += bytes;
        }
        *self.by_partner.entry(sender.partner.clone()).or_default() += bytes;
    }

    /// Removes a transfer. Returns its bytes if it was still listed.
    fn remove(&mut self, transfer: &Arc<Transfer>) -> Option<usize> {
        let place = transfer.place.load(Ordering::Relaxed);
        if !self.all.get(place).is_some_and(|known| Arc::ptr_eq(known, transfer)) {
            return None;
        }
        self.all.swap_remove(place);
        if let Some(moved) = self.all.get(place) {
            moved.place.store(place, Ordering::Relaxed);
        }
        let sender = &transfer.sender;
        if !sender.is_stored {
            return Some(0);
        }
        let bytes = transfer.bytes.load(Ordering::Relaxed);
        take(&mut self.by_address, &sender.address, bytes);
        take(&mut self.by_partner, &sender.partner, bytes);
        Some(bytes)
    }

    /// Evicts bodies until this many bytes are free. Returns whether there were too few.
    fn free(&mut self, mut missing: usize, budget: &BodyBudget) -> bool {
        while missing > 0 {
            let Some(worst) = self.eviction_candidate(budget) else { return true };
            let bytes = self.remove(&worst).unwrap_or(0);
            budget.used.fetch_sub(bytes, Ordering::Relaxed);
            missing = missing.saturating_sub(bytes);
            worst.is_evicted.store(true, Ordering::Release);
            worst.evicted.notify_waiters();
        }
        false
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a sender must not be able to foresee which are sampled"
    )]
    fn eviction_candidate(&self, budget: &BodyBudget) -> Option<Arc<Transfer>> {
        let (count, now) = (self.all.len(), Instant::now());
        let is_few = count <= SAMPLE;
        let places = (0..count.min(SAMPLE))
            .map(|place| if is_few { place } else { rand::random_range(0..count) });
        let shares = budget.shares.lock();
        let rank = |place: usize| self.rank(&self.all[place], (budget.max_bytes, &shares), now);
        let ranked = places.map(|place| (rank(place), place));
        ranked.min().map(|(_, place)| self.all[place].clone())
    }

    /// Returns the rank of a transfer; the lowest is evicted first. Unknown senders come first, then those
    /// beyond their share, then the slowest. Transfers that have just begun come last, the oldest of them
    /// first.
    fn rank(
        &self,
        transfer: &Transfer,
        (max_bytes, shares): (usize, &FairShares<Box<str>>),
        now: Instant,
    ) -> impl Ord + use<> {
        let sender = &transfer.sender;
        let held = |bytes: Option<&usize>| bytes.copied().unwrap_or(0);
        let of_partner = held(self.by_partner.get(&sender.partner)) + shares.held(&*sender.partner);
        let is_greedy = held(self.by_address.get(&sender.address)) > max_bytes / ADDRESS_SHARE
            || of_partner > max_bytes / PARTNER_SHARE;
        let age = now.duration_since(transfer.began);
        let is_young = age < GRACE;
        let measure = if is_young {
            u64::MAX - age.as_micros() as u64
        } else {
            transfer.bytes.load(Ordering::Relaxed) as u64 * 1_000 / age.as_millis() as u64
        };
        (sender.is_known, !is_greedy, is_young, measure)
    }
}

/// Subtracts from a count, and removes it at zero.
fn take<K: Hash + Eq>(counts: &mut HashMap<K, usize>, key: &K, bytes: usize) {
    if let Some(count) = counts.get_mut(key) {
        *count = count.saturating_sub(bytes);
        if *count == 0 {
            counts.remove(key);
        }
    }
}

#[cfg(test)]
mod tests;
