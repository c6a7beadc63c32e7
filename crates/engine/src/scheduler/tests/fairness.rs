//! Who goes when.

use super::*;

/// Takes `count` deliveries, giving each slot back at once, and returns their tenants.
fn served(queue: &mut Scheduler<u32>, count: usize) -> Vec<u128> {
    let one = |_| {
        let (slot, _) = queue.next(NOW).expect("something waits");
        let tenant = tenant_of(&slot);
        queue.finished(slot, FINE, NOW);
        tenant
    };
    (0..count).map(one).collect()
}

#[test]
fn three_in_a_row_while_others_wait() {
    let mut queue = Scheduler::new(limits(10));
    fill(&mut queue, key(1, 1), 9);
    fill(&mut queue, key(2, 1), 4);
    assert_eq!(served(&mut queue, 13), [1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 1, 1, 1]);
    assert!(queue.next(NOW).is_none());
}

#[test]
fn one_delivery_is_not_delayed_by_a_thousand() {
    let mut queue = Scheduler::new(limits(10));
    fill(&mut queue, key(1, 1), 1_000);
    served(&mut queue, 100);
    fill(&mut queue, key(2, 1), 1);
    assert!(served(&mut queue, 3).contains(&2));
}

#[test]
fn targets_of_a_tenant_take_turns() {
    let mut queue = Scheduler::new(limits(10));
    fill(&mut queue, key(1, 1), 3);
    fill(&mut queue, key(1, 2), 2);
    let order: Vec<u128> =
        (0..5).map(|_| queue.next(NOW).unwrap().0.key.1.bits() - 1_000).collect();
    assert_eq!(order, [1, 2, 1, 2, 1]);
}

#[test]
fn a_tenant_holds_half_of_the_lane_unless_alone() {
    let mut queue = Scheduler::new(limits(9));
    fill(&mut queue, key(1, 1), 50);
    let mut alone: Vec<Slot> = std::iter::from_fn(|| queue.next(NOW)).map(|(s, _)| s).collect();
    assert_eq!(alone.len(), 9, "alone it may have all");

    fill(&mut queue, key(2, 1), 50);
    for _ in 0..4 {
        queue.finished(alone.pop().unwrap(), FINE, NOW);
        let (slot, _) = queue.next(NOW).unwrap();
        assert_eq!(tenant_of(&slot), 2, "the other is served until it has its half");
    }
    queue.finished(alone.pop().unwrap(), FINE, NOW);
    let (_, _) = queue.next(NOW).expect("no slot stays unused");
    queue.check(NOW);
}

#[test]
fn a_hanging_target_holds_its_own_slots_only() {
    let mut queue = Scheduler::new(limits(100));
    for item in 0..50 {
        queue.push(incoming(key(1, 1), 4, None, item), NOW);
    }
    fill(&mut queue, key(1, 2), 50);
    let hanging = |slot: &Slot| slot.key == key(1, 1);
    let out: Vec<Slot> = std::iter::from_fn(|| queue.next(NOW)).map(|(s, _)| s).collect();
    assert_eq!(out.iter().filter(|slot| hanging(slot)).count(), 4);
    assert_eq!(out.len(), 54, "its neighbor is not delayed");
}

#[test]
fn the_metrics_tell_who_waits() {
    let mut queue = Scheduler::new(limits(100));
    for tenant in 1..=7 {
        fill(&mut queue, key(tenant, 1), 10);
    }
    served(&mut queue, 13);
    let of = |tenant: u128| {
        let shares = queue.shares();
        *shares.iter().find(|share| share.tenant.bits() == tenant).unwrap()
    };
    assert_eq!((of(1).processed, of(1).rounds_waited, of(1).priority), (3, 3, 2));
    assert_eq!((of(5).consecutive, of(5).priority), (1, 5));
    assert_eq!((of(7).processed, of(7).rounds_waited, of(7).priority), (0, 4, 1));
}
