//! `GET /v1/deliveries` and `GET /v1/webhooks/{id}/deliveries`: newest first.

use gancho_access::Right;
use gancho_domain::{EndpointId, Lane};

use super::{
    TAG,
    select::{DeliveryFilterQuery, DeliverySelection, ResolvedSelection},
    view::Delivery,
};
use crate::{
    answer::Answer,
    codes,
    input::{Request, field::ResourceKind, query::Paging, request},
    page::Page,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

request! {
    struct WebhookDeliveriesQuery {
        flatten page: Paging,
        flatten filter: DeliveryFilterQuery,
    }
}

request! {
    struct DeliveriesQuery {
        flatten page: Paging,
        flatten of: DeliverySelection,
    }
}

pub const ROUTE: Route = Route {
    path: "/deliveries",
    operation_id: "listDeliveries",
    needs: Needs::Anyone(Right::Read),
    query: DeliveriesQuery::FIELDS,
    refuses: &[&codes::TENANT_REQUIRED, &codes::NOT_FOUND, &codes::RECEIVING_OFF],
    gives: Gives::ok::<List<Delivery>>("A page of deliveries, newest first."),
    tag: TAG,
    summary: "List deliveries",
    about: "Lists webhook deliveries unless `lane` says otherwise. The operator without `X-Tenant` sees those of all tenants, each with its `tenant`, and cannot filter by `external_id`. Deliveries of receipts are visible to the operator only, with `lane=dispatch` and without `X-Tenant`. A page scans a limited number of deliveries, so with a filter it may have fewer items than `limit`, even none: continue until `next_cursor` is null. With `external_id`, deliveries are ordered by event, newest first.",
    run: |call| {
        Box::pin(async move {
            let query: DeliveriesQuery = call.parse_query()?;
            list(&call, &query.page, &query.of.resolve()?).await
        })
    },
    ..Route::DEFAULT
};

pub const OF_WEBHOOK: Route = Route {
    path: "/webhooks/{id}/deliveries",
    operation_id: "listWebhookDeliveries",
    needs: Needs::Tenant(Right::Read),
    query: WebhookDeliveriesQuery::FIELDS,
    gives: Gives::ok::<List<Delivery>>("A page of deliveries, newest first."),
    tag: TAG,
    summary: "List a webhook's deliveries",
    about: "A page scans a limited number of deliveries, so with a filter it may have fewer items than `limit`, even none: continue until `next_cursor` is null.",
    run: |call| {
        Box::pin(async move {
            let id: EndpointId = call.id("id")?;
            let found = call.api.store.endpoint(call.tenant()?.scope(), id).await?;
            found.ok_or_else(|| Problem::not_found(ResourceKind::Webhook))?;
            let query: WebhookDeliveriesQuery = call.parse_query()?;
            let selected = ResolvedSelection::new(query.filter, Some(id), Lane::Webhook, None)?;
            list(&call, &query.page, &selected).await
        })
    },
    ..Route::DEFAULT
};

async fn list(
    call: &Call,
    paging: &Paging,
    selected: &ResolvedSelection,
) -> Result<Answer, Problem> {
    let page = Page::below(call, call.owner().tenant(), Some(call.path_param("id")), paging)?;
    let (data, next) = selected.page(call, page.request()?).await?;
    page.answer(data, next)
}
