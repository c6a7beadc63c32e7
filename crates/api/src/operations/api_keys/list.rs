//! `GET /v1/tenants/{tenant}/api-keys`: oldest first, including revoked keys.

use gancho_domain::TenantScope;

use super::{TAG, view::ApiKeyView};
use crate::{
    answer::Answer,
    codes,
    input::{Request, query::Paging},
    operations::tenants,
    page::Page,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/tenants/{tenant}/api-keys",
    operation_id: "listTenantApiKeys",
    needs: Needs::Operator,
    query: Paging::FIELDS,
    gives: Gives::ok::<List<ApiKeyView>>(
        "A page of API keys, oldest first, without their secrets.",
    ),
    refuses: &[&codes::UNKNOWN_TENANT],
    tag: TAG,
    summary: "List API keys",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let tenant = tenants::find(&call).await?;
    let scope = call.operator()?.act_for(tenant).scope();
    list(&call, scope).await
}

pub(super) async fn list(call: &Call, scope: TenantScope) -> Result<Answer, Problem> {
    let page = Page::of(call, Some(scope.tenant()), &call.parse_query()?)?;
    let keys = call.api.access.keys.list(scope, page.after_name(), page.max_read()).await?;
    let (keys, next_cursor) = page.cut(keys, |last| last.key.id.to_string().into_bytes());
    let data = keys.iter().map(|one| ApiKeyView::of(&one.key, one.last_used_at)).collect();
    Answer::ok(&List { data, next_cursor })
}
