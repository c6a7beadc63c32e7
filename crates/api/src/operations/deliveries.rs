//! Deliveries, with every attempt. Each operation has two paths: below a webhook, and for the whole tenant.
//! The operator without a tenant sees the deliveries of all tenants.

mod all_tenants;
pub mod cancel;
pub mod check_signature;
pub mod dispatch_lane;
pub mod export;
pub mod get;
pub mod list;
pub mod retry;
mod select;
pub mod tail;
pub mod view;
pub mod waiting_for;

use gancho_access::Principal;
use gancho_domain::{DeliveryId, EndpointId, TenantScope};
use gancho_store::DeliveryView;

use crate::{input::field::ResourceKind, problem::Problem, route::Call};

pub(crate) const TAG: &str = "Deliveries";

/// The delivery in the path. It must belong to the webhook in the path, if there is one.
async fn find(call: &Call) -> Result<(TenantScope, DeliveryView), Problem> {
    let not_found = || Problem::not_found(ResourceKind::Delivery);
    let id: DeliveryId = call.id("delivery_id")?;
    let scope = match &call.principal {
        Principal::Tenant(principal) => principal.scope(),
        Principal::Operator(operator) => {
            let owner = call.api.store.delivery_owner(id).await?;
            operator.scope_of(owner.ok_or_else(not_found)?)
        }
    };
    let found = call.api.store.delivery(scope, id).await?;
    let view = found.ok_or_else(not_found)?;
    if call.route.path_fields().any(|(_, noun)| noun == ResourceKind::Webhook) {
        let endpoint: EndpointId = call.id("id").map_err(|_| not_found())?;
        if view.row.target != endpoint {
            return Err(not_found());
        }
    }
    Ok((scope, view))
}
