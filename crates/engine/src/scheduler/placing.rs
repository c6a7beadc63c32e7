//! Keeping the rings true: where a target and its tenant stand after something changed.

use gancho_domain::{TenantId, Time};

use super::{
    Key, Scheduler,
    target::{Stand, TargetLine},
};

impl<T> Scheduler<T> {
    /// Lets those go on whose time has come.
    pub(super) fn catch_up(&mut self, now: Time) {
        if now < self.last_now {
            // The clock went back: who may go and who must wait is to be found anew.
            let all: Vec<Key> = self.targets.keys().copied().collect();
            for key in all {
                self.place(key, now);
            }
        }
        self.last_now = now;
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
        if let Some(line) = self.targets.get_mut(&key) {
            line.paused = self.pauses.holds(key);
        }
        self.evict(key, now);
        let (Some(line), Some(owner)) = (self.targets.get_mut(&key), self.tenants.get_mut(&key.0))
        else {
            return;
        };
        let stand = line.stand(now);
        match (line.turn, stand == Stand::Open && !line.waiting.is_empty()) {
            (None, true) => line.turn = Some(owner.ready.push_back(key.1)),
            (Some(place), false) => {
                owner.ready.remove(place);
                line.turn = None;
            }
            _ => {}
        }
        let timer = match stand {
            Stand::NotBefore(at) => Some(at),
            Stand::Open | Stand::Shut => None,
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
        line.skipped = line.wants_no_more(self.limits.most_bytes, now);
        self.claims.note_target(key.1, line.skipped);
        self.claims.note_over(key, line.waiting.len() > line.share(self.limits.most_bytes));
        self.place_tenant(key.0);
        if self.idle.len() > self.limits.remembered {
            self.forget_one();
        }
    }

    fn place_tenant(&mut self, tenant: TenantId) {
        let Some(owner) = self.tenants.get_mut(&tenant) else {
            return;
        };
        match (owner.turn, !owner.ready.is_empty()) {
            (None, true) => {
                owner.turn = Some(self.turns.push_back(tenant));
                owner.waits_since = self.rounds;
            }
            (Some(place), false) => {
                self.turns.remove(place);
                owner.turn = None;
                if owner.consecutive > 0 {
                    owner.consecutive = 0;
                    self.rounds += 1;
                }
            }
            _ => {}
        }
        // Once passed over, it is until half is gone.
        let part = if owner.skipped { 8 } else { 4 };
        owner.skipped = self.pauses.tenants.contains(&tenant)
            || owner.queued > self.limits.most_jobs / part
            || owner.bytes > self.limits.most_bytes / part;
        self.claims.note_tenant(tenant, owner.skipped);
    }

    /// What a paused or resting target holds beyond its share goes back to the store.
    fn evict(&mut self, key: Key, now: Time) {
        let held_up = |line: &&TargetLine<T>| line.is_held_up(now);
        let Some(line) = self.targets.get(&key).filter(held_up) else {
            return;
        };
        let share = line.share(self.limits.most_bytes);
        let back = self.put_back(key, share);
        self.evicted.extend(back);
    }

    /// Takes what a target has waiting beyond `keep`, the last to come first to go.
    pub(super) fn put_back(&mut self, key: Key, keep: usize) -> Vec<T> {
        let (Some(line), Some(owner)) = (self.targets.get_mut(&key), self.tenants.get_mut(&key.0))
        else {
            return Vec::new();
        };
        let (back, bytes) = line.put_back(keep);
        owner.queued -= back.len();
        owner.bytes = owner.bytes.saturating_sub(bytes);
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
        self.claims.note_target(key.1, self.pauses.targets.contains(&key));
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
