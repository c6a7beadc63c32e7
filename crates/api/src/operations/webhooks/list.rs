//! `GET /v1/webhooks`: a tenant's, newest first.

use gancho_access::Right;
use gancho_domain::EndpointId;

use super::{
    TAG,
    view::{PausedWebhooks, Webhook},
};
use crate::{
    answer::Answer,
    cursor::Pages,
    input::query::{CURSOR, LIMIT, ROWS},
    problem::Problem,
    route::{Call, Gives, Needs, Route},
    show::List,
};

pub const ROUTE: Route = Route {
    path: "/webhooks",
    needs: Needs::Tenant(Right::Read),
    query: &[LIMIT, CURSOR],
    gives: Gives::ok::<List<Webhook>>("A page of them, newest first."),
    tag: TAG,
    summary: "List webhooks",
    run: |call| Box::pin(run(call)),
    ..Route::PLAIN
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let acting = call.tenant()?;
    let pages = Pages::of(call.route.path, Some(acting.scope().tenant()), &call.query);
    let after = call.api.cursors.position(&pages, &call.query)?;
    let after = after.and_then(|bytes| bytes.try_into().ok()).map(EndpointId::from_bytes);
    let most = call.query.count("limit").unwrap_or(ROWS) as usize;

    let found = call.api.store.newest_endpoints(acting.scope(), after, most + 1).await?;
    let shown = &found[..found.len().min(most)];
    let next = shown.last().filter(|_| found.len() > most);
    let paused = PausedWebhooks::read(&call.api).await?;
    let data = shown.iter().map(|one| Webhook::of(&call.api, one, &paused));
    Answer::ok(&List {
        data: data.collect::<Result<_, _>>()?,
        next_cursor: next.map(|last| call.api.cursors.seal(&pages, &last.id.bytes())),
    })
}
