//! `GET /v1/webhooks`: newest first.

use gancho_access::{Principal, Right};

use super::{
    TAG,
    view::{PausedWebhooks, Webhook},
};
use crate::{
    answer::Answer,
    input::{Request, query::Paging},
    page::Page,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/webhooks",
    operation_id: "listWebhooks",
    needs: Needs::Anyone(Right::Read),
    query: Paging::FIELDS,
    gives: Gives::ok::<List<Webhook>>("A page of webhooks, newest first."),
    tag: TAG,
    summary: "List webhooks",
    about: "The operator without `X-Tenant` sees the webhooks of all tenants, each with its `tenant`.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let page = Page::of(&call, call.owner().tenant(), &call.parse_query()?)?;
    let (after, max) = (page.after_id(), page.max_read());
    let store = &call.api.store;
    let found = match &call.principal {
        Principal::Tenant(principal) => {
            store.newest_endpoints(principal.scope(), after, max).await?
        }
        Principal::Operator(_) => store.all_endpoints(after, max).await?,
    };
    let (found, next_cursor) = page.cut(found, |last| last.id.bytes().to_vec());
    let paused = PausedWebhooks::read(&call.api).await?;
    let mut data = Vec::with_capacity(found.len());
    for one in &found {
        let mut webhook = Webhook::of(&call.api, one, &paused)?;
        if matches!(call.principal, Principal::Operator(_)) {
            let owner = call.api.access.tenants.get(one.tenant).await?;
            webhook.tenant = owner.map(|owner| owner.slug.clone());
        }
        data.push(webhook);
    }
    Answer::ok(&List { data, next_cursor })
}
