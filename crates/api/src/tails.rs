//! Limits the live tails of a caller, and ends all of them when the gateway stops.

use gancho_domain::TenantId;
use tokio_util::sync::CancellationToken;

use crate::{
    caller_slots::{CallerSlot, CallerSlots},
    problem::Problem,
};

/// Maximum concurrent tails of one tenant.
const MAX_OF_TENANT: usize = 8;
/// Maximum concurrent tails of the operator, whose open dashboards have one each.
const MAX_OF_OPERATOR: usize = 100;

pub struct Tails {
    slots: CallerSlots,
    closing: CancellationToken,
}

impl Default for Tails {
    fn default() -> Self {
        let slots = CallerSlots::new("tails", MAX_OF_TENANT, MAX_OF_OPERATOR);
        Self { slots, closing: CancellationToken::new() }
    }
}

impl Tails {
    /// Starts a tail, which ends when the slot is dropped. `None` is the operator, even if it acts for a
    /// tenant.
    pub fn begin(&self, caller: Option<TenantId>) -> Result<CallerSlot, Problem> {
        self.slots.take(caller)
    }

    /// Ends all tails: a stop waits for responses that are being sent, and these would never end.
    pub fn close(&self) {
        self.closing.cancel();
    }

    pub fn closing(&self) -> CancellationToken {
        self.closing.clone()
    }
}
