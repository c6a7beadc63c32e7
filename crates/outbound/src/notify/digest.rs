//! Of an endpoint that many deliveries are given up for, the first few are told one by one and the rest
//! together: a dead endpoint must not become a flood of notices.
//!
//! The counts are this node's and are kept in memory. What they count is in the dead letters, so that
//! nothing is lost with them.

use std::collections::{BTreeMap, HashMap, HashSet};

use gancho_domain::{DeliveryId, EndpointId, TenantId, Time};
use parking_lot::Mutex;

use super::notices::{ExhaustedDelivery, Notice};

/// Told one by one within a window.
pub const MAX_SINGLE: usize = 5;
/// How long an endpoint's deliveries are counted together.
pub const WINDOW: std::time::Duration = std::time::Duration::from_mins(10);
/// Endpoints that are counted at once. Beyond, each delivery is told by itself.
const MAX_WINDOWS: usize = 5_000;
/// Deliveries of a window that are told apart. Beyond, one that is judged again may be counted again.
const MAX_KNOWN: usize = 1_000;

#[derive(Default)]
pub(crate) struct Digests(Mutex<HashMap<(TenantId, EndpointId), Window>>);

#[derive(Clone)]
pub(crate) struct Window {
    /// When the first was given up that was told by itself.
    began: Time,
    single: Vec<DeliveryId>,
    known: HashSet<DeliveryId>,
    pub counted: u64,
    pub url: Option<String>,
    /// Of those counted.
    pub since: Time,
    pub until: Time,
    pub by_code: BTreeMap<String, u64>,
    /// The first of them to be accepted, for the replay.
    pub oldest: Time,
}

impl Digests {
    /// Whether this one is to be told by itself. If not, it is counted, once however often it is judged.
    pub fn is_single(&self, what: &ExhaustedDelivery<'_>) -> bool {
        let key = (what.job.tenant, what.job.target);
        let id = what.job.delivery;
        let mut windows = self.0.lock();
        if !windows.contains_key(&key) && windows.len() >= MAX_WINDOWS {
            return true;
        }
        let window = windows.entry(key).or_insert_with(|| Window::new(what));
        if window.single.contains(&id) {
            return true;
        }
        // One that has ended stays until its digest is written.
        if window.single.len() < MAX_SINGLE {
            window.single.push(id);
            return true;
        }
        window.count(what, id);
        false
    }

    /// Those that have ended, and with `all` those that have not; windows with nothing to tell are forgotten.
    pub fn ended(&self, now: Time, all: bool) -> Vec<(TenantId, EndpointId, Window)> {
        let mut windows = self.0.lock();
        let has_ended = |window: &Window| all || now.since(window.began) >= WINDOW;
        windows.retain(|_, window| window.counted > 0 || !has_ended(window));
        let ended = windows.iter().filter(|(_, window)| has_ended(window));
        ended.map(|((tenant, endpoint), window)| (*tenant, *endpoint, window.clone())).collect()
    }

    /// Its digest is written; what was counted meanwhile begins another one.
    pub fn told(&self, tenant: TenantId, endpoint: EndpointId, told: &Window, now: Time) {
        let mut windows = self.0.lock();
        let Some(window) = windows.get_mut(&(tenant, endpoint)) else { return };
        window.counted = window.counted.saturating_sub(told.counted);
        if window.counted == 0 {
            windows.remove(&(tenant, endpoint));
            return;
        }
        for (code, count) in &told.by_code {
            if let Some(rest) = window.by_code.get_mut(code) {
                *rest = rest.saturating_sub(*count);
            }
        }
        window.by_code.retain(|_, count| *count > 0);
        window.since = told.until;
        window.began = now;
    }
}

impl Window {
    fn new(what: &ExhaustedDelivery<'_>) -> Self {
        Self {
            began: what.at,
            single: Vec::new(),
            known: HashSet::new(),
            counted: 0,
            url: None,
            since: what.at,
            until: what.at,
            by_code: BTreeMap::new(),
            oldest: what.job.created_at,
        }
    }

    fn count(&mut self, what: &ExhaustedDelivery<'_>, id: DeliveryId) {
        if self.known.contains(&id) {
            return;
        }
        if self.known.len() < MAX_KNOWN {
            self.known.insert(id);
        }
        if self.counted == 0 {
            self.since = what.at;
            self.oldest = what.job.created_at;
        }
        self.counted += 1;
        self.until = self.until.max(what.at);
        self.oldest = self.oldest.min(what.job.created_at);
        self.url = what.url.map(str::to_owned);
        *self.by_code.entry(what.failure.code().as_str().to_owned()).or_default() += 1;
    }

    pub fn notice(&self, tenant: TenantId, endpoint: EndpointId) -> Notice {
        Notice::digest(tenant, endpoint, self)
    }

    /// The same on every node that reports the same deliveries.
    pub fn once(&self, endpoint: EndpointId) -> String {
        format!("{endpoint} {} {} {}", self.since, self.until, self.counted)
    }

    /// Whether each was counted once.
    pub fn is_exact(&self) -> bool {
        self.known.len() < MAX_KNOWN
    }
}
