//! Counts and logs writes that the store refused, and when it accepts writes again.

use std::sync::atomic::{AtomicBool, Ordering};

use gancho_domain::TenantId;
use gancho_store::StoreError;

use crate::{Engine, lane_counters::Counter};

#[derive(Default)]
pub(crate) struct RefusedWrites {
    full: Counter,
    unavailable: Counter,
    busy: Counter,
    is_refusing: AtomicBool,
    is_failing: AtomicBool,
}

/// Parcels that were not accepted since the engine started, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RefusedCounts {
    /// The store is full.
    pub full: u64,
    /// The store did not respond.
    pub unavailable: u64,
    /// Too many calls of the tenant were waiting.
    pub busy: u64,
}

impl RefusedCounts {
    pub fn total(&self) -> u64 {
        self.full + self.unavailable + self.busy
    }
}

const REFUSED: &str = "write refused";

impl Engine {
    pub fn refused_writes(&self) -> RefusedCounts {
        let RefusedWrites { full, unavailable, busy, .. } = &self.refused_writes;
        RefusedCounts { full: full.get(), unavailable: unavailable.get(), busy: busy.get() }
    }

    /// Notes that parcels of a tenant were not accepted.
    pub(crate) fn note_refusal(&self, tenant: TenantId, count: usize, error: &StoreError) {
        let refused = &self.refused_writes;
        let (counter, error_code) = match error {
            StoreError::Full(_) => {
                refused.is_refusing.store(true, Ordering::Relaxed);
                (&refused.full, "storage_full")
            }
            StoreError::Busy(_) => (&refused.busy, "too_many_requests"),
            StoreError::Unavailable(_)
            | StoreError::TimedOut(_)
            | StoreError::Broken(_)
            | StoreError::Moving(_) => (&refused.unavailable, "unavailable"),
            StoreError::Fenced
            | StoreError::Refused(_)
            | StoreError::Taken(_)
            | StoreError::Corrupt(_)
            | StoreError::Invalid(_) => return,
        };
        counter.add(count);
        // Sampled by tenant, as lines about a target are sampled by target.
        if self.log_sampler.allows(REFUSED, Some((tenant, tenant.cast())), self.clock.now()) {
            tracing::warn!(%tenant, count, error_code, %error, "write refused");
        }
    }

    /// Notes that something was refused because the store could not be asked which tenant owns it.
    pub fn note_unread_refusal(&self) {
        self.refused_writes.unavailable.add(1);
        if self.log_sampler.allows(REFUSED, None, self.clock.now()) {
            let error = "the caller could not be looked up";
            tracing::warn!(count = 1, error_code = "unavailable", error, "write refused");
        }
    }

    /// Notes that the store accepted something.
    pub(crate) fn note_acceptance(&self) {
        let is_refusing = &self.refused_writes.is_refusing;
        if is_refusing.load(Ordering::Relaxed) && is_refusing.swap(false, Ordering::Relaxed) {
            tracing::info!("writes accepted again");
        }
    }

    /// Notes that a call of the engine to the store failed. Returns whether a line may be logged about it.
    pub(crate) fn note_store_failure(&self, step: &'static str) -> bool {
        self.refused_writes.is_failing.store(true, Ordering::Relaxed);
        self.log_sampler.allows(step, None, self.clock.now())
    }

    pub(crate) fn note_store_success(&self) {
        let is_failing = &self.refused_writes.is_failing;
        if is_failing.load(Ordering::Relaxed) && is_failing.swap(false, Ordering::Relaxed) {
            tracing::info!("store responds again");
        }
    }
}
