//! Limits concurrent live tails, and ends them when the gateway stops.

use std::time::Duration;

use gancho_domain::TenantId;
use tokio_util::sync::CancellationToken;

use crate::{
    caller_slots::{CallerSlot, CallerSlots, SlotError},
    codes,
    problem::Problem,
};

/// Maximum concurrent tails of all callers. Each costs a comparison for every delivery.
const MAX_TAILS: usize = 64;
/// Maximum concurrent tails of one tenant.
const MAX_PER_TENANT: usize = 8;
/// Maximum concurrent tails of the operator, whose open dashboards have one each.
const MAX_OF_OPERATOR: usize = 32;
const RETRY_AFTER: Duration = Duration::from_secs(5);

pub struct Tails {
    slots: CallerSlots,
    closing: CancellationToken,
}

impl Default for Tails {
    fn default() -> Self {
        Self { slots: CallerSlots::new(MAX_TAILS), closing: CancellationToken::new() }
    }
}

impl Tails {
    /// The tail ends when the slot is dropped.
    pub fn begin(&self, caller: Option<TenantId>) -> Result<CallerSlot, Problem> {
        let max = if caller.is_some() { MAX_PER_TENANT } else { MAX_OF_OPERATOR };
        self.slots.take(caller, max).map_err(|full| {
            let detail = match full {
                SlotError::OfCaller => {
                    format!("{max} tails are already open; close one, then retry")
                }
                SlotError::OfAll => {
                    format!("{MAX_TAILS} tails are open on this node; retry later")
                }
            };
            Problem::new(&codes::RATE_LIMITED, detail).retry_after(RETRY_AFTER)
        })
    }

    /// Ends all tails: a stop waits for responses that are being sent, and these would never end.
    pub fn close(&self) {
        self.closing.cancel();
    }

    pub fn closing(&self) -> CancellationToken {
        self.closing.clone()
    }
}
