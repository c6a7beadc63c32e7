use std::net::{IpAddr, Ipv4Addr};

use super::*;

fn sender(address: u32, partner: &str) -> Sender {
    let ip = IpAddr::V4(Ipv4Addr::from_bits(address));
    Sender {
        address: ClientAddress { block: ip.into(), is_shared: false },
        partner: partner.into(),
        is_stored: true,
        is_known: false,
    }
}

fn used(budget: &BodyBudget) -> usize {
    budget.used.load(Ordering::Relaxed)
}

fn is_evicted(incoming: &IncomingBody) -> bool {
    incoming.transfer.is_evicted.load(Ordering::Relaxed)
}

/// Starts a transfer that is already this old.
fn begun(budget: &Arc<BodyBudget>, sender: Sender, bytes: usize, ago: Duration) -> IncomingBody {
    let incoming = budget.begin(sender, 0).unwrap();
    let mut transfers = budget.transfers.lock();
    let place = incoming.transfer.place.load(Ordering::Relaxed);
    let older = Arc::new(Transfer {
        sender: incoming.transfer.sender.clone(),
        began: Instant::now().checked_sub(ago).unwrap(),
        bytes: AtomicUsize::new(0),
        is_evicted: AtomicBool::new(false),
        evicted: Notify::new(),
        place: AtomicUsize::new(place),
    });
    transfers.all[place] = older.clone();
    drop(transfers);
    drop(incoming);
    let incoming = IncomingBody { budget: budget.clone(), transfer: older };
    incoming.add(bytes).unwrap();
    incoming
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn what_is_announced_takes_nothing_and_the_slowest_makes_room() {
    let budget = BodyBudget::new(1_000);
    // A thousand senders that announce much and send one byte use a thousandth of it each.
    let slow: Vec<_> =
        (0..900).map(|number| begun(&budget, sender(number, "a"), 1, 5 * SECOND)).collect();
    let quick = begun(&budget, sender(5_000, "b"), 90, 2 * SECOND);
    assert_eq!(used(&budget), 990);
    let held = budget.hold(400).unwrap();
    assert!(used(&budget) <= 1_000, "{}", used(&budget));
    assert!(!is_evicted(&quick), "a faster sender stays");
    assert_eq!(slow.iter().filter(|incoming| is_evicted(incoming)).count(), 390);
    drop((slow, quick, held));
    assert_eq!(used(&budget), 0);
    let transfers = budget.transfers.lock();
    assert!(transfers.all.is_empty());
    assert!(transfers.by_address.is_empty() && transfers.by_partner.is_empty());
}

#[test]
fn who_has_only_begun_is_not_the_slowest() {
    let budget = BodyBudget::new(1_000);
    let old = begun(&budget, sender(1, "a"), 900, 9 * SECOND);
    let new = budget.begin(sender(2, "a"), 10).unwrap();
    let _held = budget.hold(500).unwrap();
    assert!(is_evicted(&old) && !is_evicted(&new));
}

#[test]
fn who_takes_more_than_its_share_makes_room_first() {
    let budget = BodyBudget::new(8_000);
    let fair = begun(&budget, sender(1, "a"), 10, 5 * SECOND);
    let mut greedy = Vec::new();
    for _ in 0..20 {
        greedy.push(begun(&budget, sender(2, "b"), 390, 2 * SECOND));
    }
    let _held = budget.hold(1_000).unwrap();
    assert!(!is_evicted(&fair) && greedy.iter().any(is_evicted));
    // The same if many addresses send as one partner.
    let budget = BodyBudget::new(8_000);
    let fair = begun(&budget, sender(1, "a"), 10, 5 * SECOND);
    let crowd: Vec<_> =
        (0..20).map(|number| begun(&budget, sender(10 + number, "b"), 390, 2 * SECOND)).collect();
    let _held = budget.hold(1_000).unwrap();
    assert!(!is_evicted(&fair) && crowd.iter().any(is_evicted));
}

#[test]
fn who_is_known_makes_room_last() {
    let budget = BodyBudget::new(1_000);
    let known = Sender { is_known: true, ..sender(1, "a") };
    let known = begun(&budget, known, 500, 9 * SECOND);
    let stranger = begun(&budget, sender(2, "a"), 500, 2 * SECOND);
    let _held = budget.hold(100).unwrap();
    assert!(!is_evicted(&known) && is_evicted(&stranger));
}

#[test]
fn only_whole_bodies_fill_it_up() {
    let budget = BodyBudget::new(1_000);
    let coming = budget.begin(sender(1, "a"), 400).unwrap();
    let whole = coming.finish().unwrap();
    let held = budget.hold(600).unwrap();
    assert_eq!(budget.hold(1).err(), Some(BudgetFullError));
    let late = budget.begin(sender(2, "a"), 1);
    assert!(late.is_err(), "there is nobody else who could make room");
    drop((whole, late));
    let again = budget.hold(300).unwrap();
    drop((held, again));
    assert_eq!(used(&budget), 0);
}

#[test]
fn what_is_thrown_away_takes_no_room_and_is_cut_off_like_all_others() {
    let budget = BodyBudget::new(1_000);
    let nobody = Sender { is_stored: false, ..sender(1, "nobody") };
    let nobody = begun(&budget, nobody, 1_000_000, 9 * SECOND);
    assert_eq!(used(&budget), 0);
    let slow = begun(&budget, sender(2, "a"), 900, 9 * SECOND);
    let _held = budget.hold(500).unwrap();
    assert!(is_evicted(&slow) && !is_evicted(&nobody), "it is far quicker");
    let slower = Sender { is_stored: false, ..sender(3, "nobody") };
    let slower = begun(&budget, slower, 10, 9 * SECOND);
    let other = begun(&budget, sender(4, "a"), 100, 9 * SECOND);
    let _more = budget.hold(450).unwrap();
    assert!(is_evicted(&slower) && is_evicted(&other));
}

#[tokio::test]
async fn a_caller_that_makes_room_is_notified() {
    let budget = BodyBudget::new(100);
    let slow = begun(&budget, sender(1, "a"), 80, 5 * SECOND);
    let waits = slow.evicted();
    let held = budget.hold(90).unwrap();
    assert_eq!(waits.await, EvictedError);
    assert_eq!(slow.add(1), Err(EvictedError));
    assert!(slow.finish().is_err());
    drop(held);
    assert_eq!(used(&budget), 0);
}

/// Complete bodies cannot be evicted: a verified partner that sends more than its share is refused, and what
/// it leaves is for the others.
#[test]
fn a_partner_with_very_many_complete_bodies_leaves_room_for_others() {
    let budget = BodyBudget::new(16_000);
    let mut held = Vec::new();
    while held.len() < 1_000 {
        let body = budget.hold(250).unwrap();
        if !body.claim("greedy") {
            break;
        }
        held.push(body);
    }
    assert_eq!(held.len(), 32, "half of the budget");
    for _ in 0..10 {
        let body = budget.hold(250).unwrap();
        assert!(body.claim("other") && body.claim("other"), "it is counted once");
        held.push(body);
    }
    assert!(!budget.hold(250).unwrap().claim("greedy"));
    drop(held);
    assert!(budget.shares.lock().is_empty());
    assert_eq!(used(&budget), 0);
}
