//! What holds deliveries back, and what lets them go on.

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn popped(queue: &mut Scheduler<u32>, now: Time) -> Vec<Slot> {
    std::iter::from_fn(|| queue.next(now)).map(|(slot, _)| slot).collect()
}

#[test]
fn a_lane_keeps_its_rate() {
    let rate = Rate { count: 100, per: Duration::from_mins(1) };
    let mut queue = Scheduler::new(LaneLimits { rate: Some(rate), ..limits(1_000) });
    fill(&mut queue, key(1, 1), 60);
    fill(&mut queue, key(2, 1), 60);
    assert_eq!(popped(&mut queue, NOW).len(), 100);
    let at = queue.wake_at(NOW).unwrap();
    assert_eq!(at, NOW + Duration::from_millis(600));
    assert_eq!(popped(&mut queue, at).len(), 1);
}

#[test]
fn limits_can_change_while_deliveries_are_in_flight() {
    for limits in [limits(8), soft(16)] {
        let mut queue = Scheduler::new(limits);
        for tenant in 1..=4 {
            fill(&mut queue, key(tenant, 1), 50);
        }
        let mut out = popped(&mut queue, NOW);
        let before = out.len();
        assert!(before >= 4, "{before}");

        queue.set_limits(2, None, TURN);
        assert!(queue.next(NOW).is_none());
        while out.len() > 2 {
            queue.finished(out.pop().unwrap(), FINE, NOW);
            assert!(queue.next(NOW).is_none() || out.len() < 2, "{} are in flight", out.len());
        }
        for slot in out {
            queue.finished(slot, FINE, NOW);
        }
        let out = popped(&mut queue, NOW);
        assert!((1..=2).contains(&out.len()), "{}", out.len());

        queue.set_limits(100, None, TURN);
        assert!(popped(&mut queue, NOW).len() > before);
        for slot in out {
            queue.finished(slot, FINE, NOW);
        }

        let rate = Rate { count: 1, per: SECOND };
        queue.set_limits(1_000, Some(rate), TURN);
        assert!(popped(&mut queue, NOW + SECOND).len() <= 1);
        assert!(popped(&mut queue, NOW + 2 * SECOND).len() <= 1);
        queue.check(NOW + 2 * SECOND);
    }
}

#[test]
fn a_target_keeps_its_rate() {
    let rate = Rate { count: 2, per: SECOND };
    let mut queue = Scheduler::new(limits(100));
    for item in 0..10 {
        queue.push(incoming(key(1, 1), 64, Some(rate), item), NOW);
    }
    assert_eq!(popped(&mut queue, NOW).len(), 2);
    assert_eq!(queue.wake_at(NOW), Some(NOW + SECOND / 2));
    assert_eq!(popped(&mut queue, NOW + SECOND).len(), 2);

    // The clock goes back by a day: the target is not closed for a day.
    let yesterday = NOW - 86_400 * SECOND;
    popped(&mut queue, yesterday);
    assert!(queue.wake_at(yesterday).unwrap() <= yesterday + SECOND);
}

#[test]
fn a_tenant_with_very_many_targets_has_none_of_another_forgotten() {
    let rate = Rate { count: 1, per: 3_600 * SECOND };
    let mut queue = Scheduler::new(limits(100));
    let deliver = |queue: &mut Scheduler<u32>, key: Key, rate: Option<Rate>| {
        queue.push(incoming(key, 64, rate, 0), NOW);
        let slots = popped(queue, NOW);
        let count = slots.len();
        for slot in slots {
            queue.finished(slot, FINE, NOW);
        }
        count
    };
    assert_eq!(deliver(&mut queue, key(1, 1), Some(rate)), 1);
    for target in 1..=500 {
        assert_eq!(deliver(&mut queue, key(2, target), None), 1);
    }
    queue.check(NOW);
    assert_eq!(deliver(&mut queue, key(1, 1), Some(rate)), 0, "its rate is used up");
}

#[test]
fn a_rest_that_a_clock_going_back_has_ended_does_not_begin_again() {
    let mut queue = Scheduler::new(limits(100));
    fill(&mut queue, key(1, 1), 100);
    for slot in popped(&mut queue, NOW) {
        queue.finished(slot, FAULT, NOW);
    }
    assert!(queue.next(NOW).is_none());
    let until = queue.wake_at(NOW).unwrap();
    let back = NOW - 3_600 * SECOND;
    assert!(queue.next(back).is_none());
    for at in [back, until - 100 * SECOND] {
        assert!(!queue.claims.skips(key(1, 1)), "nothing would end it");
        assert_eq!(queue.status(key(1, 1), at).unwrap().rests_until, None);
    }
}

#[test]
fn a_failing_target_rests_and_gives_back_what_it_held() {
    let mut queue = Scheduler::new(limits(100));
    fill(&mut queue, key(1, 1), 100);
    for slot in popped(&mut queue, NOW) {
        queue.finished(slot, FAULT, NOW);
    }
    assert_eq!(queue.queued(), 0, "while it rests it takes no room");
    assert_eq!(queue.take_evicted().len(), 36);
    assert!(queue.skip().targets.contains(&key(1, 1).1));
    assert!(queue.next(NOW).is_none());
    let at = queue.wake_at(NOW).unwrap();
    queue.take_eased();
    assert!(queue.next(at).is_none());
    assert!(queue.take_eased(), "a claim may bring one that goes to see");
    queue.push(incoming(key(1, 1), 64, None, 0), at);
    let probe = popped(&mut queue, at);
    assert_eq!(probe.len(), 1);
    queue.check(at);
    for slot in probe {
        queue.finished(slot, FINE, at);
    }
    assert!(queue.take_eased(), "claims may take of it again");
    assert!(!queue.skip().targets.contains(&key(1, 1).1));
}

#[test]
fn an_urgent_delivery_goes_first_and_through_an_open_breaker() {
    let urgent = |item| QueueEntry { is_urgent: true, ..incoming(key(1, 1), 64, None, item) };
    let mut queue = Scheduler::new(soft(100));
    fill(&mut queue, key(1, 1), 3);
    queue.push(urgent(9), NOW);
    assert_eq!(queue.next(NOW).unwrap().1, 9, "before those that came earlier");

    let mut queue = Scheduler::new(limits(100));
    fill(&mut queue, key(1, 1), 20);
    for slot in popped(&mut queue, NOW) {
        queue.finished(slot, FAULT, NOW);
    }
    queue.push(incoming(key(1, 1), 64, None, 8), NOW);
    assert!(queue.next(NOW).is_none(), "the breaker is open");
    queue.push(urgent(9), NOW);
    let (slot, item) = queue.next(NOW).unwrap();
    assert_eq!(item, 9);
    queue.check(NOW);
    queue.push(urgent(10), NOW);
    assert!(queue.next(NOW).is_none(), "one probe at a time");
    queue.finished(slot, FINE, NOW);
    queue.check(NOW);
    queue.push(incoming(key(1, 1), 64, None, 11), NOW);
    assert_eq!(popped(&mut queue, NOW).len(), 1, "the breaker is closed");
}

#[test]
fn pauses_hold_back_and_let_go() {
    let mut queue = Scheduler::new(limits(100));
    let all = [
        Pause::Lane(Lane::Webhook),
        Pause::Tenant(key(1, 1).0),
        Pause::Endpoint(key(1, 1).0, key(1, 1).1),
    ];
    for pause in all {
        fill(&mut queue, key(1, 1), 2);
        queue.set_pause(pause, true, NOW);
        assert!(queue.next(NOW).is_none());
        assert_eq!(queue.queued(), 0, "a pause takes no room: {pause:?}");
        assert_eq!(queue.take_evicted().len(), 2);
        assert!(!queue.welcomes(key(1, 1), 0, NOW));
        fill(&mut queue, key(1, 1), 1);
        assert!(queue.next(NOW).is_none());
        assert_eq!(queue.take_evicted().len(), 1);
        queue.check(NOW);
        queue.set_pause(pause, false, NOW);
        fill(&mut queue, key(1, 1), 1);
        for slot in popped(&mut queue, NOW) {
            queue.finished(slot, FINE, NOW);
        }
        assert_eq!(queue.queued(), 0);
        assert_eq!(*queue.skip(), gancho_store::ClaimExclusions::default());
    }
}

#[test]
fn what_is_in_the_store_goes_before_what_is_new() {
    let mut queue: Scheduler<u32> = Scheduler::new(limits(100));
    let (mine, other) = (key(1, 1), key(2, 1));
    assert!(!queue.welcomes(mine, 0, NOW), "nobody knows yet what the store holds");
    queue.claimed(&queue.skip(), true);
    assert!(queue.welcomes(mine, 0, NOW));

    fill(&mut queue, mine, 260);
    assert!(!queue.welcomes(mine, 0, NOW), "it has enough");
    assert!(queue.welcomes(other, 0, NOW));
    let skip = queue.skip();
    while let Some((slot, _)) = queue.next(NOW) {
        queue.finished(slot, FINE, NOW);
    }
    assert!(!queue.welcomes(mine, 0, NOW), "older ones of it are in the store");
    queue.claimed(&skip, true);
    assert!(!queue.welcomes(mine, 0, NOW), "that claim passed it over");
    queue.claimed(&queue.skip(), false);
    assert!(!queue.welcomes(mine, 0, NOW), "that claim left some");
    queue.claimed(&queue.skip(), true);
    assert!(queue.welcomes(mine, 0, NOW));
}

#[test]
fn a_target_that_became_slow_gives_room_back() {
    let mut queue = Scheduler::new(limits(1_000));
    fill(&mut queue, key(1, 1), 260);
    let slow = Outcome::Tried { at_fault: false, load: Load::Heavy, latency: 3 * SECOND };
    for slot in popped(&mut queue, NOW).into_iter().skip(1) {
        queue.finished(slot, slow, NOW);
    }
    assert_eq!(queue.queued(), 196);
    assert_eq!(queue.shed(NOW).len(), 188);
    assert_eq!(queue.queued(), 8);
    queue.check(NOW);
}

#[test]
fn large_bodies_take_no_more_than_their_share() {
    let mut queue: Scheduler<u32> = Scheduler::new(limits(1_000));
    queue.claimed(&queue.skip(), true);
    let large = |item| QueueEntry { bytes: 50_000, ..incoming(key(1, 1), 1, None, item) };
    for item in 0..6 {
        queue.push(large(item), NOW);
    }
    assert!(!queue.welcomes(key(1, 1), 0, NOW));
    for item in 6..8 {
        queue.push(large(item), NOW);
    }
    assert!(queue.tenants[&key(1, 1).0].is_over, "the tenant has more than its part");
    assert!(
        queue.welcomes(key(1, 2), 0, NOW),
        "a target that keeps up does not wait for the other"
    );
    assert!(!queue.welcomes(key(1, 2), 4, NOW), "one that brings more does");
    for item in 8..13 {
        queue.push(large(item), NOW);
    }
    assert!(!queue.welcomes(key(1, 3), 0, NOW), "what is kept for such targets is used up");
    assert!(queue.welcomes(key(2, 1), 0, NOW));
    let flying = popped(&mut queue, NOW);
    assert_eq!(queue.shed(NOW).len(), 11, "one waits, one is in flight");
    assert_eq!(queue.queued(), 1);
    queue.claimed(&queue.skip(), true);
    for slot in flying {
        queue.finished(slot, FINE, NOW);
    }
    assert!(queue.welcomes(key(1, 2), 0, NOW));
}

#[test]
fn nodes_have_a_part_each_of_what_is_limited_for_all() {
    let rate = Rate { count: 10, per: Duration::from_hours(1) };
    let taken = |queue: &mut Scheduler<u32>| {
        std::iter::from_fn(|| queue.next(NOW)).map(|(slot, _)| slot).collect::<Vec<_>>()
    };

    // A lane whose limits are hard.
    let mut queue = Scheduler::new(LaneLimits { rate: Some(rate), ..limits(8) });
    assert!(queue.share_limits(2, NOW));
    assert!(!queue.share_limits(2, NOW), "nothing changes");
    fill(&mut queue, key(1, 1), 40);
    let slots = taken(&mut queue);
    assert_eq!(slots.len(), 4);
    for slot in slots {
        queue.finished(slot, FINE, NOW);
    }
    assert_eq!(taken(&mut queue).len(), 1, "five of the rate");
    queue.set_limits(6, None, 3);
    assert_eq!(taken(&mut queue).len(), 2, "three of six");

    // Targets, which may have less than one for each node.
    for (nodes, in_flight, granted) in [(1, 4, 10), (2, 2, 5), (5, 1, 2), (20, 1, 1)] {
        let mut queue = Scheduler::new(limits(100));
        for item in 0..10 {
            queue.push(incoming(key(1, 1), 4, None, item), NOW);
            queue.push(incoming(key(2, 2), 64, Some(rate), item), NOW);
        }
        assert_eq!(queue.share_limits(nodes, NOW), nodes != 1);
        let slots = taken(&mut queue);
        let count = |tenant| slots.iter().filter(|slot| tenant_of(slot) == tenant).count();
        assert_eq!((count(1), count(2)), (in_flight, granted), "{nodes} nodes");
        queue.check(NOW);
    }
}
