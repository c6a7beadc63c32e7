//! Counts results by failure code and by tenant, for the metrics. Both are bounded: codes and tenants beyond
//! the bounds are counted together.

use std::collections::BTreeMap;

use gancho_domain::{Code, IdMap, NextStep, TenantId, Time};
use gancho_store::{Job, Settlement};
use parking_lot::Mutex;

/// Maximum failure codes that are counted apart.
const MAX_CODES: usize = 100;
/// Maximum tenants that are counted apart.
const MAX_TENANTS: usize = 10_000;

#[derive(Default)]
pub(crate) struct OutcomeCounters(Mutex<OutcomeCounts>);

/// What was counted since the engine started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutcomeCounts {
    pub by_code: BTreeMap<Code, FailureCount>,
    /// Counts of all codes beyond the maximum.
    pub other_codes: FailureCount,
    pub by_tenant: IdMap<TenantId, TenantCount>,
    /// Counts of all tenants beyond the maximum.
    pub other_tenants: TenantCount,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FailureCount {
    pub attempts: u64,
    pub dead_letters: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TenantCount {
    /// Attempts that were made for the tenant.
    pub processed: u64,
    pub dead_letters: u64,
    pub last_processed_at: Option<Time>,
}

impl OutcomeCounters {
    pub fn count(&self, now: Time, job: &Job, settlement: &Settlement) {
        let dead = match &settlement.next {
            NextStep::Dead(failure) => Some(failure),
            NextStep::Delivered | NextStep::Retry { .. } => None,
        };
        let attempt = settlement.attempt.as_ref();
        if attempt.is_none() && dead.is_none() {
            return;
        }
        let mut counts = self.0.lock();
        let tenant = counts.tenant(job.tenant);
        tenant.processed += u64::from(attempt.is_some());
        tenant.dead_letters += u64::from(dead.is_some());
        tenant.last_processed_at = Some(now);
        if let Some(failure) = attempt.and_then(|attempt| attempt.failure.as_ref()) {
            counts.code(failure.code()).attempts += 1;
        }
        if let Some(failure) = dead {
            counts.code(failure.code()).dead_letters += 1;
        }
    }

    /// Counts a dead letter that was made without an attempt.
    pub fn count_dead(&self, now: Time, tenant: TenantId, code: &Code) {
        let mut counts = self.0.lock();
        let tenant = counts.tenant(tenant);
        tenant.dead_letters += 1;
        tenant.last_processed_at = Some(now);
        counts.code(code).dead_letters += 1;
    }

    pub fn snapshot(&self) -> OutcomeCounts {
        self.0.lock().clone()
    }

    /// Returns the counts without tenants, of which there may be many.
    pub fn failures(&self) -> OutcomeCounts {
        let counts = self.0.lock();
        OutcomeCounts {
            by_code: counts.by_code.clone(),
            other_codes: counts.other_codes,
            ..OutcomeCounts::default()
        }
    }
}

impl OutcomeCounts {
    fn tenant(&mut self, tenant: TenantId) -> &mut TenantCount {
        if self.by_tenant.len() >= MAX_TENANTS && !self.by_tenant.contains_key(&tenant) {
            return &mut self.other_tenants;
        }
        self.by_tenant.entry(tenant).or_default()
    }

    fn code(&mut self, code: &Code) -> &mut FailureCount {
        if self.by_code.len() >= MAX_CODES && !self.by_code.contains_key(code) {
            return &mut self.other_codes;
        }
        self.by_code.entry(code.clone()).or_default()
    }
}
