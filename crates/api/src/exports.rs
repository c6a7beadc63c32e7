//! Limits concurrent exports: each holds a page of dead letters while its reader reads.

use std::{collections::HashMap, sync::Arc, time::Duration};

use gancho_domain::TenantId;
use parking_lot::Mutex;

use crate::{codes, problem::Problem};

/// Maximum concurrent exports of all callers.
const MAX_EXPORTS: usize = 8;
/// Maximum concurrent exports of one tenant, or of the operator.
const MAX_PER_CALLER: usize = 2;
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Counts running exports by caller: a tenant, or the operator.
#[derive(Default)]
pub struct Exports(Arc<Mutex<HashMap<Option<TenantId>, usize>>>);

/// Ends the export when dropped.
pub struct ExportPermit {
    running: Arc<Mutex<HashMap<Option<TenantId>, usize>>>,
    caller: Option<TenantId>,
}

impl Exports {
    pub fn begin(&self, caller: Option<TenantId>) -> Result<ExportPermit, Problem> {
        let mut running = self.0.lock();
        if running.get(&caller).is_some_and(|count| *count >= MAX_PER_CALLER) {
            let detail = format!(
                "{MAX_PER_CALLER} exports are already running; wait for one to finish, then retry"
            );
            return Err(Problem::new(&codes::RATE_LIMITED, detail).retry_after(RETRY_AFTER));
        }
        if running.values().sum::<usize>() >= MAX_EXPORTS {
            let detail = "too many exports are running; retry later";
            return Err(Problem::new(&codes::UNAVAILABLE, detail).retry_after(RETRY_AFTER));
        }
        *running.entry(caller).or_default() += 1;
        Ok(ExportPermit { running: self.0.clone(), caller })
    }
}

impl Drop for ExportPermit {
    fn drop(&mut self) {
        let mut running = self.running.lock();
        if let Some(count) = running.get_mut(&self.caller) {
            *count -= 1;
            if *count == 0 {
                running.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn each_caller_has_two_and_all_together_eight() {
        let exports = Exports::default();
        let tenant = |number| Some(TenantId::from_bits(number));
        let mut permits = Vec::new();
        for number in 0..4 {
            permits.push(exports.begin(tenant(number)).ok().unwrap());
            permits.push(exports.begin(tenant(number)).ok().unwrap());
            let refused = exports.begin(tenant(number)).err().unwrap();
            assert_eq!(refused.code().code, "rate_limited");
        }
        let refused = exports.begin(None).err().unwrap();
        assert_eq!(refused.code().code, "unavailable");
        permits.pop();
        permits.push(exports.begin(None).ok().unwrap());
        drop(permits);
        assert!(exports.0.lock().is_empty(), "nothing is kept of those that ended");
    }
}
