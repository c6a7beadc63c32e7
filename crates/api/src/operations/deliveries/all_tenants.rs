//! Deliveries of all tenants. Operator only. Those of one event or one webhook are read in its tenant's list.

use gancho_access::Operator;
use gancho_domain::TenantId;
use gancho_store::{DeliveryFilter, Page, PageRequest, TenantRow};

use super::{view::Delivery, waiting_for::WaitContext};
use crate::{codes, problem::Problem, route::Call};

/// Returns a page, newest first, and the position of the next one.
pub(super) async fn page(
    call: &Call,
    operator: &Operator,
    filter: DeliveryFilter,
    request: PageRequest,
) -> Result<(Vec<Delivery>, Option<[u8; 32]>), Problem> {
    if filter.external_id.is_some() {
        let detail = "`external_id` is unique per tenant only; name the tenant with `X-Tenant`";
        return Err(Problem::new(&codes::TENANT_REQUIRED, detail));
    }
    let store = &call.api.reader;
    let owner: Option<TenantId> = match (filter.event, filter.endpoint) {
        (Some(event), _) => match store.event_owner(event).await? {
            Some(owner) => Some(owner),
            None => return Ok((Vec::new(), None)),
        },
        // A webhook that was deleted has no owner any more, and is looked for in the whole list.
        (None, Some(endpoint)) => store.endpoint_owner(endpoint).await?,
        (None, None) => None,
    };
    let found = match owner {
        Some(tenant) => {
            let page = store.deliveries(operator.scope_of(tenant), filter, request).await?;
            let owned = |row| TenantRow { tenant, row };
            Page { rows: page.rows.into_iter().map(owned).collect(), next: page.next }
        }
        None => store.all_deliveries(filter, request).await?,
    };
    let context = WaitContext::new(&call.api);
    let mut data = Vec::with_capacity(found.rows.len());
    for TenantRow { tenant, row } in found.rows {
        let waiting_for = context.on(&call.api, tenant, &row);
        let delivery = Delivery::from(row).waiting(waiting_for);
        // A tenant is looked up in a cache.
        let owner = call.api.access.tenants.get(tenant).await?;
        data.push(match owner {
            Some(owner) => delivery.of_tenant(&owner),
            None => delivery,
        });
    }
    Ok((data, found.next))
}
