//! `/v1/api-keys`: the keys of the tenant that the caller acts for.

use gancho_access::Right;
use http::Method;

use super::{
    TAG,
    create::{self, ApiKeyBody},
    list,
    view::{ApiKeyView, NewApiKey},
};
use crate::{
    answer::Answer,
    codes,
    input::{Request, query::Paging},
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route, Takes},
};

pub const LIST: Route = Route {
    path: "/api-keys",
    operation_id: "listApiKeys",
    needs: Needs::Tenant(Right::Read),
    query: Paging::FIELDS,
    gives: Gives::ok::<List<ApiKeyView>>(
        "A page of API keys, oldest first, without their secrets.",
    ),
    tag: TAG,
    summary: "List the tenant's own API keys",
    run: |call| {
        Box::pin(async move {
            let scope = call.tenant()?.scope();
            list::list(&call, scope).await
        })
    },
    ..Route::DEFAULT
};

pub const CREATE: Route = Route {
    method: Method::POST,
    path: "/api-keys",
    operation_id: "createApiKey",
    needs: Needs::Person(Right::Manage),
    takes: Takes::Maybe(ApiKeyBody::FIELDS),
    gives: Gives::created::<NewApiKey>("The new API key. Store it: it is not shown again."),
    refuses: &[&codes::OPERATOR_ONLY, &codes::CONFLICT, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Create an API key for your own tenant",
    about: "A key can have only scopes that the caller has: a portal link has `read` and `manage`, so its keys cannot \
            publish. Default: all scopes of the caller.",
    run: |call| Box::pin(create_own(call)),
    ..Route::DEFAULT
};

pub const REVOKE: Route = Route {
    method: Method::DELETE,
    path: "/api-keys/{key_id}",
    operation_id: "revokeApiKey",
    needs: Needs::Person(Right::Manage),
    gives: Gives::no_content(
        "The key is revoked: on this node at once, on the others within 5 seconds.",
    ),
    refuses: &[&codes::CONFLICT],
    tag: TAG,
    summary: "Revoke an API key of your own tenant",
    about: "Keys with scopes that the caller lacks, such as those that publish, are left to the operator. A revoked key \
            stays in the list for 90 days.",
    run: |call| Box::pin(revoke_own(call)),
    ..Route::DEFAULT
};

async fn create_own(call: Call) -> Result<Answer, Problem> {
    let caller = call.tenant()?.clone();
    create::reject_operator_tenant(caller.tenant())?;
    create::create(&call, caller.scope(), caller.rights()).await
}

async fn revoke_own(call: Call) -> Result<Answer, Problem> {
    let (caller, id) = (call.tenant()?, call.id("key_id")?);
    let (scope, keys) = (caller.scope(), &call.api.access.keys);
    let rights = keys.rights_of(scope, id).await?;
    if let Some(above) =
        Right::ALL.into_iter().find(|right| rights.has(*right) && !caller.rights().has(*right))
    {
        let detail =
            format!("the key has the scope `{above}`, which you lack; the operator can revoke it");
        return Err(Problem::new(&codes::MISSING_SCOPE, detail));
    }
    keys.revoke(scope, id).await?;
    Ok(Answer::no_content())
}
