//! Limits and intervals of an engine.

use std::time::Duration;

use gancho_domain::fairness;

#[derive(Debug, Clone)]
pub struct Limits {
    /// Maximum deliveries in memory: waiting, in flight or being settled.
    pub max_jobs: usize,
    /// Maximum bytes of their bodies. One body may exceed it.
    pub max_bytes: usize,
    /// Maximum deliveries of one tenant in a row while others wait.
    pub tenant_batch: u32,
    /// Maximum deliveries in one claim.
    pub batch: usize,
    /// How often the store is polled for due work when no bell rings.
    pub poll: Duration,
    pub heartbeat: Duration,
    /// A node without a heartbeat for this long is dead.
    pub lease: Duration,
    pub rescue: Duration,
    pub upkeep: Duration,
    /// How often counted statistics are written to the store.
    pub statistics_flush: Duration,
    /// Maximum rows that one step of upkeep changes.
    pub upkeep_step: usize,
    /// How long ended deliveries stay in the log.
    pub retention: Duration,
    /// Maximum dead letters of a tenant; the oldest beyond it are archived.
    pub dead_letters_per_tenant: u64,
    /// Maximum idle targets per lane whose breaker, pace, pool and rate are remembered; and maximum targets
    /// per lane that are known to have older deliveries in the store.
    pub remembered: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_jobs: 12_288,
            max_bytes: 48 << 20,
            tenant_batch: fairness::TURN,
            batch: 256,
            poll: Duration::from_secs(1),
            heartbeat: Duration::from_secs(3),
            lease: Duration::from_secs(15),
            rescue: Duration::from_secs(5),
            upkeep: Duration::from_mins(1),
            statistics_flush: Duration::from_secs(5),
            upkeep_step: 500,
            retention: Duration::from_hours(30 * 24),
            dead_letters_per_tenant: 10_000,
            remembered: 16_384,
        }
    }
}

impl Limits {
    /// How long after a heartbeat new attempts may begin. Shorter than the lease, so that a node that cannot
    /// reach the store stops before another node takes over its work.
    pub(crate) fn trusted(&self) -> Duration {
        self.lease.saturating_sub(self.heartbeat)
    }
}
