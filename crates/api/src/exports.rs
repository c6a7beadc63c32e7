//! Limits concurrent exports: each holds a page of dead letters while its reader reads.

use std::{sync::Arc, time::Duration};

use gancho_domain::TenantId;

use crate::{
    caller_slots::{CallerSlot, CallerSlots, SlotError},
    codes,
    listener::ConnectionState,
    problem::Problem,
};

/// Maximum concurrent exports of all tenants. The operator's are apart: tenants cannot take them.
const MAX_OF_TENANTS: usize = 8;
/// Maximum concurrent exports of one tenant, or of the operator.
const MAX_PER_CALLER: usize = 2;
const RETRY_AFTER: Duration = Duration::from_secs(5);

pub struct Exports {
    of_tenants: CallerSlots,
    of_operator: CallerSlots,
}

impl Default for Exports {
    fn default() -> Self {
        Self {
            of_tenants: CallerSlots::new(MAX_OF_TENANTS),
            of_operator: CallerSlots::new(MAX_PER_CALLER),
        }
    }
}

impl Exports {
    /// The export ends when the slot is dropped.
    pub fn begin(
        &self,
        caller: Option<TenantId>,
        connection: Option<Arc<ConnectionState>>,
    ) -> Result<CallerSlot, Problem> {
        let slots = if caller.is_some() { &self.of_tenants } else { &self.of_operator };
        slots.take(caller, MAX_PER_CALLER, connection).map_err(|full| {
            let problem = match full {
                SlotError::OfCaller => {
                    let detail = format!(
                        "{MAX_PER_CALLER} exports are already running; wait for one to finish, then retry"
                    );
                    Problem::new(&codes::RATE_LIMITED, detail)
                }
                SlotError::OfAll => {
                    let detail = "too many exports are running; retry later";
                    Problem::new(&codes::UNAVAILABLE, detail)
                }
            };
            problem.retry_after(RETRY_AFTER)
        })
    }
}
