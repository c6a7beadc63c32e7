//! Keeps the rings up to date: where a target and its tenant belong after a change.

use gancho_domain::{TenantId, Time};
use gancho_store::TargetId;

use super::{
    Key, Pool, Scheduler,
    claims::LITTLE,
    target::{Readiness, TargetLine},
    tenant::TenantLine,
    turns::Had,
};

/// A pool that is full is so until one of these parts is free,
const POOL_PARTS: usize = 16;
/// and so is a tenant's part of it.
const TENANT_PARTS: usize = 4;

impl<T> Scheduler<T> {
    /// Lets those go on whose time has come.
    pub(super) fn catch_up(&mut self, now: Time) {
        if now < self.last_now {
            // The clock went back: who may go and who must wait is to be found again.
            self.flights.restart(now);
            self.targets.values_mut().for_each(|line| line.clock_went_back(now));
            let all: Vec<Key> = self.targets.keys().copied().collect();
            for key in all {
                self.place(key, now);
            }
        }
        self.last_now = now;
        self.age(now);
        while let Some(&(at, key)) = self.timers.first() {
            if at > now {
                break;
            }
            self.timers.pop_first();
            if let Some(line) = self.targets.get_mut(&key) {
                line.timer = None;
            }
            self.place(key, now);
        }
    }

    /// Puts a target, and its tenant, where they belong by what is true of them now.
    pub(super) fn place(&mut self, key: Key, now: Time) {
        self.choose_pool(key);
        self.evict(key, now);
        self.account(key, now);
        let (Some(line), Some(owner)) = (self.targets.get_mut(&key), self.tenants.get_mut(&key.0))
        else {
            return;
        };
        let readiness = line.readiness(now);
        let ready = &mut owner.of_mut(line.pool).ready;
        match (line.turn, readiness == Readiness::Open && !line.waiting.is_empty()) {
            (None, true) => line.turn = Some(ready.join(key.1, line.had)),
            (Some(place), false) => {
                ready.leave(place);
                line.turn = None;
            }
            _ => {}
        }
        let timer = match readiness {
            Readiness::NotBefore(at) => Some(at),
            Readiness::Open | Readiness::Shut => None,
        };
        if line.timer != timer {
            line.timer.map(|at| self.timers.remove(&(at, key)));
            timer.map(|at| self.timers.insert((at, key)));
            line.timer = timer;
        }
        match (line.idle, line.is_idle()) {
            (None, true) => line.idle = Some(self.idle.push_back(key)),
            (Some(place), false) => {
                self.idle.remove(place);
                line.idle = None;
            }
            _ => {}
        }
        self.claims.note_proven(key.1, line.is_proven());
        self.claims.note_over(key, line.waiting.len() > line.share(self.limits.max_bytes, now));
        let pool = line.pool;
        self.place_tenant(key.0, pool);
        self.pass_over(key, now);
        if self.idle.len() > self.limits.remembered {
            self.forget_one();
        }
    }

    /// By how the target answers; its place in the line of another pool is given up.
    fn choose_pool(&mut self, key: Key) {
        let (Some(line), Some(owner)) = (self.targets.get_mut(&key), self.tenants.get_mut(&key.0))
        else {
            return;
        };
        line.paused = self.pauses.holds(key);
        let before = line.pool;
        line.pool = if self.limits.is_hard { Pool::Prompt } else { line.wanted_pool() };
        let (pool, mine) = (&self.pools[line.pool], owner.of(line.pool));
        let of_tenant = pool.limit_of(mine, line.pool).jobs;
        line.pool_share = (of_tenant / mine.busy.max(1)).max(1) as u32;
        line.steady_share = (pool.jobs_each() / mine.busy.max(1)) as u32;
        if line.pool != before {
            if let Some(place) = line.turn.take() {
                owner.of_mut(before).ready.leave(place);
            }
            line.had = Had::default();
            self.place_tenant(key.0, before);
        }
    }

    /// Counts what the target holds in its pool, and tells others of the pool when that is full.
    fn account(&mut self, key: Key, now: Time) {
        let (Some(line), Some(owner)) = (self.targets.get_mut(&key), self.tenants.get_mut(&key.0))
        else {
            return;
        };
        let after = line.held();
        let before = std::mem::replace(&mut line.counted, after);
        if before == after {
            return;
        }
        self.pools[before.pool].busy -= usize::from(before.jobs > 0);
        self.pools[after.pool].busy += usize::from(after.jobs > 0);
        self.pools[before.pool].held.remove(before.jobs, before.bytes);
        self.pools[after.pool].held.add(after.jobs, after.bytes);
        let mine = owner.of_mut(before.pool);
        mine.held.remove(before.jobs, before.bytes);
        mine.busy -= usize::from(before.jobs > 0);
        if before.jobs > 0 && mine.busy == 0 {
            self.pools[before.pool].holders.remove(&key.0);
        }
        let mine = owner.of_mut(after.pool);
        mine.held.add(after.jobs, after.bytes);
        mine.busy += usize::from(after.jobs > 0);
        if after.jobs > 0 && mine.busy == 1 {
            self.pools[after.pool].holders.insert(key.0);
        }
        self.judge(before.pool, key.0, now);
        if after.pool != before.pool {
            self.judge(after.pool, key.0, now);
        }
    }

    /// A pool that is full, as a whole or of one tenant, takes no more until there is room in it.
    fn judge(&mut self, pool: Pool, tenant: TenantId, now: Time) {
        let limit = self.pools[pool].limit;
        let of_all = !pool.is_prompt() && self.pools[pool].held.judge(limit, POOL_PARTS);
        let mut changed = Vec::from_iter(self.judge_tenant(pool, tenant).then_some(tenant));
        if self.has_shifted(pool) {
            // What a tenant may hold depends on what the others do.
            let holders: Vec<TenantId> = self.pools[pool].holders.iter().copied().collect();
            changed.extend(holders.into_iter().filter(|tenant| self.judge_tenant(pool, *tenant)));
        }
        let in_pool = |(key, line): (&Key, &TargetLine<T>)| (line.pool == pool).then_some(*key);
        let keys: Vec<Key> = if of_all {
            self.targets.iter().filter_map(in_pool).collect()
        } else {
            let (first, last) = (TargetId::from_bits(0), TargetId::from_bits(u128::MAX));
            let targets_of = |tenant| self.targets.range((tenant, first)..=(tenant, last));
            changed.into_iter().flat_map(targets_of).filter_map(in_pool).collect()
        };
        if keys.is_empty() {
            return;
        }
        for key in keys {
            self.pass_over(key, now);
        }
        // Of targets that nobody knows yet, too: see `welcomes` and `max_to_claim`.
        self.claims.ease();
    }

    /// Whether the tenant became crowded, or ceased to be.
    fn judge_tenant(&mut self, pool: Pool, tenant: TenantId) -> bool {
        let Some(owner) = self.tenants.get_mut(&tenant) else {
            return false;
        };
        let limit = self.pools[pool].limit_of(owner.of(pool), pool);
        owner.of_mut(pool).held.judge(limit, TENANT_PARTS)
    }

    /// Whether the pool has filled or emptied by a part since this was last so.
    fn has_shifted(&mut self, pool: Pool) -> bool {
        let state = &mut self.pools[pool];
        let (held, limit) = (state.held, state.limit);
        let part = |held: usize, limit: usize| (held * POOL_PARTS).div_ceil(limit.max(1));
        let now = part(held.jobs, limit.jobs).max(part(held.bytes, limit.bytes));
        // One part less is no news: a pool may waver between two.
        let has_shifted = now > state.fill || now + 1 < state.fill;
        if has_shifted {
            state.fill = now;
        }
        has_shifted
    }

    /// Whether claims are to pass the target over.
    fn pass_over(&mut self, key: Key, now: Time) {
        let (Some(line), Some(owner)) = (self.targets.get_mut(&key), self.tenants.get(&key.0))
        else {
            return;
        };
        let (pool, mine) = (&self.pools[line.pool], owner.of(line.pool).held);
        // A pool that is full is so because of those who hold more than an equal part.
        let has_less = match line.pool {
            Pool::Quick | Pool::Prompt => true,
            Pool::Untried => false,
            Pool::Moderate | Pool::Slow | Pool::Troubled => mine.jobs < pool.jobs_each(),
        };
        let is_crowded = mine.is_crowded || (pool.held.is_crowded && !has_less);
        // Those that hold little are not passed over for the tenant's others.
        let min = match line.pool {
            Pool::Quick | Pool::Prompt => LITTLE,
            Pool::Untried => 1,
            Pool::Moderate | Pool::Slow | Pool::Troubled => 0,
        };
        line.skipped = line.wants_no_more(self.limits.max_bytes, now)
            || (is_crowded && line.waiting.len() >= min);
        self.claims.note_target(key, line.skipped);
    }

    fn place_tenant(&mut self, tenant: TenantId, pool: Pool) {
        let Some(owner) = self.tenants.get_mut(&tenant) else {
            return;
        };
        let mine = owner.of_mut(pool);
        match (mine.turn, !mine.ready.is_empty()) {
            (None, true) => {
                mine.turn = Some(self.pools[pool].turns.join(tenant, mine.had));
                mine.waits_since = self.rounds;
            }
            (Some(_), false) => {
                self.rounds += u64::from(mine.consecutive > 0);
                if let Some(place) = mine.end_turn() {
                    self.pools[pool].turns.leave(place);
                }
            }
            _ => {}
        }
        self.pass_over_tenant(tenant);
    }

    fn pass_over_tenant(&mut self, tenant: TenantId) {
        let owner = self.tenants.get(&tenant);
        let is_over = owner.is_some_and(|owner| self.is_over(owner));
        let has_untried_part = owner.is_some_and(|owner| self.has_untried_part(owner));
        if let Some(owner) = self.tenants.get_mut(&tenant) {
            owner.is_over = is_over;
        }
        let is_paused = self.pauses.tenants.contains(&tenant);
        self.claims.note_tenant(tenant, is_over || has_untried_part || is_paused);
    }

    /// It holds as much of the room for untried targets as is free. So one tenant may have half of it, two a
    /// third each, and however many there are, some is left for the next.
    pub(super) fn has_untried_part(&self, owner: &TenantLine) -> bool {
        let (held, room) = (owner.of(Pool::Untried).held, self.untried_room());
        held.jobs > 0 && (held.jobs >= room.jobs || held.bytes >= room.bytes.max(1))
    }

    /// The tenant's prompt targets hold far more than their part.
    fn is_over(&self, owner: &TenantLine) -> bool {
        // Once passed over, it is until no more than a quarter is left.
        let eighths = if owner.is_over { 2 } else { 3 };
        self.holds_more(owner, eighths)
    }

    /// Whether its prompt targets hold more than this many eighths of the room.
    pub(super) fn holds_more(&self, owner: &TenantLine, eighths: usize) -> bool {
        let [quick, prompt] = [Pool::Quick, Pool::Prompt].map(|pool| owner.of(pool).held);
        quick.jobs + prompt.jobs > self.limits.max_jobs * eighths / 8
            || quick.bytes + prompt.bytes > self.limits.max_bytes / 8 * eighths
    }

    /// What a target holds beyond its share goes back to the store, if it is paused, rests or is in
    /// trouble: it would only take up room.
    fn evict(&mut self, key: Key, now: Time) {
        let keeps_little =
            |line: &&TargetLine<T>| line.is_held_up(now) || line.pool == Pool::Troubled;
        let Some(line) = self.targets.get(&key).filter(keeps_little) else {
            return;
        };
        let share = line.share(self.limits.max_bytes, now);
        let back = self.put_back(key, share);
        self.evicted.extend(back);
    }

    /// Takes what a target has waiting beyond `keep`, the last to come first to go.
    pub(super) fn put_back(&mut self, key: Key, keep: usize) -> Vec<T> {
        let (Some(line), Some(owner)) = (self.targets.get_mut(&key), self.tenants.get_mut(&key.0))
        else {
            return Vec::new();
        };
        let back = line.put_back(keep);
        owner.queued -= back.len();
        self.queued -= back.len();
        if !back.is_empty() {
            self.claims.note_behind(key, self.limits.remembered);
        }
        back
    }

    /// The target that has had nothing to do for longest, and its tenant if it was the last of it.
    fn forget_one(&mut self) {
        let Some(key) = self.idle.pop_front() else {
            return;
        };
        if let Some(at) = self.targets.remove(&key).and_then(|line| line.timer) {
            self.timers.remove(&(at, key));
        }
        self.claims.note_over(key, false);
        self.claims.note_proven(key.1, false);
        self.claims.note_target(key, self.pauses.targets.contains(&key));
        let Some(owner) = self.tenants.get_mut(&key.0) else {
            return;
        };
        owner.targets -= 1;
        if owner.targets == 0 {
            self.tenants.remove(&key.0);
            self.claims.note_tenant(key.0, self.pauses.tenants.contains(&key.0));
        }
    }
}
