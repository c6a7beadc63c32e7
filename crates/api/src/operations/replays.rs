//! Replays: background jobs that send past deliveries or events again. They count first, keep to a rate and
//! can be canceled.

pub mod cancel;
pub mod create;
pub mod get;
pub mod list;
pub mod view;

use gancho_access::Principal;
use gancho_domain::ReplayId;
use gancho_outbound::Owner;

use self::view::ReplayJob;
use crate::{problem::Problem, route::Call};

pub(crate) const TAG: &str = "Replays";

/// Whose replay it is: for the operator without a tenant, anyone's.
async fn owner(call: &Call, id: ReplayId) -> Result<Owner, Problem> {
    match &call.principal {
        Principal::Tenant(principal) => Ok(principal.scope().into()),
        Principal::Operator(operator) => {
            let replay = call.api.replays.find(id).await?;
            Ok(replay.tenant.map_or(Owner::Operator, |tenant| operator.scope_of(tenant).into()))
        }
    }
}

/// Names the tenant, where the operator reads replays of all tenants.
async fn named(call: &Call, mut replay: ReplayJob) -> Result<ReplayJob, Problem> {
    let tenant = replay.tenant_id.as_deref().and_then(|id| id.parse().ok());
    if let (Principal::Operator(_), Some(tenant)) = (&call.principal, tenant) {
        // A tenant is looked up in a cache.
        let found = call.api.access.tenants.get(tenant).await?;
        replay.tenant = found.map(|tenant| tenant.slug.clone());
    }
    Ok(replay)
}
