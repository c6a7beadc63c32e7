//! Notices that were collected and are not messages yet, by tenant: however many one tenant has, the first line
//! of another fits.

use std::{
    collections::{BTreeMap, HashSet, VecDeque, btree_map::Entry},
    mem,
};

use gancho_domain::{
    IdMap, TenantId,
    fairness::{Holdings, PeriodShares},
};

/// Maximum lines of a message; the rest is counted.
pub const MAX_LINES: usize = 20;
/// Maximum lines in memory beyond the first of each tenant.
const MAX_SHARED_LINES: usize = 1_000;
/// Maximum tenants with notices at a time. Notices of others are only counted, for the operator.
const MAX_TENANTS: usize = 5_000;
/// Maximum notices that are remembered, so that none is sent twice.
const MAX_RECENT: usize = 4_096;

pub struct PendingNotices {
    collected: CollectedNotices,
    shares: PeriodShares<TenantId>,
    recent: RecentNotices,
}

/// The notices of a period.
#[derive(Default)]
pub struct CollectedNotices {
    pub tenants: BTreeMap<TenantId, TenantNotices>,
    /// Notices of tenants that had no place.
    others: u64,
}

#[derive(Default)]
pub struct TenantNotices {
    pub lines: Vec<String>,
    /// How many there were, with those that have no line.
    pub count: u64,
}

impl Default for PendingNotices {
    fn default() -> Self {
        Self {
            collected: CollectedNotices::default(),
            shares: PeriodShares::new(MAX_SHARED_LINES),
            recent: RecentNotices::default(),
        }
    }
}

impl PendingNotices {
    /// Adds a notice that was not added before. `hash` identifies it.
    pub fn add(&mut self, tenant: TenantId, hash: u64, line: impl FnOnce() -> String) {
        if !self.recent.insert(tenant, hash) {
            return;
        }
        let CollectedNotices { tenants, others } = &mut self.collected;
        let has_place = tenants.len() < MAX_TENANTS;
        let own = match tenants.entry(tenant) {
            Entry::Occupied(own) => own.into_mut(),
            Entry::Vacant(place) if has_place => place.insert(TenantNotices::default()),
            Entry::Vacant(_) => {
                *others += 1;
                return;
            }
        };
        own.count += 1;
        let count = own.lines.len();
        if count == 0 || count < MAX_LINES && self.shares.take(tenant) {
            own.lines.push(line());
        }
    }

    /// Returns what was collected, and starts the next period.
    pub fn take(&mut self) -> CollectedNotices {
        self.shares = PeriodShares::after(self.shares.owners(), MAX_SHARED_LINES);
        mem::take(&mut self.collected)
    }
}

impl CollectedNotices {
    pub fn is_empty(&self) -> bool {
        self.tenants.is_empty()
    }

    pub fn count(&self) -> u64 {
        self.others + self.tenants.values().map(|own| own.count).sum::<u64>()
    }

    /// Returns lines for one message about all tenants, which take turns.
    pub fn lines(&self) -> Vec<&str> {
        let at = |place| self.tenants.values().filter_map(move |own| own.lines.get(place));
        (0..MAX_LINES).flat_map(at).take(MAX_LINES).map(String::as_str).collect()
    }
}

/// The last notices. When there are too many, the oldest of the tenant with most of them is forgotten.
#[derive(Default)]
struct RecentNotices {
    hashes: HashSet<u64>,
    tenants: IdMap<TenantId, VecDeque<u64>>,
    holdings: Holdings<TenantId>,
}

impl RecentNotices {
    /// Returns whether the notice is new.
    fn insert(&mut self, tenant: TenantId, hash: u64) -> bool {
        if !self.hashes.insert(hash) {
            return false;
        }
        self.tenants.entry(tenant).or_default().push_back(hash);
        self.holdings.add(tenant);
        if self.hashes.len() > MAX_RECENT
            && let Some(largest) = self.holdings.largest()
            && let Some(hashes) = self.tenants.get_mut(&largest)
        {
            if let Some(oldest) = hashes.pop_front() {
                self.hashes.remove(&oldest);
            }
            if hashes.is_empty() {
                self.tenants.remove(&largest);
            }
            self.holdings.remove(largest);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn tenant(number: u128) -> TenantId {
        TenantId::from_bits(number)
    }

    #[test]
    fn a_tenant_with_thousands_of_notices_takes_no_line_from_another() {
        let mut pending = PendingNotices::default();
        for number in 0..5_000 {
            pending.add(tenant(1), number, || format!("flood {number}"));
        }
        // Crowds leave no shared lines, and the first of each tenant has its place all the same.
        for other in 2..200 {
            for number in 0..20 {
                pending
                    .add(tenant(other), other as u64 * 10_000 + number, || format!("of {other}"));
            }
        }
        let collected = pending.take();
        let first = &collected.tenants[&tenant(1)];
        assert_eq!((first.lines.len(), first.count), (MAX_LINES, 5_000));
        assert!(collected.tenants.values().all(|own| !own.lines.is_empty()));
        assert_eq!(collected.count(), 5_000 + 198 * 20);
        let lines = collected.lines();
        assert_eq!((lines.len(), lines[1]), (MAX_LINES, "of 2"), "the operator sees one of each");
        assert!(pending.take().is_empty());
    }

    #[test]
    fn a_flood_does_not_make_notices_of_others_come_twice() {
        let mut recent = RecentNotices::default();
        assert!(recent.insert(tenant(2), 1));
        for number in 10..10_000 {
            assert!(recent.insert(tenant(1), number));
        }
        assert!(!recent.insert(tenant(2), 1), "it is still remembered");
        assert_eq!(
            (recent.hashes.len(), recent.holdings.count(tenant(1))),
            (MAX_RECENT, MAX_RECENT - 1)
        );
    }
}
