//! `GET /v1/webhooks`: newest first.

use gancho_access::Right;

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
    needs: Needs::Tenant(Right::Read),
    query: Paging::FIELDS,
    gives: Gives::ok::<List<Webhook>>("A page of webhooks, newest first."),
    tag: TAG,
    summary: "List webhooks",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let principal = call.tenant()?;
    let page = Page::of(&call, Some(principal.scope().tenant()), &call.parse_query()?)?;
    let (after, max) = (page.after_id(), page.max_read());
    let found = call.api.store.newest_endpoints(principal.scope(), after, max).await?;
    let (found, next_cursor) = page.cut(found, |last| last.id.bytes().to_vec());
    let paused = PausedWebhooks::read(&call.api).await?;
    let data = found.iter().map(|one| Webhook::of(&call.api, one, &paused));
    Answer::ok(&List { data: data.collect::<Result<_, _>>()?, next_cursor })
}
