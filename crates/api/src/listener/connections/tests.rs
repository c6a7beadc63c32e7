use std::{net::Ipv4Addr, time::Duration};

use super::*;

fn table(max: usize, max_per_address: usize) -> Arc<ConnectionTable> {
    Arc::new(ConnectionTable::new(max, max_per_address, TrustedProxies::default()))
}

fn from(number: u32) -> IpAddr {
    Ipv4Addr::from_bits(0x0A00_0000 + number).into()
}

fn must_close(slot: &ConnectionSlot) -> bool {
    slot.connection.must_close.load(Ordering::Relaxed)
}

/// Pretends that the connection has been idle for this long.
fn wait(slot: &ConnectionSlot, millis: u64) {
    let since = slot.connection.since.load(Ordering::Relaxed);
    slot.connection.since.store(since.saturating_sub(millis), Ordering::Relaxed);
}

fn started(max: usize, max_per_address: usize) -> Arc<ConnectionTable> {
    let table = table(max, max_per_address);
    // Old enough for connections to have been idle.
    let began = table.began.checked_sub(Duration::from_secs(1_000)).unwrap();
    Arc::new(ConnectionTable {
        began,
        max,
        max_per_address,
        trusted: TrustedProxies::default(),
        open: Mutex::default(),
        head_bytes: AtomicUsize::new(0),
        ending: AtomicUsize::new(0),
    })
}

#[test]
fn who_waits_longest_makes_room() {
    let table = started(10, 10);
    let slots: Vec<ConnectionSlot> =
        (0..10).map(|number| table.admit(from(number)).unwrap()).collect();
    wait(&slots[3], 500);
    wait(&slots[7], 900);
    let _first = table.admit(from(10)).unwrap();
    assert!(must_close(&slots[7]) && !must_close(&slots[3]));
    let _second = table.admit(from(11)).unwrap();
    assert!(must_close(&slots[3]));
    assert_eq!(table.open.lock().all.len(), 10);
}

#[test]
fn who_has_proved_something_goes_last_and_who_is_answered_stays() {
    let table = started(3, 10);
    let slots: Vec<ConnectionSlot> =
        (0..3).map(|number| table.admit(from(number)).unwrap()).collect();
    slots[0].connection.mark_authenticated();
    wait(&slots[0], 90_000);
    let answering = slots[1].connection.answer();
    wait(&slots[1], 80_000);
    let _new = table.admit(from(3)).unwrap();
    assert!(must_close(&slots[2]), "the one that has proved nothing");
    let newer = table.admit(from(4)).unwrap();
    let _held = newer.connection.answer();
    let newest = table.admit(from(5)).unwrap();
    let _answering = newest.connection.answer();
    assert!(must_close(&slots[0]) && !must_close(&slots[1]));
    // A connection whose body comes from an unauthenticated sender can be closed.
    let reading = slots[1].connection.read();
    assert!(table.admit(from(6)).is_some() && must_close(&slots[1]));
    drop((reading, answering));
}

#[test]
fn a_body_that_does_not_arrive_makes_room_before_a_new_client() {
    let table = started(3, 10);
    let slots: Vec<ConnectionSlot> =
        (0..2).map(|number| table.admit(from(number)).unwrap()).collect();
    let _answering: Vec<_> = slots.iter().map(|slot| slot.connection.answer()).collect();
    let _reading: Vec<_> = slots.iter().map(|slot| slot.connection.read()).collect();
    for slot in &slots {
        slot.connection.mark_authenticated();
    }
    let new = table.admit(from(3)).unwrap();
    wait(&new, 500);
    let _newer = table.admit(from(4)).unwrap();
    assert!(!must_close(&new), "its request may be on the way");
    assert_eq!(slots.iter().filter(|slot| must_close(slot)).count(), 1);
}

#[test]
fn heads_that_do_not_arrive_take_no_more_than_their_share_of_memory() {
    let table = started(10_000, 10_000);
    let head = 30 * 1024;
    let mut slots = Vec::new();
    for number in 0..5_000 {
        let slot = table.admit(from(number)).unwrap();
        table.count_head(&slot.connection, head);
        slots.push(slot);
        assert!(table.head_bytes.load(Ordering::Relaxed) <= MAX_HEAD_BYTES);
    }
    let closed = slots.iter().filter(|slot| must_close(slot)).count();
    assert!(closed >= 5_000 - MAX_HEAD_BYTES / (head - UNCOUNTED_HEAD) - 1, "{closed}");
    // Heads of usual size are not counted, and none of their connections is closed.
    let small = table.admit(from(5_000)).unwrap();
    table.count_head(&small.connection, UNCOUNTED_HEAD);
    assert!(!must_close(&small));
    drop((slots, small));
    assert_eq!(table.head_bytes.load(Ordering::Relaxed), 0, "nothing is counted twice");
}

#[test]
fn nobody_is_sent_away_who_is_being_answered() {
    let table = started(2, 10);
    let slots: Vec<ConnectionSlot> =
        (0..2).map(|number| table.admit(from(number)).unwrap()).collect();
    let answering: Vec<AnswerGuard> = slots.iter().map(|slot| slot.connection.answer()).collect();
    assert!(table.admit(from(2)).is_none());
    assert_eq!(table.make_room(5), 0);
    drop(answering);
    assert_eq!(table.make_room(5), 2);
    assert!(slots.iter().all(must_close));
}

#[test]
fn an_address_has_its_share_and_a_proxy_has_none() {
    let table = started(1_000, 4);
    let mut crowd: Vec<ConnectionSlot> = (0..4).map(|_| table.admit(from(1)).unwrap()).collect();
    let other = table.admit(from(2)).unwrap();
    wait(&other, 100_000);
    wait(&crowd[2], 10);
    crowd.push(table.admit(from(1)).unwrap());
    assert!(must_close(&crowd[2]) && !must_close(&other), "one of its own makes room");
    crowd.remove(2);
    assert_eq!(table.open.lock().by_address[&from(1).into()].len(), 4);
    crowd.clear();
    assert_eq!(table.open.lock().by_address.len(), 1, "what is gone is forgotten");
    let local: Vec<ConnectionSlot> =
        (0..500).map(|_| table.admit(Ipv4Addr::LOCALHOST.into()).unwrap()).collect();
    assert!(!local.iter().any(must_close));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the order does not matter")]
fn places_are_found_again_whichever_leaves() {
    let table = started(5_000, 5_000);
    let mut slots: Vec<ConnectionSlot> =
        (0..3_000).map(|number| table.admit(from(number % 7)).unwrap()).collect();
    while !slots.is_empty() {
        let at = rand::random_range(0..slots.len());
        slots.swap_remove(at);
        if slots.len().is_multiple_of(500) {
            table.make_room(10);
        }
    }
    let open = table.open.lock();
    assert!(open.all.is_empty() && open.by_address.is_empty());
}

#[tokio::test]
async fn the_one_that_must_go_is_notified() {
    let table = started(1, 1);
    let slot = table.admit(from(1)).unwrap();
    let next = table.admit(from(2)).unwrap();
    slot.connection.must_close().await;
    let waiting = next.connection.clone();
    let mut closing = std::pin::pin!(waiting.must_close());
    assert!(futures_util::poll!(&mut closing).is_pending(), "there is room");
    table.make_room(1);
    closing.await;
}
