#![allow(clippy::unwrap_used)]

use std::{
    pin::pin,
    task::{Context, Poll, Waker},
};

use tokio::sync::oneshot;

use super::*;
use crate::StoreError;

async fn five(_: Option<Arc<u32>>) -> Result<Arc<u32>> {
    Ok(Arc::new(5))
}

#[expect(clippy::unused_async, reason = "stands for a read of the store")]
async fn value(value: u32) -> Result<Arc<u32>> {
    Ok(Arc::new(value))
}

fn poll<F: Future + ?Sized>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn grow_old(cache: &ReadCache<u8, u32>, key: u8) {
    let old = Instant::now().checked_sub(2 * cache.policy.ttl).unwrap();
    cache.known.write().get_mut(&key).unwrap().read_at = old;
}

#[tokio::test]
async fn is_read_once_and_again_when_changed() {
    let cache = ReadCache::<u8, u32>::new();
    assert_eq!(cache.peek(1), None);
    assert_eq!(*cache.get(1, five).await.unwrap(), 5);
    let again = cache.get(1, |_| value(6)).await.unwrap();
    assert_eq!(*again, 5, "it is trusted");
    cache.forget(1);
    assert_eq!(cache.peek(1).as_deref(), Some(&5), "for those who cannot ask");
    assert_eq!(*cache.get(1, |_| value(7)).await.unwrap(), 7);
    assert_eq!(*cache.get(1, |_| value(8)).await.unwrap(), 7);
}

#[tokio::test]
async fn what_was_read_before_a_change_is_not_kept_after_it() {
    let cache = ReadCache::<u8, u32>::new();
    let read = cache.get(1, |_| async {
        cache.forget(1);
        value(5).await
    });
    assert_eq!(*read.await.unwrap(), 5);
    assert_eq!(*cache.get(1, |_| value(6)).await.unwrap(), 6);
}

#[tokio::test]
async fn a_store_that_fails_is_bridged_and_asked_by_one() {
    let cache = ReadCache::<u8, u32>::new();
    cache.get(1, five).await.unwrap();
    grow_old(&cache, 1);
    let down = |_| async { Err(StoreError::Unavailable("down".into())) };
    assert_eq!(*cache.get(1, down).await.unwrap(), 5);
    let not_asked = |_| async { Err(StoreError::Broken("asked twice".into())) };
    assert_eq!(*cache.get(1, not_asked).await.unwrap(), 5);
    assert!(cache.get(2, down).await.is_err(), "nothing is known");
}

/// faults.md 18: after a change, and where nothing is known, of many who ask one reads.
#[tokio::test]
async fn of_many_who_ask_at_once_one_reads() {
    let cache = ReadCache::<u8, u32>::new();
    for round in 0..2 {
        let reads = AtomicUsize::new(0);
        let (tell, told) = oneshot::channel::<u32>();
        let told = Mutex::new(Some(told));
        let ask = || {
            cache.get(1, |_| async {
                reads.fetch_add(1, Ordering::Relaxed);
                let told = told.lock().take().unwrap();
                value(told.await.unwrap()).await
            })
        };
        let mut all: Vec<_> = (0..50).map(|_| Box::pin(ask())).collect();
        for one in &mut all {
            assert!(poll(one.as_mut()).is_pending(), "it waits");
        }
        tell.send(7 + round).unwrap();
        for one in all {
            assert_eq!(*one.await.unwrap(), 7 + round);
        }
        assert_eq!(reads.into_inner(), 1);
        // The second time there is something known, and it was changed.
        cache.forget(1);
    }
}

#[tokio::test]
async fn when_the_one_who_reads_goes_away_another_reads() {
    let cache = ReadCache::<u8, u32>::new();
    let mut first = Box::pin(cache.get(1, |_| std::future::pending()));
    assert!(poll(first.as_mut()).is_pending());
    let mut second = pin!(cache.get(1, five));
    assert!(poll(second.as_mut()).is_pending(), "it waits for the first");
    drop(first);
    assert_eq!(*second.await.unwrap(), 5);
}

#[tokio::test]
async fn a_failure_is_shared_too() {
    let cache = ReadCache::<u8, u32>::new();
    let (tell, told) = oneshot::channel::<()>();
    let mut first = Box::pin(cache.get(1, |_| async {
        told.await.unwrap();
        Err(StoreError::Unavailable("down".into()))
    }));
    assert!(poll(first.as_mut()).is_pending());
    let not_asked = |_| async { Err(StoreError::Broken("asked twice".into())) };
    let mut second = pin!(cache.get(1, not_asked));
    assert!(poll(second.as_mut()).is_pending());
    tell.send(()).unwrap();
    let down = Err(StoreError::Unavailable("down".into()));
    assert_eq!((first.await, second.await), (down.clone(), down));
    assert_eq!(*cache.get(1, five).await.unwrap(), 5, "it is asked again");
}

/// A call after a change gets a value read after it, though an earlier read is in progress.
#[tokio::test]
async fn a_read_that_began_before_a_change_is_not_waited_for() {
    let cache = ReadCache::<u8, u32>::new();
    for _ in 0..2 {
        let (tell, told) = oneshot::channel::<()>();
        let mut early = Box::pin(cache.get(1, |_| async {
            told.await.unwrap();
            value(1).await
        }));
        assert!(poll(early.as_mut()).is_pending());
        cache.forget(1);
        assert_eq!(*cache.get(1, |_| value(2)).await.unwrap(), 2);
        tell.send(()).unwrap();
        early.await.unwrap();
        assert_eq!(*cache.get(1, |_| value(3)).await.unwrap(), 2, "the late value is not kept");
        cache.forget(1);
    }
}

fn strict(max_entries: usize) -> ReadCache<u8, u32> {
    ReadCache::with(CachePolicy { max_entries, is_strict: true, ..CachePolicy::default() })
}

#[tokio::test]
async fn a_strict_cache_uses_nothing_old() {
    let cache = strict(10);
    cache.get(1, five).await.unwrap();
    let down = |_| async { Err(StoreError::Unavailable("down".into())) };
    assert_eq!(*cache.get(1, down).await.unwrap(), 5, "it is young");
    grow_old(&cache, 1);
    assert!(cache.get(1, down).await.is_err());
    assert_eq!(*cache.get(1, |_| value(6)).await.unwrap(), 6);
    cache.forget(1);
    assert!(cache.get(1, down).await.is_err());
}

#[tokio::test]
async fn a_strict_cache_never_has_more_than_it_may() {
    let cache = strict(10);
    for key in 0..=u8::MAX {
        cache.get(key, five).await.unwrap();
        assert!(cache.known.read().len() <= 10);
    }
}

/// Looking through all of them with each call would cost more the more are in use.
#[tokio::test(start_paused = true)]
async fn entries_in_use_are_kept_and_not_looked_through_with_each_call() {
    let policy = CachePolicy { max_entries: 10, ..CachePolicy::default() };
    let cache = ReadCache::<u8, u32>::with(policy);
    for key in 0..20 {
        cache.get(key, five).await.unwrap();
    }
    assert_eq!(cache.known.read().len(), 20, "all are in use");
    let looked_at = *cache.made_room_at.lock();
    tokio::time::advance(Duration::from_secs(1)).await;
    cache.get(20, five).await.unwrap();
    assert_eq!(*cache.made_room_at.lock(), looked_at);
    tokio::time::advance(LATELY).await;
    cache.get(21, five).await.unwrap();
    assert_eq!(cache.known.read().len(), 1, "the others are not in use any more");
}

/// Strangers may ask for any number of keys that do not exist.
#[tokio::test]
async fn what_does_not_exist_evicts_nothing_that_does() {
    let cache = strict(10).with_absent(|value| *value == 0);
    cache.get(1, five).await.unwrap();
    for key in 2..=u8::MAX {
        cache.get(key, |_| value(0)).await.unwrap();
        assert!(cache.known.read().len() <= 11);
    }
    assert_eq!(*cache.get(1, |_| value(6)).await.unwrap(), 5, "it was not read again");
    // What exists by now counts as existing.
    cache.forget(u8::MAX);
    cache.get(u8::MAX, five).await.unwrap();
    for key in 2..u8::MAX {
        cache.forget(key);
        cache.get(key, five).await.unwrap();
        assert!(cache.known.read().len() <= 20);
    }
}

/// An entry that made room for others and was read again is another one.
#[tokio::test]
async fn what_was_read_before_a_change_is_not_kept_though_room_was_made_meanwhile() {
    let cache = strict(1);
    cache.get(1, five).await.unwrap();
    grow_old(&cache, 1);
    let (tell, told) = oneshot::channel::<()>();
    let mut early = Box::pin(cache.get(1, |_| async {
        told.await.unwrap();
        value(5).await
    }));
    assert!(poll(early.as_mut()).is_pending());
    cache.forget(1);
    cache.get(2, five).await.unwrap();
    assert_eq!(*cache.get(1, |_| value(6)).await.unwrap(), 6);
    tell.send(()).unwrap();
    early.await.unwrap();
    assert_eq!(*cache.get(1, |_| value(7)).await.unwrap(), 6, "the late value is not kept");
}

/// A tenant with very many endpoints that changes one before each of its events.
#[tokio::test(start_paused = true)]
async fn an_entry_that_is_changed_all_the_time_is_read_for_a_tenth_of_the_time() {
    const TOOK: Duration = Duration::from_millis(31);
    let cache = ReadCache::<u8, u32>::new().with_pace(|key| *key == 1);
    assert!(!cache.is_fresh(1));
    let (changes, reads) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let read = |_| async {
        // As it is when the read begins.
        let seen = changes.load(Ordering::Relaxed) as u32;
        reads.fetch_add(1, Ordering::Relaxed);
        // Sleeps in virtual time, as a store that reads.
        tokio::time::sleep(TOOK).await;
        Ok(Arc::new(seen))
    };
    cache.get(1, read).await.unwrap();
    assert!(cache.is_fresh(1));
    let until = Instant::now() + 100 * TOOK;
    let change_and_ask = async || {
        while Instant::now() < until {
            let mine = changes.fetch_add(1, Ordering::Relaxed) as u32 + 1;
            cache.forget(1);
            assert!(*cache.get(1, read).await.unwrap() >= mine, "each sees its own change");
            tokio::task::yield_now().await;
        }
    };
    futures_util::future::join_all((0..16).map(|_| change_and_ask())).await;
    let reads = reads.load(Ordering::Relaxed);
    assert!((9..=13).contains(&reads), "{reads} reads");
    // What others share with it is read at once.
    for _ in 0..3 {
        let began = Instant::now();
        cache.get(2, read).await.unwrap();
        cache.forget(2);
        assert_eq!(began.elapsed(), TOOK);
    }
}

/// What others change that is not known does not matter.
#[tokio::test]
async fn a_change_of_something_else_during_the_first_read_costs_one_read() {
    let cache = ReadCache::<u8, u32>::new();
    let first = cache.get(1, |_| async {
        cache.forget(2);
        value(5).await
    });
    assert_eq!(*first.await.unwrap(), 5);
    assert_eq!(cache.peek(1).as_deref(), Some(&5), "for those who cannot ask");
    let second = cache.get(1, |_| async {
        cache.forget(2);
        value(6).await
    });
    assert_eq!(*second.await.unwrap(), 6);
    assert_eq!(*cache.get(1, |_| value(7)).await.unwrap(), 6, "it is trusted");
}
