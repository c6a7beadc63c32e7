//! Limits concurrent live tails, and ends them when the gateway stops.

use std::{sync::Arc, time::Duration};

use gancho_domain::TenantId;
use tokio_util::sync::CancellationToken;

use crate::{
    caller_slots::{CallerSlot, CallerSlots, SlotError},
    codes,
    listener::ConnectionState,
    problem::Problem,
};

/// Maximum concurrent tails of all tenants. Each costs a comparison for every delivery.
const MAX_OF_TENANTS: usize = 256;
/// Maximum concurrent tails of one tenant.
const MAX_PER_TENANT: usize = 8;
/// Maximum concurrent tails of the operator, whose open dashboards have one each. Tenants cannot take them.
const MAX_OF_OPERATOR: usize = 100;
const RETRY_AFTER: Duration = Duration::from_secs(5);

pub struct Tails {
    of_tenants: CallerSlots,
    of_operator: CallerSlots,
    closing: CancellationToken,
}

impl Default for Tails {
    fn default() -> Self {
        Self {
            of_tenants: CallerSlots::new(MAX_OF_TENANTS),
            of_operator: CallerSlots::new(MAX_OF_OPERATOR),
            closing: CancellationToken::new(),
        }
    }
}

impl Tails {
    /// The tail ends when the slot is dropped. `None` is the operator, also one who acts for a tenant.
    pub fn begin(
        &self,
        caller: Option<TenantId>,
        connection: Option<Arc<ConnectionState>>,
    ) -> Result<CallerSlot, Problem> {
        let (slots, max) = match caller {
            Some(_) => (&self.of_tenants, MAX_PER_TENANT),
            None => (&self.of_operator, MAX_OF_OPERATOR),
        };
        slots.take(caller, max, connection).map_err(|full| {
            let detail = match full {
                SlotError::OfCaller => {
                    format!("{max} tails are already open; close one, then retry")
                }
                SlotError::OfAll => {
                    format!("tenants have {MAX_OF_TENANTS} tails open on this node; retry later")
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
