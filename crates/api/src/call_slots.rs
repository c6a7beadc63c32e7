//! Limits the calls that each caller has in progress. Such a call keeps its connection, which cannot be closed
//! to make room for others, so a caller whose calls wait for each other would keep everyone else out.

use std::{sync::Arc, time::Duration};

use gancho_access::Principal;
use gancho_domain::TenantId;
use parking_lot::Mutex;

use crate::{codes, fair_shares::FairShares, listener::ListenSettings, problem::Problem};

const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The caller that a call is counted for. The operator who acts for a tenant has a share of its own for it, so
/// that neither the tenant nor other tenants are in its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct CallOwner {
    is_operator: bool,
    tenant: Option<TenantId>,
}

/// Counts the calls in progress.
pub struct CallSlots {
    shares: Arc<Mutex<FairShares<CallOwner>>>,
}

/// A call in progress. Returned when dropped.
pub struct CallSlot {
    shares: Arc<Mutex<FairShares<CallOwner>>>,
    owner: CallOwner,
}

impl Default for CallSlots {
    fn default() -> Self {
        let max = ListenSettings::default().connections;
        Self { shares: Arc::new(Mutex::new(FairShares::new(max))) }
    }
}

impl CallSlots {
    /// Sets the maximum of all callers together: the connections of the listener.
    pub fn set_max(&self, connections: usize) {
        self.shares.lock().set_max(connections);
    }

    pub fn take(&self, principal: &Principal) -> Result<CallSlot, Problem> {
        let is_operator = principal.limited_tenant().is_none();
        let owner = CallOwner { is_operator, tenant: principal.tenant() };
        if self.shares.lock().take(owner, 1) {
            return Ok(CallSlot { shares: self.shares.clone(), owner });
        }
        let whose = if is_operator { "the operator's" } else { "this tenant's" };
        let detail = format!("too many of {whose} requests are in progress; retry in a moment");
        Err(Problem::new(&codes::RATE_LIMITED, detail).retry_after(RETRY_AFTER))
    }
}

impl Drop for CallSlot {
    fn drop(&mut self) {
        self.shares.lock().give_back(&self.owner, 1);
    }
}
