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
pub const MAX_TAILS: usize = 64;
/// Maximum concurrent tails of one tenant, or of the operator.
pub const MAX_PER_CALLER: usize = 8;
const RETRY_AFTER: Duration = Duration::from_secs(5);

pub struct Tails {
    slots: CallerSlots,
    closing: CancellationToken,
}

impl Default for Tails {
    fn default() -> Self {
        let slots = CallerSlots::new(MAX_PER_CALLER, MAX_TAILS);
        Self { slots, closing: CancellationToken::new() }
    }
}

impl Tails {
    /// The tail ends when the slot is dropped.
    pub fn begin(&self, caller: Option<TenantId>) -> Result<CallerSlot, Problem> {
        self.slots.take(caller).map_err(|full| {
            let detail = match full {
                SlotError::OfCaller => {
                    format!("{MAX_PER_CALLER} tails are already open; close one, then retry")
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
