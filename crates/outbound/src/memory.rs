//! What was read from the store, trusted for a few seconds.
//!
//! A change made on another node is seen within that time, a change made here at once. When the time
//! is over one caller asks the store and the others go on with what is known: a busy tenant costs one
//! read in so many seconds, however many publish for it. If the store cannot be asked, what is known
//! is used.

use std::{
    collections::HashMap,
    future::Future,
    hash::Hash,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use gancho_store::Result;
use parking_lot::RwLock;

/// How long another node's change may go unseen.
const TRUSTED: Duration = Duration::from_secs(2);
/// With more entries than this, those that nobody asked for lately are forgotten.
const REMEMBERED: usize = 10_000;
const LATELY: Duration = Duration::from_secs(60);

pub struct Memory<K, V> {
    known: RwLock<HashMap<K, Entry<V>>>,
    /// Rises with every change made here of something that was not known.
    changes: AtomicU64,
}

struct Entry<V> {
    value: Arc<V>,
    read_at: Instant,
    /// Changes made here since it is known.
    changes: u64,
    /// It was changed since it was read, and must be read before it is used again.
    is_outdated: bool,
}

/// What may be done with what is known.
enum Use<V> {
    Trust(Arc<V>),
    /// Ask the store; this is what was known.
    Ask(Option<Arc<V>>),
}

impl<K: Eq + Hash + Copy, V> Default for Memory<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Eq + Hash + Copy, V> Memory<K, V> {
    pub fn new() -> Self {
        Self { known: RwLock::default(), changes: AtomicU64::new(0) }
    }

    /// What is known, or else what `read` says, which is given what was known before.
    pub async fn get<F>(&self, key: K, read: impl FnOnce(Option<Arc<V>>) -> F) -> Result<Arc<V>>
    where
        F: Future<Output = Result<V>>,
    {
        let usable = self.usable(key);
        match usable {
            Use::Trust(value) => Ok(value),
            Use::Ask(Some(before)) => {
                Ok(self.ask(key, read(Some(before.clone()))).await.unwrap_or(before))
            }
            Use::Ask(None) => self.ask(key, read(None)).await,
        }
    }

    /// What is known, however old.
    pub fn peek(&self, key: K) -> Option<Arc<V>> {
        self.known.read().get(&key).map(|entry| entry.value.clone())
    }

    /// It was changed here: whoever asks from now on gets what is read from now on.
    pub fn forget(&self, key: K) {
        match self.known.write().get_mut(&key) {
            Some(entry) => {
                entry.is_outdated = true;
                entry.changes += 1;
            }
            None => {
                self.changes.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Two of these that are equal: nothing was changed here in between. A change of something that
    /// is not known counts for all that are not.
    fn changes(&self, known: &HashMap<K, Entry<V>>, key: K) -> (bool, u64) {
        match known.get(&key) {
            Some(entry) => (true, entry.changes),
            None => (false, self.changes.load(Ordering::Relaxed)),
        }
    }

    fn usable(&self, key: K) -> Use<V> {
        match self.known.read().get(&key) {
            None => return Use::Ask(None),
            Some(entry) if entry.is_outdated => return Use::Ask(Some(entry.value.clone())),
            Some(entry) if entry.read_at.elapsed() < TRUSTED => {
                return Use::Trust(entry.value.clone());
            }
            Some(_) => {}
        }
        // Of those who find that the time is over the first asks: it sets the time anew, so that the
        // others do not.
        match self.known.write().get_mut(&key) {
            Some(entry) if !entry.is_outdated && entry.read_at.elapsed() < TRUSTED => {
                Use::Trust(entry.value.clone())
            }
            Some(entry) => {
                entry.read_at = Instant::now();
                Use::Ask(Some(entry.value.clone()))
            }
            None => Use::Ask(None),
        }
    }

    async fn ask(&self, key: K, read: impl Future<Output = Result<V>>) -> Result<Arc<V>> {
        let before = self.changes(&self.known.read(), key);
        let value = Arc::new(read.await?);
        let mut known = self.known.write();
        // What was read before a change is not kept after it.
        if self.changes(&known, key) == before {
            if known.len() >= REMEMBERED {
                known.retain(|_, entry| entry.read_at.elapsed() < LATELY);
            }
            let (value, read_at) = (value.clone(), Instant::now());
            known.insert(key, Entry { value, read_at, changes: before.1, is_outdated: false });
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use gancho_store::StoreError;

    use super::*;

    async fn five(_: Option<Arc<u32>>) -> Result<u32> {
        Ok(5)
    }

    #[tokio::test]
    async fn is_read_once_and_again_when_changed() {
        let memory = Memory::<u8, u32>::new();
        assert_eq!(memory.peek(1), None);
        assert_eq!(*memory.get(1, five).await.unwrap(), 5);
        let again = memory.get(1, |_| async { Ok(6) }).await.unwrap();
        assert_eq!(*again, 5, "it is trusted");
        memory.forget(1);
        assert_eq!(memory.peek(1).as_deref(), Some(&5), "for those who cannot ask");
        assert_eq!(*memory.get(1, |_| async { Ok(7) }).await.unwrap(), 7);
        assert_eq!(*memory.get(1, |_| async { Ok(8) }).await.unwrap(), 7);
    }

    #[tokio::test]
    async fn what_was_read_before_a_change_is_not_kept_after_it() {
        let memory = Memory::<u8, u32>::new();
        let read = memory.get(1, |_| async {
            memory.forget(1);
            Ok(5)
        });
        assert_eq!(*read.await.unwrap(), 5);
        assert_eq!(*memory.get(1, |_| async { Ok(6) }).await.unwrap(), 6);
        let read = memory.get(2, |_| async {
            memory.get(2, five).await?;
            memory.forget(2);
            Ok(7)
        });
        assert_eq!(*read.await.unwrap(), 7);
        assert_eq!(*memory.get(2, |_| async { Ok(8) }).await.unwrap(), 8);
    }

    #[tokio::test]
    async fn a_store_that_fails_is_bridged_and_asked_by_one() {
        let memory = Memory::<u8, u32>::new();
        memory.get(1, five).await.unwrap();
        let old = Instant::now().checked_sub(2 * TRUSTED).unwrap();
        memory.known.write().get_mut(&1).unwrap().read_at = old;
        let down = |_| async { Err(StoreError::Unavailable("down".into())) };
        assert_eq!(*memory.get(1, down).await.unwrap(), 5);
        let not_asked = |_| async { Err(StoreError::Broken("asked twice".into())) };
        assert_eq!(*memory.get(1, not_asked).await.unwrap(), 5);
        assert!(memory.get(2, down).await.is_err(), "nothing is known");
    }
}
