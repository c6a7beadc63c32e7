//! Lanes with hard slots: those in trouble share half of them, and what hangs beyond that is cut for those who wait.

use super::*;

const LATE_FAULT: Outcome =
    Outcome::Tried { at_fault: true, load: Load::Heavy, latency: Duration::from_secs(1) };

fn hard(concurrency: u32) -> LaneLimits {
    LaneLimits { policy: SlotPolicy::Hard, remembered: 10_000, ..limits(concurrency) }
}

/// A lane that knows its backlog, and in which these tenants have proven themselves.
fn lane(concurrency: u32, proven: &[u128]) -> Scheduler<u32> {
    let mut queue = Scheduler::new(hard(concurrency));
    for tenant in proven {
        fill(&mut queue, key(*tenant, 1), 1);
        let (slot, _) = queue.next(NOW).expect("a slot is free");
        queue.finished(slot, FINE, NOW);
    }
    queue
}

fn take_all(queue: &mut Scheduler<u32>, now: Time) -> Vec<Slot> {
    let taken = std::iter::from_fn(|| queue.next(now).map(|(slot, _)| slot)).collect();
    queue.check(now);
    taken
}

#[test]
fn however_many_are_in_trouble_half_of_the_slots_is_left() {
    for (concurrency, count) in [(2, 1), (2, 300), (5, 3), (5, 40), (9, 1_000), (64, 33)] {
        let mut queue = lane(concurrency, &[1]);
        for tenant in 2..count + 2 {
            fill(&mut queue, key(tenant, 1), 2);
        }
        let mut now = NOW;
        // Each fails once, and is tried again.
        for _ in 0..2 * count {
            for slot in take_all(&mut queue, now) {
                queue.finished(slot, LATE_FAULT, now);
            }
            now = now + Duration::from_secs(1);
            queue.check(now);
        }
        for tenant in 2..count + 2 {
            fill(&mut queue, key(tenant, 1), 2);
        }
        now = now + Duration::from_mins(10);
        let out = take_all(&mut queue, now);
        assert!(out.len() as u32 <= concurrency / 2, "{} of {concurrency}", out.len());
        fill(&mut queue, key(1, 1), concurrency);
        let more = take_all(&mut queue, now);
        assert!(more.iter().all(|slot| tenant_of(slot) == 1));
        assert_eq!((out.len() + more.len()) as u32, concurrency, "no slot is left idle");
    }
}

/// As when one of many recipients does not exist: the server says so at once.
#[test]
fn one_that_fails_at_once_keeps_its_slots() {
    let mut queue = lane(6, &[1]);
    for tenant in 2..300 {
        fill(&mut queue, key(tenant, 1), 1);
    }
    let mut now = NOW + Duration::from_secs(20);
    let hanging = take_all(&mut queue, NOW);
    assert_eq!(hanging.len(), 3);
    for _ in 0..5 {
        fill(&mut queue, key(1, 1), 1);
        let out = take_all(&mut queue, now);
        assert_eq!(out.iter().map(tenant_of).collect::<Vec<_>>(), [1]);
        now = now + QUICK;
        for slot in out {
            queue.finished(slot, FAULT, now);
        }
    }
    fill(&mut queue, key(1, 1), 1);
    for slot in take_all(&mut queue, now) {
        queue.finished(slot, LATE_FAULT, now);
    }
    fill(&mut queue, key(1, 1), 1);
    assert!(take_all(&mut queue, now).is_empty(), "it may hang next");
}

#[test]
fn new_tenants_share_that_half_and_none_is_shut_out() {
    let mut queue = lane(8, &[1]);
    for tenant in 2..100 {
        fill(&mut queue, key(tenant, 1), 3);
    }
    let out = take_all(&mut queue, NOW);
    assert_eq!(out.len(), 4);
    let mut served: Vec<u128> = out.iter().map(tenant_of).collect();
    served.dedup();
    assert_eq!(served.len(), 4, "one for each, until it has proven itself");
    // They hang, and are in trouble: the next new one gets the slot of one that is cut.
    let later = NOW + Duration::from_secs(10);
    assert!(take_all(&mut queue, later).is_empty());
    assert_eq!(queue.hung(later).surplus, 1);
    assert_eq!(queue.hung(later).flights.len(), 4);
}

#[test]
fn attempts_that_hang_end_when_others_wait() {
    let mut queue = lane(5, &[1, 2, 3]);
    fill(&mut queue, key(1, 1), 5);
    fill(&mut queue, key(2, 1), 5);
    let mut out = take_all(&mut queue, NOW);
    assert_eq!(out.len(), 5);
    let later = NOW + Duration::from_secs(10);
    assert!(take_all(&mut queue, later).is_empty());
    assert_eq!(queue.hung(later), HungFlights::default(), "nobody else waits");

    fill(&mut queue, key(3, 1), 4);
    let just_before = NOW + Duration::from_millis(3_300);
    let mut young = lane(5, &[1, 2, 3]);
    fill(&mut young, key(1, 1), 5);
    fill(&mut young, key(2, 1), 5);
    let _out = take_all(&mut young, NOW);
    fill(&mut young, key(3, 1), 4);
    take_all(&mut young, just_before);
    assert_eq!(young.hung(just_before), HungFlights::default(), "they may still answer");

    assert!(take_all(&mut queue, later).is_empty());
    let hung = queue.hung(later);
    assert_eq!(hung.surplus, 1, "one tenant waits");
    assert_eq!(hung.flights.len(), 5);
    for freed in 0..3 {
        let longest = queue.hung(later).flights[0].0;
        let at = out.iter().position(|slot| slot.flight() == longest).expect("it is out");
        queue.finished(out.remove(at), FAULT, later);
        let served = take_all(&mut queue, later);
        assert_eq!(served.iter().map(tenant_of).collect::<Vec<_>>(), [3], "after {freed}");
    }
    assert_eq!(queue.hung(later), HungFlights::default(), "half may go on hanging");
}

#[test]
fn nothing_is_cut_where_the_rate_is_what_others_wait_for() {
    let later = NOW + Duration::from_secs(10);
    for (count, surplus) in [(2, 0), (3, 1)] {
        let rate = Some(Rate { count, per: Duration::from_hours(1) });
        let mut queue = Scheduler::new(LaneLimits { rate, ..hard(5) });
        for tenant in 1..=9 {
            fill(&mut queue, key(tenant, 1), 1);
        }
        assert_eq!(take_all(&mut queue, NOW).len(), 2);
        assert!(take_all(&mut queue, later).is_empty());
        assert_eq!(queue.hung(later).surplus, surplus, "{count} an hour");
    }
}

#[test]
fn one_that_is_slow_and_accepts_keeps_its_slots() {
    let mut queue = lane(6, &[1]);
    let slow =
        Outcome::Tried { at_fault: false, load: Load::Heavy, latency: Duration::from_secs(9) };
    let mut now = NOW;
    fill(&mut queue, key(1, 1), 100);
    for _ in 0..5 {
        let out = take_all(&mut queue, now);
        assert!(!out.is_empty());
        now = now + Duration::from_secs(9);
        for slot in out {
            queue.finished(slot, slow, now);
        }
    }
    assert_eq!(queue.pools[Pool::Troubled].in_flight, 0);
    assert_eq!(queue.targets[&key(1, 1)].pool, Pool::Prompt);
}

#[test]
fn those_that_hold_slots_for_long_come_after_those_that_do_not() {
    let mut queue = lane(2, &[1, 2]);
    fill(&mut queue, key(1, 1), 50);
    fill(&mut queue, key(2, 1), 50);
    let mut now = NOW;
    let mut served = BTreeMap::from([(1, 0), (2, 0)]);
    let mut out: Vec<(Time, Slot)> = Vec::new();
    // Tenant 1 takes five seconds for each, tenant 2 half a second.
    while now < NOW + Duration::from_secs(60) {
        for slot in take_all(&mut queue, now) {
            let takes = if tenant_of(&slot) == 1 { 5_000 } else { 500 };
            *served.get_mut(&tenant_of(&slot)).expect("one of the two") += 1;
            out.push((now + Duration::from_millis(takes), slot));
        }
        now = now + Duration::from_millis(100);
        for (_, slot) in out.extract_if(.., |(at, _)| *at <= now) {
            queue.finished(slot, FINE, now);
        }
    }
    assert_eq!(served[&2], 50, "{served:?}");
}
