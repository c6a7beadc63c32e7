//! Limits concurrent exports: each holds a page of dead letters while its reader reads.

use std::time::Duration;

use gancho_domain::TenantId;

use crate::{
    caller_slots::{CallerSlot, CallerSlots, SlotError},
    codes,
    problem::Problem,
};

/// Maximum concurrent exports of all callers.
const MAX_EXPORTS: usize = 8;
/// Maximum concurrent exports of one tenant, or of the operator.
const MAX_PER_CALLER: usize = 2;
const RETRY_AFTER: Duration = Duration::from_secs(5);

pub struct Exports(CallerSlots);

impl Default for Exports {
    fn default() -> Self {
        Self(CallerSlots::new(MAX_EXPORTS))
    }
}

impl Exports {
    /// The export ends when the slot is dropped.
    pub fn begin(&self, caller: Option<TenantId>) -> Result<CallerSlot, Problem> {
        self.0.take(caller, MAX_PER_CALLER).map_err(|full| {
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
