//! Digests of dead letters: the first few of an endpoint are reported one by one and the rest together, so
//! that a dead endpoint does not cause a flood of notices.
//!
//! The counters are in the memory of this node. [`super::stored_digests`] has what was counted until some seconds ago;
//! the first of a window is there within about a second.

use std::collections::{BTreeMap, HashMap, HashSet};

use gancho_domain::{Code, DeliveryId, EndpointId, TenantId, Time};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::notices::{ExhaustedDelivery, Notice};

/// Dead letters per window that are reported one by one.
pub const MAX_SINGLE: usize = 5;
/// Length of a window.
pub const WINDOW: std::time::Duration = std::time::Duration::from_mins(10);
/// Maximum number of endpoints with a window. Beyond it, each dead letter is reported by itself.
const MAX_WINDOWS: usize = 5_000;
/// Maximum number of deliveries of a window that are remembered. Beyond it, a delivery may be counted
/// twice.
const MAX_KNOWN: usize = 1_000;

#[derive(Default)]
pub(crate) struct Digests {
    windows: Mutex<HashMap<(TenantId, EndpointId), Window>>,
    /// Rung when a window has counted its first dead letter, so that nothing of it is stored yet.
    first_counted: Notify,
}

#[derive(Clone)]
pub(crate) struct Window {
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
        if !windows.contains_key(&key) && windows.len() >= MAX_WINDOWS {
            return true;
        }
        let letter = DeadLetter {
            id,
            created_at: what.job.created_at,
            url: what.url,
            code: what.failure.code(),
            at: what.at,
        };
        let window = windows.entry(key).or_insert_with(|| Window::new(&letter));
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
        let mut windows = self.windows.lock();
        if windows.contains_key(&key) || windows.len() < MAX_WINDOWS {
            let window = windows.entry(key).or_insert_with(|| Window::new(letter));
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

    /// Returns the windows that have ended; with `all` also the others. Forgets empty windows.
    pub fn ended(&self, now: Time, all: bool) -> Vec<(TenantId, EndpointId, Window)> {
        let mut windows = self.windows.lock();
        let has_ended = |window: &Window| all || now.since(window.began) >= WINDOW;
        windows.retain(|_, window| window.counted > 0 || !has_ended(window));
        let ended = windows.iter().filter(|(_, window)| has_ended(window));
        ended.map(|((tenant, endpoint), window)| (*tenant, *endpoint, window.clone())).collect()
    }

    /// Returns at most `max` windows that have counted something since they were saved.
    pub fn unsaved(&self, max: usize) -> Vec<(TenantId, EndpointId, Window)> {
        let windows = self.windows.lock();
        let unsaved = windows.iter().filter(|(_, window)| window.counted > window.saved);
        let mut all: Vec<_> = unsaved.collect();
        // Windows that are not stored at all come first.
        all.sort_by_key(|(_, window)| window.saved);
        let all = all.into_iter().take(max);
        all.map(|((tenant, endpoint), window)| (*tenant, *endpoint, window.clone())).collect()
    }

    pub fn note_saved(&self, tenant: TenantId, endpoint: EndpointId, saved: &Window) {
        if let Some(window) = self.windows.lock().get_mut(&(tenant, endpoint)) {
            window.saved = saved.counted;
        }
    }

    /// Notes that the digest is stored. What was counted meanwhile starts another window.
    pub fn sent(&self, tenant: TenantId, endpoint: EndpointId, sent: &Window, now: Time) {
        let mut windows = self.windows.lock();
        let Some(window) = windows.get_mut(&(tenant, endpoint)) else { return };
        window.counted = window.counted.saturating_sub(sent.counted);
        window.saved = 0;
        if window.counted == 0 {
            windows.remove(&(tenant, endpoint));
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
    }
}

impl Window {
    fn new(letter: &DeadLetter<'_>) -> Self {
        Self {
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
