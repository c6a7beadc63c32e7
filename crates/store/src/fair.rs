//! A semaphore whose permits go to tenants in turn.
//!
//! Each tenant has its own queue, and none may hold more than its share of the permits. However many calls
//! one tenant makes, another waits for at most one turn of each tenant that waits with it, and permits that
//! no single tenant may hold are left for the others. A caller that goes away leaves the queue, and costs
//! nothing more.

use std::{collections::VecDeque, sync::Arc};

use gancho_domain::{IdMap, TenantId};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::{Result, StoreError};

/// The account that a permit is counted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Account {
    Tenant(TenantId),
    /// Calls without a tenant.
    Gateway,
    /// Callers whose tenant, if any, is not known yet.
    Strangers,
}

impl From<Option<TenantId>> for Account {
    fn from(tenant: Option<TenantId>) -> Self {
        tenant.map_or(Self::Gateway, Self::Tenant)
    }
}

/// Maximum waiting callers of one tenant. More are refused with [`StoreError::Busy`].
const MAX_WAITING: usize = 1_024;

#[derive(Clone)]
pub struct FairSemaphore(Arc<Inner>);

struct Inner {
    max_per_tenant: u32,
    state: Mutex<State>,
}

struct State {
    free: u32,
    shares: IdMap<Account, Share>,
    /// The tenants with waiting callers, in the order of their turns.
    turns: VecDeque<Account>,
}

#[derive(Default)]
struct Share {
    held: u32,
    /// Whether the tenant is in the order of turns.
    is_queued: bool,
    waiting: VecDeque<Waiter>,
}

struct Waiter {
    weight: u32,
    wake: oneshot::Sender<FairPermit>,
}

/// A permit. Returned when dropped.
pub struct FairPermit {
    inner: Arc<Inner>,
    account: Account,
    weight: u32,
}

impl FairSemaphore {
    /// Creates a semaphore with `permits` permits, of which one tenant may hold `max_per_tenant` at a time.
    pub fn new(permits: u32, max_per_tenant: u32) -> Self {
        let (permits, max_per_tenant) = (permits.max(1), max_per_tenant.max(1));
        let state = State { free: permits, shares: IdMap::default(), turns: VecDeque::new() };
        let max_per_tenant = max_per_tenant.min(permits);
        Self(Arc::new(Inner { max_per_tenant, state: Mutex::new(state) }))
    }

    /// Waits for one permit.
    pub async fn acquire(&self, account: impl Into<Account>) -> Result<FairPermit> {
        self.acquire_many(account, 1).await
    }

    /// Waits for `weight` permits at once, or for a tenant's whole share if that is less.
    pub async fn acquire_many(
        &self,
        account: impl Into<Account>,
        weight: u32,
    ) -> Result<FairPermit> {
        let account = account.into();
        let weight = weight.clamp(1, self.0.max_per_tenant);
        let woken = {
            let mut state = self.0.state.lock();
            if state.turns.is_empty() && state.fits(account, weight, self.0.max_per_tenant) {
                return Ok(self.0.take(&mut state, account, weight));
            }
            let (wake, woken) = oneshot::channel();
            state.enqueue(account, Waiter { weight, wake })?;
            self.0.grant(&mut state);
            woken
        };
        woken.await.map_err(|_| StoreError::Broken("a semaphore lost a waiting caller".into()))
    }

    /// Returns the number of waiting callers of all tenants.
    pub fn waiting(&self) -> usize {
        let state = self.0.state.lock();
        let all = state.shares.values().flat_map(|share| &share.waiting);
        all.filter(|waiter| !waiter.wake.is_closed()).count()
    }
}

impl State {
    fn fits(&self, account: Account, weight: u32, max_per_tenant: u32) -> bool {
        let held = self.shares.get(&account).map_or(0, |share| share.held);
        weight <= self.free && held + weight <= max_per_tenant
    }

    fn enqueue(&mut self, account: Account, waiter: Waiter) -> Result<()> {
        let share = self.shares.entry(account).or_default();
        if share.waiting.len() >= MAX_WAITING {
            share.waiting.retain(|waiter| !waiter.wake.is_closed());
        }
        if share.waiting.len() >= MAX_WAITING {
            return Err(StoreError::Busy(format!(
                "{MAX_WAITING} calls of this tenant are waiting already"
            )));
        }
        share.waiting.push_back(waiter);
        if !std::mem::replace(&mut share.is_queued, true) {
            self.turns.push_back(account);
        }
        Ok(())
    }

    fn forget_if_idle(&mut self, account: Account) {
        let is_idle = |share: &Share| share.held == 0 && share.waiting.is_empty();
        if self.shares.get(&account).is_some_and(is_idle) {
            self.shares.remove(&account);
        }
    }

    /// Returns what the next caller of this tenant waits for, and what the tenant holds. Removes callers that
    /// have gone away; a tenant without callers leaves the order of turns.
    fn next_weight(&mut self, account: Account) -> Option<(u32, u32)> {
        let share = self.shares.get_mut(&account)?;
        while share.waiting.front().is_some_and(|waiter| waiter.wake.is_closed()) {
            share.waiting.pop_front();
        }
        share.is_queued = !share.waiting.is_empty();
        share.waiting.front().map(|waiter| (waiter.weight, share.held))
    }
}

impl Inner {
    fn take(self: &Arc<Self>, state: &mut State, account: Account, weight: u32) -> FairPermit {
        state.free -= weight;
        state.shares.entry(account).or_default().held += weight;
        FairPermit { inner: self.clone(), account, weight }
    }

    /// Hands out the free permits to the tenants in turn. A tenant that has its whole share is passed over. A
    /// tenant that waits for more than is free blocks those after it, so that many small requests cannot
    /// starve a large one.
    fn grant(self: &Arc<Self>, state: &mut State) {
        let mut passed_over = 0;
        while passed_over < state.turns.len() {
            let Some(account) = state.turns.pop_front() else { return };
            let Some((weight, held)) = state.next_weight(account) else {
                state.forget_if_idle(account);
                continue;
            };
            if held + weight > self.max_per_tenant {
                state.turns.push_back(account);
                passed_over += 1;
                continue;
            }
            if weight > state.free {
                state.turns.push_front(account);
                return;
            }
            let waiter = state.shares.get_mut(&account).and_then(|share| share.waiting.pop_front());
            if let Some(waiter) = waiter {
                let permit = self.take(state, account, weight);
                if let Err(unheard) = waiter.wake.send(permit) {
                    // The caller has just gone away. Dropping the permit here would lock the state again.
                    unheard.put_back(state);
                }
            }
            state.turns.push_back(account);
            passed_over = 0;
        }
    }
}

impl FairPermit {
    /// Returns all permits but `weight`.
    pub fn shrink_to(&mut self, weight: u32) {
        let surplus = self.weight.saturating_sub(weight);
        if surplus > 0 {
            self.weight -= surplus;
            self.give_back(surplus);
        }
    }

    fn give_back(&self, weight: u32) {
        let mut state = self.inner.state.lock();
        release(&mut state, self.account, weight);
        self.inner.grant(&mut state);
    }

    fn put_back(mut self, state: &mut State) {
        release(state, self.account, self.weight);
        self.weight = 0;
    }
}

fn release(state: &mut State, account: Account, weight: u32) {
    state.free += weight;
    if let Some(share) = state.shares.get_mut(&account) {
        share.held -= weight;
    }
    state.forget_if_idle(account);
}

impl Drop for FairPermit {
    fn drop(&mut self) {
        if self.weight > 0 {
            self.give_back(self.weight);
        }
    }
}

#[cfg(test)]
mod tests;
