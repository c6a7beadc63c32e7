#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{future::Future, pin::pin, task::Poll};

use futures_util::{FutureExt, future::poll_fn};

use super::*;

#[expect(clippy::unnecessary_wraps, reason = "as the semaphore takes it")]
fn tenant(number: u128) -> Option<TenantId> {
    Some(TenantId::from_bits(number))
}

/// Starts to wait, and keeps waiting.
async fn begin<F: Future + Unpin>(waiting: &mut F) {
    poll_fn(|context| {
        assert!(waiting.poll_unpin(context).is_pending(), "it must wait");
        Poll::Ready(())
    })
    .await;
}

#[tokio::test]
async fn one_tenant_does_not_get_all_permits() {
    let semaphore = FairSemaphore::new(3, 2);
    let first = semaphore.acquire(tenant(1)).await.unwrap();
    let _second = semaphore.acquire(tenant(1)).await.unwrap();
    let mut third = pin!(semaphore.acquire(tenant(1)));
    begin(&mut third).await;
    let _other = semaphore.acquire(tenant(2)).await.unwrap();
    drop(first);
    assert!(third.await.is_ok());
}

/// faults.md 4: one tenant with a thousand calls does not delay others with one each.
#[tokio::test]
async fn tenants_take_turns_however_many_calls_one_makes() {
    let semaphore = FairSemaphore::new(1, 1);
    let mut held = semaphore.acquire(tenant(1)).await.unwrap();
    let mut waiting = Vec::new();
    for number in std::iter::repeat_n(1, 1_000).chain(2..7) {
        let mut one = Box::pin(semaphore.acquire(tenant(number)));
        begin(&mut one).await;
        waiting.push((number, one));
    }
    let mut served = Vec::new();
    for _ in 0..7 {
        drop(held);
        let next = poll_fn(|context| {
            let ready = waiting.iter_mut().enumerate().find_map(|(place, (number, one))| {
                let Poll::Ready(permit) = one.poll_unpin(context) else { return None };
                Some((place, *number, permit.unwrap()))
            });
            ready.map_or(Poll::Pending, Poll::Ready)
        });
        let (place, number, permit) = next.await;
        drop(waiting.remove(place));
        held = permit;
        served.push(number);
    }
    let of_crowd = served.iter().filter(|number| **number == 1).count();
    assert_eq!((of_crowd, served.len()), (2, 7), "one turn each: {served:?}");
    assert_eq!(semaphore.waiting(), 998);
}

#[tokio::test]
async fn callers_that_have_gone_are_passed_over() {
    let semaphore = FairSemaphore::new(1, 1);
    let held = semaphore.acquire(None).await.unwrap();
    for _ in 0..10 * MAX_WAITING {
        let mut gone = Box::pin(semaphore.acquire(tenant(1)));
        begin(&mut gone).await;
    }
    assert_eq!(semaphore.waiting(), 0);
    assert!(
        semaphore.0.state.lock().shares[&Account::from(tenant(1))].waiting.len() <= MAX_WAITING
    );
    let mut last = pin!(semaphore.acquire(tenant(1)));
    begin(&mut last).await;
    drop(held);
    drop(last.await.unwrap());
    let state = semaphore.0.state.lock();
    assert_eq!((state.free, state.shares.len(), state.turns.len()), (1, 0, 0));
}

#[tokio::test]
async fn a_permit_that_nobody_takes_comes_back() {
    let semaphore = FairSemaphore::new(1, 1);
    let held = semaphore.acquire(None).await.unwrap();
    let mut waiting = Box::pin(semaphore.acquire(tenant(1)));
    begin(&mut waiting).await;
    // It is granted, and its caller goes away before it sees that.
    drop(held);
    drop(waiting);
    assert!(semaphore.acquire(tenant(2)).now_or_never().is_some());
}

#[tokio::test]
async fn too_many_of_one_tenant_are_refused_and_others_are_not() {
    let semaphore = FairSemaphore::new(1, 1);
    let _held = semaphore.acquire(None).await.unwrap();
    let mut crowd = Vec::new();
    for _ in 0..MAX_WAITING {
        let mut one = Box::pin(semaphore.acquire(tenant(1)));
        begin(&mut one).await;
        crowd.push(one);
    }
    let refused = semaphore.acquire(tenant(1)).await.err();
    assert!(matches!(refused, Some(StoreError::Busy(_))), "{refused:?}");
    let mut other = pin!(semaphore.acquire(tenant(2)));
    begin(&mut other).await;
}

#[tokio::test]
async fn a_large_request_is_not_starved_by_small_ones() {
    let semaphore = FairSemaphore::new(10, 8);
    let small = semaphore.acquire_many(tenant(1), 4).await.unwrap();
    let mut large = pin!(semaphore.acquire_many(tenant(2), 8));
    begin(&mut large).await;
    let mut later = pin!(semaphore.acquire_many(tenant(3), 1));
    begin(&mut later).await;
    drop(small);
    let mut large = large.await.unwrap();
    drop(later.await.unwrap());
    large.shrink_to(1);
    assert_eq!(semaphore.0.state.lock().free, 9);
    // More than a share counts as a share.
    let all = semaphore.acquire_many(tenant(1), 1_000).await.unwrap();
    assert_eq!(all.weight, 8);
}

/// However many unknown callers wait, calls of the gateway itself and of tenants are neither refused nor
/// last.
#[tokio::test]
async fn strangers_have_an_account_of_their_own() {
    let semaphore = FairSemaphore::new(1, 1);
    let held = semaphore.acquire(Account::Strangers).await.unwrap();
    let mut waiting = Vec::new();
    for _ in 0..MAX_WAITING {
        let mut one = Box::pin(semaphore.acquire(Account::Strangers));
        begin(&mut one).await;
        waiting.push(one);
    }
    let refused = semaphore.acquire(Account::Strangers).await;
    assert!(matches!(refused, Err(StoreError::Busy(_))));
    let mut own = Box::pin(semaphore.acquire(Account::Gateway));
    begin(&mut own).await;
    drop(held);
    // Only one of the unknown callers continues: each of the two has a turn.
    let stranger = waiting.remove(0);
    let (own, stranger) =
        tokio::join!(async { own.await.is_ok() }, async { stranger.await.is_ok() });
    assert!(own && stranger);
}
