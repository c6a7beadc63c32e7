//! Keeps the rings up to date: where a target and its tenant belong after a change.

use gancho_domain::{TenantId, Time};
use gancho_store::TargetId;

use super::{
    Key, LaneLimits, PauseSet, Pool, Scheduler, SlotPolicy,
    claims::LITTLE,
    pools::{PoolState, Pools},
    target::{Readiness, TargetLine},
    tenant::TenantLine,
    turns::UsedTime,
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

    /// Puts a target, and its tenant, where they belong by what is true of them now. This runs several times for each
    /// delivery, so the two are looked up once; what concerns others, which is seldom, comes afterwards.
    pub(super) fn place(&mut self, key: Key, now: Time) {
        let (Some(line), Some(owner)) = (self.targets.get_mut(&key), self.tenants.get_mut(&key.0))
        else {
            return;
        };
        let limits = &self.limits;
        let moved_from = choose_pool(line, owner, &self.pools, key, limits, &self.pauses);
        // What a target holds beyond its share goes back to the store, if it is paused, rests or is in trouble: it
        // would only take up room.
        if line.is_held_up(now) || line.pool == Pool::Troubled {
            let back = line.put_back(line.share(limits.max_bytes, now));
            owner.queued -= back.len();
            self.queued -= back.len();
            if !back.is_empty() {
                self.claims.note_behind(key, limits.remembered);
            }
            self.evicted.extend(back);
        }
        let recounted = account(line, owner, &mut self.pools, key.0);
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
            (None, true) => {
                line.idle = Some(owner.idle.push_back(key.1));
                self.idle += 1;
            }
            (Some(place), false) => {
                owner.idle.remove(place);
                line.idle = None;
                self.idle -= 1;
            }
            _ => {}
        }
        if line.noted_proven != line.is_proven() {
            line.noted_proven = !line.noted_proven;
            self.claims.note_proven(key.1, line.noted_proven);
        }
        self.claims.note_over(key, line.waiting.len() > line.share(limits.max_bytes, now));
        for pool in moved_from.into_iter().chain([line.pool]) {
            place_tenant(owner, &mut self.pools[pool], pool, key.0, &mut self.rounds);
        }
        owner.is_over = is_over(owner, limits);
        let is_skipped = owner.is_over
            || has_untried_part(owner, &self.pools)
            || self.pauses.tenants.contains(&key.0);
        self.claims.note_tenant(key.0, is_skipped);
        line.skipped = is_passed_over(line, owner, &self.pools, limits, now);
        self.claims.note_target(key, line.skipped);
        for change in recounted.into_iter().flatten() {
            self.pass_over_others(key.0, change, now);
        }
        if self.idle > self.limits.remembered {
            self.forget_one();
        }
    }

    /// Has claims pass over those for whom a pool has become full, or no longer pass over them.
    fn pass_over_others(&mut self, tenant: TenantId, change: PoolChange, now: Time) {
        let PoolChange { pool, of_all, of_tenant, has_shifted } = change;
        let mut changed = Vec::from_iter(of_tenant.then_some(tenant));
        if has_shifted {
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
        let owner = self.tenants.get_mut(&tenant);
        owner.is_some_and(|owner| judge_tenant(owner, &self.pools[pool], pool))
    }

    fn pass_over(&mut self, key: Key, now: Time) {
        let (Some(line), Some(owner)) = (self.targets.get_mut(&key), self.tenants.get(&key.0))
        else {
            return;
        };
        line.skipped = is_passed_over(line, owner, &self.pools, &self.limits, now);
        self.claims.note_target(key, line.skipped);
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

    /// Of the tenant with the most targets, the one that has had nothing to do for longest; and the tenant, if it was
    /// its last.
    fn forget_one(&mut self) {
        let mut owners = self.owners.by_most();
        let Some(key) = owners.find_map(|tenant| {
            let target = self.tenants.get_mut(&tenant)?.idle.pop_front()?;
            Some((tenant, target))
        }) else {
            return;
        };
        drop(owners);
        self.idle -= 1;
        self.owners.remove(key.0);
        if let Some(at) = self.targets.remove(&key).and_then(|line| line.timer) {
            self.timers.remove(&(at, key));
        }
        self.claims.note_over(key, false);
        self.claims.note_proven(key.1, false);
        self.claims.note_target(key, self.pauses.targets.contains(&key));
        if self.owners.count(key.0) == 0 {
            self.tenants.remove(&key.0);
            self.claims.note_tenant(key.0, self.pauses.tenants.contains(&key.0));
        }
    }
}

/// What a change of a target means for the others of a pool.
#[derive(Clone, Copy)]
struct PoolChange {
    pool: Pool,
    /// The pool became crowded, or ceased to be.
    of_all: bool,
    /// So did the target's tenant.
    of_tenant: bool,
    /// It has filled or emptied by a part.
    has_shifted: bool,
}

/// By how the target answers; its place in the line of another pool is given up. Returns that pool.
fn choose_pool<T>(
    line: &mut TargetLine<T>,
    owner: &mut TenantLine,
    pools: &Pools,
    key: Key,
    limits: &LaneLimits,
    pauses: &PauseSet,
) -> Option<Pool> {
    line.paused = pauses.holds(key);
    let before = line.pool;
    line.pool = match limits.policy {
        SlotPolicy::ByLatency | SlotPolicy::Hard => line.wanted_pool(),
        SlotPolicy::HardUnsorted => Pool::Prompt,
    };
    let (pool, mine) = (&pools[line.pool], owner.of(line.pool));
    let of_tenant = pool.limit_of(mine, line.pool).jobs;
    line.pool_share = (of_tenant / mine.busy.max(1)).max(1) as u32;
    line.steady_share = (pool.jobs_each() / mine.busy.max(1)) as u32;
    if line.pool == before {
        return None;
    }
    if let Some(place) = line.turn.take() {
        owner.of_mut(before).ready.leave(place);
    }
    line.had = UsedTime::default();
    Some(before)
}

/// Counts what the target holds in its pool. Returns what that means for others.
fn account<T>(
    line: &mut TargetLine<T>,
    owner: &mut TenantLine,
    pools: &mut Pools,
    tenant: TenantId,
) -> [Option<PoolChange>; 2] {
    let after = line.held();
    let before = std::mem::replace(&mut line.counted, after);
    if before == after {
        return [None, None];
    }
    pools[before.pool].busy -= usize::from(before.jobs > 0);
    pools[after.pool].busy += usize::from(after.jobs > 0);
    pools[before.pool].held.remove(before.jobs, before.bytes);
    pools[after.pool].held.add(after.jobs, after.bytes);
    let had_any = owner.of(before.pool).busy > 0;
    let mine = owner.of_mut(before.pool);
    mine.held.remove(before.jobs, before.bytes);
    mine.busy -= usize::from(before.jobs > 0);
    let mine = owner.of_mut(after.pool);
    mine.held.add(after.jobs, after.bytes);
    mine.busy += usize::from(after.jobs > 0);
    if before.jobs > 0 && owner.of(before.pool).busy == 0 {
        pools[before.pool].holders.remove(&tenant);
    }
    let is_first = before.pool != after.pool || !had_any;
    if after.jobs > 0 && is_first && owner.of(after.pool).busy == 1 {
        pools[after.pool].holders.insert(tenant);
    }
    let other = (after.pool != before.pool).then_some(after.pool);
    [Some(before.pool), other].map(|pool| judge(owner, pools, pool?))
}

/// A pool that is full, as a whole or of one tenant, takes no more until there is room in it.
fn judge(owner: &mut TenantLine, pools: &mut Pools, pool: Pool) -> Option<PoolChange> {
    let limit = pools[pool].limit;
    let of_all = !pool.is_prompt() && pools[pool].held.judge(limit, POOL_PARTS);
    let of_tenant = judge_tenant(owner, &pools[pool], pool);
    let has_shifted = has_shifted(&mut pools[pool]);
    let is_news = of_all || of_tenant || has_shifted;
    is_news.then_some(PoolChange { pool, of_all, of_tenant, has_shifted })
}

fn judge_tenant(owner: &mut TenantLine, state: &PoolState, pool: Pool) -> bool {
    let limit = state.limit_of(owner.of(pool), pool);
    owner.of_mut(pool).held.judge(limit, TENANT_PARTS)
}

/// Whether the pool has filled or emptied by a part since this was last so.
fn has_shifted(state: &mut PoolState) -> bool {
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
fn is_passed_over<T>(
    line: &TargetLine<T>,
    owner: &TenantLine,
    pools: &Pools,
    limits: &LaneLimits,
    now: Time,
) -> bool {
    let (pool, mine) = (&pools[line.pool], owner.of(line.pool).held);
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
    line.wants_no_more(limits.max_bytes, now) || (is_crowded && line.waiting.len() >= min)
}

fn place_tenant(
    owner: &mut TenantLine,
    state: &mut PoolState,
    pool: Pool,
    tenant: TenantId,
    rounds: &mut u64,
) {
    let mine = owner.of_mut(pool);
    match (mine.turn, !mine.ready.is_empty()) {
        (None, true) => {
            mine.turn = Some(state.turns.join(tenant, mine.had));
            mine.waits_since = *rounds;
        }
        (Some(_), false) => {
            *rounds += u64::from(mine.consecutive > 0);
            if let Some(place) = mine.end_turn() {
                state.turns.leave(place);
            }
        }
        _ => {}
    }
}

/// It holds as much of the room for untried targets as is free. So one tenant may have half of it, two a third
/// each, and however many there are, some is left for the next.
pub(super) fn has_untried_part(owner: &TenantLine, pools: &Pools) -> bool {
    let (held, room) = (owner.of(Pool::Untried).held, pools.untried_room());
    held.jobs > 0 && (held.jobs >= room.jobs || held.bytes >= room.bytes.max(1))
}

/// The tenant's prompt targets hold far more than their part.
fn is_over(owner: &TenantLine, limits: &LaneLimits) -> bool {
    // Once passed over, it is until no more than a quarter is left.
    let eighths = if owner.is_over { 2 } else { 3 };
    holds_more(owner, limits, eighths)
}

/// Whether its prompt targets hold more than this many eighths of the room.
pub(super) fn holds_more(owner: &TenantLine, limits: &LaneLimits, eighths: usize) -> bool {
    let [quick, prompt] = [Pool::Quick, Pool::Prompt].map(|pool| owner.of(pool).held);
    quick.jobs + prompt.jobs > limits.max_jobs * eighths / 8
        || quick.bytes + prompt.bytes > limits.max_bytes / 8 * eighths
}
