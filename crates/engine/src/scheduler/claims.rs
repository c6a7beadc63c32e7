//! What the queue tells `claim` and `accept`: which targets a claim skips, whose new deliveries may come
//! straight in, and which targets can give room back when there is none.
//!
//! **Invariant.** Deliveries refused here are in the store, and those in the store go before new ones
//! ([`backlogs`](super::backlogs)). Without this, a steady stream of new deliveries would starve the old ones.

use std::{collections::BTreeSet, sync::Arc};

use gancho_domain::{TenantId, Time};
use gancho_store::{ClaimExclusions, TargetId};

use super::{
    Key, Pool, Scheduler, TargetLine, TenantLine,
    backlogs::{Backlogs, Moment},
    placing::{has_untried_part, holds_more},
    pool::shared,
    unexamined::Unexamined,
};
use crate::room::Size;

#[derive(Default)]
pub struct Claims {
    /// Paused, resting or with enough in the queue.
    skip: Arc<ClaimExclusions>,
    /// Known to answer: a claim brings more of them.
    proven: Arc<BTreeSet<TargetId>>,
    behind: Backlogs,
    unexamined: Unexamined,
    /// Targets with more in the queue than their share.
    over: BTreeSet<Key>,
    /// A target is no longer skipped since the last claim.
    eased: bool,
}

impl Claims {
    pub fn new() -> Self {
        Self { behind: Backlogs::everyone(), ..Self::default() }
    }

    pub fn note_tenant(&mut self, tenant: TenantId, skipped: bool) {
        if self.skip.tenants.contains(&tenant) != skipped {
            let skip = Arc::make_mut(&mut self.skip);
            if skipped {
                skip.tenants.insert(tenant);
            } else {
                skip.tenants.remove(&tenant);
                self.behind.unskip_tenant(tenant);
                self.eased = true;
            }
        }
    }

    pub fn note_target(&mut self, key: Key, skipped: bool) {
        let target = key.1;
        if self.skip.targets.contains(&target) != skipped {
            let skip = Arc::make_mut(&mut self.skip);
            if skipped {
                skip.targets.insert(target);
            } else {
                skip.targets.remove(&target);
                self.behind.unskip_target(key);
                self.eased = true;
            }
        }
    }

    pub fn note_proven(&mut self, target: TargetId, proven: bool) {
        if self.proven.contains(&target) != proven {
            let all = Arc::make_mut(&mut self.proven);
            if proven {
                all.insert(target);
            } else {
                all.remove(&target);
            }
        }
    }

    /// The proven targets that may have something in the store, where there are too many to name them all.
    fn proven(&self) -> Arc<BTreeSet<TargetId>> {
        match self.behind.targets() {
            Some(behind) if self.proven.len() > MAX_PROVEN => {
                Arc::new(behind.filter(|target| self.proven.contains(target)).collect())
            }
            _ => self.proven.clone(),
        }
    }

    pub fn note_over(&mut self, key: Key, over: bool) {
        if over {
            self.over.insert(key);
        } else {
            self.over.remove(&key);
        }
    }

    /// A delivery of this target is in the store.
    pub fn note_behind(&mut self, key: Key, remembered: usize) {
        if self.behind.is_unknown(key) {
            self.unexamined.insert(key);
        }
        self.behind.note(key, remembered);
    }

    /// Claims may find what they passed over or were not made for.
    pub fn ease(&mut self) {
        self.eased = true;
    }

    #[cfg(test)]
    pub fn skips(&self, key: Key) -> bool {
        self.skip.targets.contains(&key.1)
    }

    pub fn is_behind(&self, key: Key) -> bool {
        self.behind.contains(key)
    }
}

impl<T> Scheduler<T> {
    /// The tenants and targets that the next claim skips.
    pub fn skip(&self) -> Arc<ClaimExclusions> {
        self.claims.skip.clone()
    }

    pub fn is_paused(&self) -> bool {
        self.pauses.lane
    }

    /// The targets of which the next claim may bring more than a few.
    pub fn proven(&self) -> Arc<BTreeSet<TargetId>> {
        self.claims.proven()
    }

    /// Deliveries that a claim should take of one target: enough for its first attempts, and of a target that
    /// answers many if there are few targets to share with.
    pub fn per_target(&self, batch: usize) -> PerTarget {
        // Those in trouble take two each: a claim that leaves room for more of them is half empty.
        let busy: usize = SHARING.iter().map(|pool| self.pools[*pool].busy).sum();
        let proven = (batch / busy.max(1)).max(MIN_PER_TARGET).min(batch);
        let unproven =
            if self.limits.policy.is_unsorted() { proven } else { PER_UNPROVEN_TARGET.min(batch) };
        PerTarget { unproven, proven }
    }

    /// How many of one tenant, likewise, and no more than half of the room for untried targets.
    pub fn per_tenant(&self, batch: usize) -> usize {
        let others: usize = SHARING.iter().map(|pool| self.pools[*pool].turns.len()).sum();
        let share = (batch / others.max(1)).max(MIN_PER_TENANT).min(batch);
        let untried = self.pools.untried_room().jobs.div_ceil(2);
        if self.limits.policy.is_unsorted() { share } else { share.min(untried) }
    }

    /// Whether a new delivery may come straight in, when `before` others of the same call do. If not, it goes
    /// by way of the store.
    pub fn welcomes(&mut self, key: Key, before: usize, now: Time) -> bool {
        let (tenant, target) = key;
        let is_over =
            self.tenants.get(&tenant).is_some_and(|owner| self.is_closed(owner, key, before));
        let is_full = is_over || self.claims.skip.targets.contains(&target);
        let has_room = match self.targets.get(&key) {
            Some(line) => before == 0 || line.waiting.len() + before < line.max_waiting(now),
            None if self.limits.policy.is_unsorted() => true,
            None => before < PER_UNPROVEN_TARGET && self.takes_untried_of(tenant),
        };
        let is_paused = self.pauses.lane || self.pauses.tenants.contains(&tenant);
        if !is_paused && !is_full && has_room && !self.claims.is_behind(key) {
            return true;
        }
        self.claims.note_behind(key, self.limits.remembered);
        false
    }

    /// The tenant's prompt targets hold far more than their part, and this one is not among those that hold little:
    /// one that keeps up need not wait because the tenant's others do not.
    fn is_closed(&self, owner: &TenantLine, key: Key, before: usize) -> bool {
        let waiting = self.targets.get(&key).map_or(0, |line| line.waiting.len());
        let holds_little =
            waiting + before < LITTLE && !holds_more(owner, &self.limits, RESERVE_EIGHTHS);
        owner.is_over && !holds_little
    }

    /// How much a claim may bring, if anything: all of it may be for targets that nobody knows, or for slow
    /// ones. Of the latter a few more do no harm, and none would keep the prompt ones waiting.
    pub fn max_to_claim(&self, max: Size) -> Option<Size> {
        if self.limits.policy.is_unsorted() {
            return Some(max);
        }
        let free = |pool: Pool| {
            shared(self.pools[pool].limit.jobs).saturating_sub(self.pools[pool].held.jobs)
        };
        let slow = free(Pool::Moderate).min(free(Pool::Slow));
        let room = self.pools.untried_room();
        self.has_untried_room().then(|| Size {
            jobs: max.jobs.min(room.jobs).min(slow.max(MIN_PER_TENANT)),
            bytes: max.bytes.min(room.bytes),
        })
    }

    fn has_untried_room(&self) -> bool {
        let room = self.pools.untried_room();
        room.jobs > 0 && room.bytes > 0
    }

    fn takes_untried_of(&self, tenant: TenantId) -> bool {
        let has_many = |owner: &TenantLine| {
            owner.of(Pool::Untried).held.is_crowded || has_untried_part(owner, &self.pools)
        };
        self.has_untried_room() && !self.tenants.get(&tenant).is_some_and(has_many)
    }

    /// There was no room for them: they lie in the store.
    pub fn refused(&mut self, keys: impl IntoIterator<Item = Key>) {
        for key in keys {
            self.claims.note_behind(key, self.limits.remembered);
        }
    }

    /// A claim begins. Returns when, and the targets that it should take from first.
    pub fn begin_claim(&mut self) -> (Moment, Vec<Key>) {
        let Claims { behind, unexamined, skip, .. } = &mut self.claims;
        (behind.begin_claim(), unexamined.take(MAX_FIRST, skip))
    }

    /// A claim has taken all that was due of these targets.
    pub fn emptied(&mut self, keys: impl IntoIterator<Item = Key>, claim_began: Moment) {
        for key in keys {
            self.claims.behind.empty(key, claim_began);
        }
    }

    /// A claim had no room for these targets, which were to come first.
    pub fn not_reached(&mut self, keys: impl IntoIterator<Item = Key>) {
        for key in keys {
            if self.claims.behind.is_unknown(key) {
                self.claims.unexamined.insert(key);
            }
        }
    }

    /// A claim that passed over `skip` came back, and said whether all that was due has been seen.
    pub fn claimed(&mut self, skip: &ClaimExclusions, caught_up: bool) {
        if caught_up {
            self.claims.behind.caught_up(skip);
            self.claims.unexamined.clear();
        }
    }

    /// A claim that passed over `skip` left something of these tenants, and perhaps ended a lap.
    pub fn left(&mut self, skip: &ClaimExclusions, left: BTreeSet<TenantId>, ends_lap: bool) {
        let behind = &mut self.claims.behind;
        behind.leave(left);
        if behind.is_everyone() {
            // The backlog of targets that this claim skipped is not known.
            let is_skipped = |key: &&Key| skip.targets.contains(&key.1);
            behind.leave(self.targets.keys().filter(is_skipped).map(|key| key.0));
        }
        if ends_lap {
            behind.end_lap(skip);
        }
    }

    /// Whether someone is no longer passed over since this was last asked: time to claim.
    pub fn take_eased(&mut self) -> bool {
        std::mem::take(&mut self.claims.eased)
    }

    /// What is of no use here for now: to be released.
    pub fn take_evicted(&mut self) -> Vec<T> {
        std::mem::take(&mut self.evicted)
    }

    /// Gives back what targets hold beyond their share. For when room is short.
    pub fn shed(&mut self, now: Time) -> Vec<T> {
        let mut back = Vec::new();
        for key in std::mem::take(&mut self.claims.over) {
            let share = |line: &TargetLine<T>| line.share(self.limits.max_bytes, now);
            let share = self.targets.get(&key).map_or(0, share);
            back.extend(self.put_back(key, share));
            self.place(key, now);
        }
        back
    }
}

/// How many of one target a claim takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerTarget {
    pub unproven: usize,
    pub proven: usize,
}

/// The pools whose targets share what a claim brings.
const SHARING: [Pool; 5] = [Pool::Quick, Pool::Prompt, Pool::Untried, Pool::Moderate, Pool::Slow];
/// A target with fewer waiting holds little of what its tenant may hold.
pub(super) const LITTLE: usize = 4;
/// Up to this many eighths of the room a tenant that is over its part may hold for such targets.
const RESERVE_EIGHTHS: usize = 5;
const MIN_PER_TARGET: usize = 16;
/// One is sent to a target that has not answered yet, and one waits for the answer.
const PER_UNPROVEN_TARGET: usize = 2;
/// Targets that a claim takes from before the turns.
const MAX_FIRST: usize = 32;
/// A claim names all proven targets up to this number, and beyond it only those with deliveries in the store.
const MAX_PROVEN: usize = 1_000;
const MIN_PER_TENANT: usize = 32;
