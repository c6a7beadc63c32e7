//! The operator's limits: the size of an e-mail, and the send rate of a tenant.

use std::{collections::HashMap, time::Duration};

use gancho_domain::{Lane, Rate, TenantId};
use gancho_engine::{LaneSetup, LaneTerms, SlotPolicy};
use parking_lot::RwLock;

#[derive(Debug, Clone)]
pub struct MailLimits {
    /// Maximum size of all attachments of an e-mail, decoded.
    pub attachment_bytes: usize,
    /// Maximum size of text and HTML together.
    pub content_bytes: usize,
    /// How long idempotency keys are remembered.
    pub once_within: Duration,
}

impl Default for MailLimits {
    fn default() -> Self {
        Self {
            attachment_bytes: 10 * 1024 * 1024,
            content_bytes: 2 * 1024 * 1024,
            once_within: Duration::from_hours(24),
        }
    }
}

/// The concurrency and the send rate of a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TenantLimit {
    pub in_flight: u32,
    pub rate: Option<Rate>,
}

/// Limits for all tenants, which can be changed while e-mails are sent, and overrides for some.
#[derive(Debug)]
pub struct TenantLimits {
    everyone: RwLock<TenantLimit>,
    pub own: HashMap<TenantId, TenantLimit>,
}

impl Default for TenantLimits {
    /// No limits beyond those of the lane.
    fn default() -> Self {
        let everyone = TenantLimit { in_flight: gancho_engine::Terms::MAX_IN_FLIGHT, rate: None };
        Self::of_all(everyone)
    }
}

impl TenantLimits {
    pub fn of_all(limit: TenantLimit) -> Self {
        Self { everyone: RwLock::new(limit), own: HashMap::new() }
    }

    pub fn set_of_all(&self, limit: TenantLimit) {
        *self.everyone.write() = limit;
    }

    pub fn of(&self, tenant: TenantId) -> TenantLimit {
        self.own.get(&tenant).copied().unwrap_or_else(|| *self.everyone.read())
    }
}

/// Maximum number of e-mails in flight, over all tenants.
pub const CONCURRENCY: u32 = 5;
/// Maximum send rate, over all tenants.
pub const RATE: Rate = Rate { count: 100, per: Duration::from_secs(60) };
/// An e-mail that could not be sent within this time fails.
pub const EXPIRY: Duration = Duration::from_hours(24);

/// Creates the e-mail lane with default limits. Every failed e-mail is reported, including expired ones.
pub fn lane(carrier: crate::MailCarrier) -> LaneSetup {
    LaneSetup {
        terms: LaneTerms { concurrency: CONCURRENCY, rate: Some(RATE), expiry: Some(EXPIRY) },
        policy: SlotPolicy::Hard,
        expires_in_store: false,
        ..LaneSetup::new(Lane::Email, std::sync::Arc::new(carrier))
    }
}
