//! `DELETE /v1/tenants/{tenant}/api-keys/{key_id}`: at once here, within seconds on every node.

use gancho_store::{Expect, Shelf};
use http::Method;

use super::TAG;
use crate::{
    answer::Answer,
    auth::{ApiKey, KeyId, api_key::SHELF},
    codes,
    input::field::Noun,
    operations::tenants,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    method: Method::DELETE,
    path: "/tenants/{tenant}/api-keys/{key_id}",
    needs: Needs::Operator,
    gives: Gives::nothing("It is no longer good: here at once, on other nodes within 5 seconds."),
    refuses: &[&codes::UNKNOWN_TENANT, &codes::CONFLICT],
    tag: TAG,
    summary: "Revoke an API key",
    about: "It stays in the list for 90 days, marked as revoked.",
    run: |call| Box::pin(run(call)),
    ..Route::PLAIN
};

const TRIES: usize = 5;

async fn run(call: Call) -> Result<Answer, Problem> {
    let tenant = tenants::find(&call).await?;
    let id: KeyId = call.id("key_id")?;
    let shelf = Shelf::of(call.operator()?.act_for(tenant).scope(), SHELF);
    for _ in 0..TRIES {
        let found = call.api.store.record(shelf, &id.to_string()).await?;
        let record = found.ok_or_else(|| Problem::not_found(Noun::ApiKey))?;
        let mut key = ApiKey::of_record(&record)?;
        if key.revoked_at.is_some() {
            return Ok(Answer::nothing());
        }
        key.revoked_at = Some(call.api.clock.now());
        let expect = Expect::Version(record.version);
        let written = key.put(&*call.api.store, shelf, expect).await?;
        call.api.keys.forget(id);
        if written.is_some() {
            tracing::info!(key = %id, "an API key was revoked");
            return Ok(Answer::nothing());
        }
    }
    Err(Problem::new(&codes::CONFLICT, "the key kept being changed by others: try again"))
}
