//! `GET /v1/webhooks`: newest first.

use gancho_access::{Principal, Right};
use gancho_domain::Endpoint;

use super::{TAG, view::Webhook};
use crate::{
    answer::Answer,
    codes,
    input::{Request, query::Paging, request},
    page::Page,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

request! {
    struct WebhooksQuery {
        flatten paging: Paging,
        /// Only the webhook with this external id.
        optional external_id: String as text(1, 256),
    }
}

pub const ROUTE: Route = Route {
    path: "/webhooks",
    operation_id: "listWebhooks",
    needs: Needs::Anyone(Right::Read),
    query: WebhooksQuery::FIELDS,
    gives: Gives::ok::<List<Webhook>>("A page of webhooks, newest first."),
    refuses: &[&codes::TENANT_REQUIRED],
    tag: TAG,
    summary: "List webhooks",
    about: "The operator without `X-Tenant` sees the webhooks of all tenants, each with its `tenant`, and cannot filter by `external_id`.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let WebhooksQuery { paging, external_id } = call.parse_query()?;
    let page = Page::of(&call, call.owner().tenant(), &paging)?;
    let (found, next_cursor) = if let Some(external_id) = external_id {
        (find(&call, &external_id).await?, None)
    } else {
        let (after, max) = (page.after_id(), page.max_read());
        let store = &call.api.store;
        let found = match &call.principal {
            Principal::Tenant(principal) => {
                store.newest_endpoints(principal.scope(), after, max).await?
            }
            Principal::Operator(_) => store.all_endpoints(after, max).await?,
        };
        page.cut(found, |last| last.id.bytes().to_vec())
    };
    let mut data = Vec::with_capacity(found.len());
    for one in &found {
        let mut webhook = Webhook::of(&call.api, one)?;
        if matches!(call.principal, Principal::Operator(_)) {
            let owner = call.api.access.tenants.get(one.tenant).await?;
            webhook.tenant = owner.map(|owner| owner.slug.clone());
        }
        data.push(webhook);
    }
    Answer::ok(&List { data, next_cursor })
}

/// The one with this external id, or none.
async fn find(call: &Call, external_id: &str) -> Result<Vec<Endpoint>, Problem> {
    let Principal::Tenant(principal) = &call.principal else {
        let detail = "`external_id` is unique per tenant only; name the tenant with `X-Tenant`";
        return Err(Problem::new(&codes::TENANT_REQUIRED, detail));
    };
    let found = call.api.store.endpoint_by_external_id(principal.scope(), external_id).await?;
    Ok(found.into_iter().collect())
}
