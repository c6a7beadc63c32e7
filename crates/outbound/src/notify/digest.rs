//! Digests of dead letters: the first few of an endpoint are reported one by one and the rest together, so
//! that a dead endpoint does not cause a flood of notices.
//!
//! The counters are in the memory of this node. [`super::stored_digests`] has what was counted until some seconds ago;
//! the first of a window is there within about a second.

use std::collections::{BTreeMap, HashSet};

use gancho_domain::{Code, DeliveryId, EndpointId, TenantId, Time, fairness::Holdings};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::notices::{ExhaustedDelivery, Notice};

/// Dead letters per window that are reported one by one.
pub const MAX_SINGLE: usize = 5;
/// Length of a window.
pub const WINDOW: std::time::Duration = std::time::Duration::from_mins(10);
/// Maximum number of endpoints with a window. Beyond it, the tenant with most of them ends one early for an endpoint
/// of another; of that tenant, each further dead letter is reported by itself.
const MAX_WINDOWS: usize = 5_000;
/// Maximum number of windows with those that ended early and whose digest is not stored yet.
const MAX_WITH_EARLY: usize = 2 * MAX_WINDOWS;
/// Maximum number of deliveries of a window that are remembered. Beyond it, a delivery may be counted
/// twice.
const MAX_KNOWN: usize = 1_000;

#[derive(Default)]
pub(crate) struct Digests {
    windows: Mutex<Windows>,
    /// Rung when a window has counted its first dead letter, so that nothing of it is stored yet.
    first_counted: Notify,
}

#[derive(Default)]
struct Windows {
    all: BTreeMap<(TenantId, EndpointId), Window>,
    /// The windows of each tenant, without those that end early.
    shares: Holdings<TenantId>,
    /// The number of these windows.
    count: usize,
}

#[derive(Clone)]
pub(crate) struct Window {
    /// It made room for a window of another tenant, and its digest is sent with those that have ended.
    ends_early: bool,
    /// When the first dead letter of the window was reported.
    pub began: Time,
    single: Vec<DeliveryId>,
    known: HashSet<DeliveryId>,
    pub counted: u64,
    /// How many of its dead letters are in the stored digest.
    saved: u64,
    pub url: Option<String>,
    /// The start of the period of the counted dead letters.
    pub since: Time,
    pub until: Time,
    pub by_code: BTreeMap<String, u64>,
    /// When the first of them was accepted, for the replay.
    pub oldest: Time,
}

/// A dead letter as a digest counts it.
pub(crate) struct DeadLetter<'a> {
    pub id: DeliveryId,
    pub created_at: Time,
    pub url: Option<&'a str>,
    pub code: &'a Code,
    pub at: Time,
}

impl Digests {
    /// Whether this dead letter is reported by itself. If not, it is counted once.
    pub fn is_single(&self, what: &ExhaustedDelivery<'_>) -> bool {
        let key = (what.job.tenant, what.job.target);
        let id = what.job.delivery;
        let mut windows = self.windows.lock();
        let letter = DeadLetter {
            id,
            created_at: what.job.created_at,
            url: what.url,
            code: what.failure.code(),
            at: what.at,
        };
        let Some(window) = windows.open(key, &letter) else { return true };
        if window.single.contains(&id) {
            return true;
        }
        // A window that has ended stays until its digest is stored.
        if window.single.len() < MAX_SINGLE {
            window.single.push(id);
            return true;
        }
        self.count_in(window, &letter);
        false
    }

    /// Counts a dead letter that is not reported by itself. Beyond the maximum number of windows no notice
    /// reports it; it is only in the list of dead letters.
    pub fn count(&self, key: (TenantId, EndpointId), letter: &DeadLetter<'_>) {
        if let Some(window) = self.windows.lock().open(key, letter) {
            self.count_in(window, letter);
        }
    }

    fn count_in(&self, window: &mut Window, letter: &DeadLetter<'_>) {
        window.count(letter);
        if !window.is_saved() {
            self.first_counted.notify_one();
        }
    }

    /// Waits until a window has counted something and none of it is stored.
    pub async fn first_counted(&self) {
        self.first_counted.notified().await;
    }

    /// Returns the windows that have ended; with `all` also the others. Tenants take turns. Forgets empty windows.
    pub fn ended(&self, now: Time, all: bool) -> Vec<(TenantId, EndpointId, Window)> {
        let mut windows = self.windows.lock();
        let has_ended =
            |window: &Window| all || window.ends_early || now.since(window.began) >= WINDOW;
        windows.retain(|window| window.counted > 0 || !has_ended(window));
        in_turns(windows.all.iter().filter(|(_, window)| has_ended(window)), |_| 0, usize::MAX)
    }

    /// Returns at most `max` windows that have counted something since they were saved. Tenants take turns.
    pub fn unsaved(&self, max: usize) -> Vec<(TenantId, EndpointId, Window)> {
        let windows = self.windows.lock();
        let unsaved = windows.all.iter().filter(|(_, window)| window.counted > window.saved);
        // Windows that are not stored at all come first.
        in_turns(unsaved, |window| window.saved, max)
    }

    pub fn note_saved(&self, tenant: TenantId, endpoint: EndpointId, saved: &Window) {
        if let Some(window) = self.windows.lock().all.get_mut(&(tenant, endpoint)) {
            window.saved = saved.counted;
        }
    }

    /// Notes that the digest is stored. What was counted meanwhile starts another window.
    pub fn sent(&self, tenant: TenantId, endpoint: EndpointId, sent: &Window, now: Time) {
        let mut windows = self.windows.lock();
        // What was counted meanwhile has a window of its own, whatever the number of windows.
        let Some(mut window) = windows.remove((tenant, endpoint)) else { return };
        window.counted = window.counted.saturating_sub(sent.counted);
        window.saved = 0;
        if window.counted == 0 {
            return;
        }
        for (code, count) in &sent.by_code {
            if let Some(rest) = window.by_code.get_mut(code) {
                *rest = rest.saturating_sub(*count);
            }
        }
        window.by_code.retain(|_, count| *count > 0);
        window.since = sent.until;
        window.began = now;
        window.ends_early = false;
        windows.insert((tenant, endpoint), window);
    }
}

type Key = (TenantId, EndpointId);

impl Windows {
    /// Returns the window of an endpoint. `None` if there is none and its tenant has no room for another.
    fn open(&mut self, key: Key, letter: &DeadLetter<'_>) -> Option<&mut Window> {
        if !self.all.contains_key(&key) {
            if self.count >= MAX_WINDOWS && !self.make_room(key.0) {
                return None;
            }
            self.insert(key, Window::new(letter));
        }
        self.all.get_mut(&key)
    }

    /// Takes the place of a window of the tenant with most of them, if it has more than this one would have.
    fn make_room(&mut self, tenant: TenantId) -> bool {
        let Some(largest) = self.shares.largest() else { return false };
        if self.shares.count(largest) <= self.shares.count(tenant) + 1 {
            return false;
        }
        let from = (largest, EndpointId::from_bits(0));
        let own = self.all.range(from..).take_while(|((tenant, _), _)| *tenant == largest);
        let staying = own.filter(|(_, window)| !window.ends_early);
        // Nothing is lost with a window that has counted nothing.
        let Some((key, window)) =
            staying.min_by_key(|(_, window)| (window.counted > 0, window.began))
        else {
            return false;
        };
        let key = *key;
        if window.counted == 0 {
            self.remove(key);
        } else if self.all.len() < MAX_WITH_EARLY
            && let Some(window) = self.all.get_mut(&key)
        {
            window.ends_early = true;
            self.shares.remove(largest);
            self.count -= 1;
        } else {
            return false;
        }
        true
    }

    fn insert(&mut self, key: Key, window: Window) {
        self.all.insert(key, window);
        self.shares.add(key.0);
        self.count += 1;
    }

    fn remove(&mut self, key: Key) -> Option<Window> {
        let window = self.all.remove(&key)?;
        if !window.ends_early {
            self.shares.remove(key.0);
            self.count -= 1;
        }
        Some(window)
    }

    fn retain(&mut self, stays: impl Fn(&Window) -> bool) {
        let leaving = self.all.iter().filter(|(_, window)| !stays(window));
        let leaving: Vec<Key> = leaving.map(|(key, _)| *key).collect();
        for key in leaving {
            self.remove(key);
        }
    }
}

/// Returns at most `max` of these windows, one of each tenant, then the second of each, and so on. Within a tenant,
/// those with the lowest `rank` come first.
fn in_turns<'a>(
    windows: impl Iterator<Item = (&'a Key, &'a Window)>,
    rank: impl Fn(&Window) -> u64,
    max: usize,
) -> Vec<(TenantId, EndpointId, Window)> {
    let mut all: Vec<_> = windows.collect();
    all.sort_by_key(|((tenant, _), window)| (*tenant, rank(window)));
    let (mut last, mut place) = (None, 0_usize);
    let mut placed: Vec<_> = all
        .into_iter()
        .map(|((tenant, endpoint), window)| {
            place = if last == Some(*tenant) { place + 1 } else { 0 };
            last = Some(*tenant);
            (place, *tenant, *endpoint, window)
        })
        .collect();
    placed.sort_by_key(|(place, ..)| *place);
    let placed = placed.into_iter().take(max);
    placed.map(|(_, tenant, endpoint, window)| (tenant, endpoint, window.clone())).collect()
}

impl Window {
    fn new(letter: &DeadLetter<'_>) -> Self {
        Self {
            ends_early: false,
            began: letter.at,
            single: Vec::new(),
            known: HashSet::new(),
            counted: 0,
            saved: 0,
            url: None,
            since: letter.at,
            until: letter.at,
            by_code: BTreeMap::new(),
            oldest: letter.created_at,
        }
    }

    fn count(&mut self, letter: &DeadLetter<'_>) {
        let DeadLetter { id, created_at, url, code, at } = *letter;
        if self.known.contains(&id) {
            return;
        }
        if self.known.len() < MAX_KNOWN {
            self.known.insert(id);
        }
        if self.counted == 0 {
            self.since = at;
            self.oldest = created_at;
        }
        self.counted += 1;
        self.until = self.until.max(at);
        self.oldest = self.oldest.min(created_at);
        self.url = url.map(str::to_owned);
        *self.by_code.entry(code.as_str().to_owned()).or_default() += 1;
    }

    pub fn notice(&self, tenant: TenantId, endpoint: EndpointId) -> Notice {
        Notice::digest(tenant, endpoint, self)
    }

    /// The idempotency key. It is the same for the stored digest and the one that is sent.
    pub fn once(&self, endpoint: EndpointId) -> String {
        format!("{endpoint} {} {}", self.began.micros(), self.since.micros())
    }

    pub fn is_saved(&self) -> bool {
        self.saved > 0
    }

    /// Whether each delivery was counted exactly once.
    pub fn is_exact(&self) -> bool {
        self.known.len() < MAX_KNOWN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Time = Time::from_secs(1_763_000_000);

    const fn tenant(number: u128) -> TenantId {
        TenantId::from_bits(number)
    }

    fn count(digests: &Digests, tenant: TenantId, endpoint: u128, id: u128) {
        let id = DeliveryId::from_bits(id);
        let letter = DeadLetter { id, created_at: AT, url: None, code: &Code::TIMEOUT, at: AT };
        digests.count((tenant, EndpointId::from_bits(endpoint)), &letter);
    }

    #[test]
    fn a_tenant_with_thousands_of_dead_endpoints_costs_no_other_its_digest() {
        let digests = Digests::default();
        for endpoint in 1..=6_000 {
            count(&digests, tenant(1), endpoint, endpoint);
        }
        for other in 2..=40 {
            count(&digests, tenant(other), other * 10_000, other);
        }
        let unsaved = digests.unsaved(40);
        let tenants: HashSet<TenantId> = unsaved.iter().map(|(tenant, ..)| *tenant).collect();
        assert_eq!(tenants.len(), 40, "each has its turn");
        // The first tenant's windows that made room are not lost: their digests are sent early.
        let early = digests.ended(AT, false);
        assert_eq!(early.len(), 39);
        assert!(early.iter().all(|(one, ..)| *one == tenant(1)));
        let all = digests.ended(AT, true);
        assert_eq!(all.len(), MAX_WINDOWS + 39);
        let first: HashSet<TenantId> = all[..40].iter().map(|(tenant, ..)| *tenant).collect();
        assert_eq!(first.len(), 40);
        for (tenant, endpoint, window) in all {
            digests.sent(tenant, endpoint, &window, AT);
        }
        let windows = digests.windows.lock();
        assert_eq!((windows.all.len(), windows.count, windows.shares.largest()), (0, 0, None));
    }

    #[test]
    fn what_a_window_counts_while_its_digest_is_sent_early_is_the_next_digest() {
        let digests = Digests::default();
        for endpoint in 1..=5_000 {
            count(&digests, tenant(1), endpoint, endpoint);
        }
        count(&digests, tenant(2), 9_999, 9_999);
        let (early, endpoint, window) = digests.ended(AT, false).remove(0);
        count(&digests, early, endpoint.bits(), 77_777);
        digests.sent(early, endpoint, &window, AT);
        assert_eq!(digests.ended(AT, false).len(), 0);
        let all = digests.ended(AT, true);
        let rest = all.iter().find(|(_, one, _)| *one == endpoint).unwrap();
        assert_eq!(rest.2.counted, 1);
        assert_eq!(digests.windows.lock().count, MAX_WINDOWS + 1);
    }
}
