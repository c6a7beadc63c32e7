//! `DELETE /v1/dlq/{letter_id}` and `DELETE /v1/dlq`: deletes dead letters. The deliveries stay in the
//! delivery log as failed.

use gancho_access::Right;
use http::Method;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    TAG,
    filter::{self, DeadLetterFilter},
    find,
};
use crate::{
    answer::Answer,
    codes,
    input::{Request, request},
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

/// Result of a purge.
#[derive(Debug, Serialize, ToSchema)]
pub struct Purged {
    /// Number of dead letters that were deleted; with `dry_run`, that would be.
    pub purged: u64,
    /// Whether more dead letters match the filters; if so, call again.
    pub has_more: bool,
}

request! {
    struct PurgeQuery {
        flatten filter: DeadLetterFilter,
        /// `true` to delete all dead letters. Required if no filter is given.
        optional all: bool as flag(),
        /// `true` to count what would be deleted, without deleting it.
        optional dry_run: bool as flag(),
    }
}

pub const ONE: Route = Route {
    method: Method::DELETE,
    path: "/dlq/{letter_id}",
    operation_id: "deleteDeadLetter",
    needs: Needs::Anyone(Right::Manage),
    gives: Gives::no_content(
        "The dead letter is deleted. The delivery stays in the delivery log as failed.",
    ),
    tag: TAG,
    summary: "Delete a dead letter",
    run: |call| {
        Box::pin(async move {
            let (filter, _) = find(&call).await?;
            call.api.store.purge_dead(filter, 1).await?;
            Ok(Answer::no_content())
        })
    },
    ..Route::DEFAULT
};

pub const ROUTE: Route = Route {
    method: Method::DELETE,
    path: "/dlq",
    operation_id: "purgeDeadLetters",
    needs: Needs::Anyone(Right::Manage),
    query: PurgeQuery::FIELDS,
    gives: Gives::ok::<Purged>("The number of deleted dead letters."),
    refuses: &[&codes::MISSING_FIELD, &codes::NOT_FOUND, &codes::RECEIVING_OFF],
    tag: TAG,
    summary: "Purge dead letters",
    about: "Deletes the dead letters that match the filters, at most 10,000 per call. Without a filter, `all=true` is required. With `dry_run=true`, counts them all and deletes none.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

/// Maximum per step of the store, so that no other writer waits long.
const MAX_PER_STEP: usize = 250;
/// Maximum per call.
const MAX_PER_CALL: u64 = 10_000;

async fn run(call: Call) -> Result<Answer, Problem> {
    let query: PurgeQuery = call.parse_query()?;
    if query.filter.is_empty() && query.all != Some(true) {
        return Err(Problem::new(
            &codes::MISSING_FIELD,
            "no filter given; add one, or `all=true` to delete all dead letters",
        ));
    }
    let filter = filter::filter(&call, query.filter).await?;
    if query.dry_run == Some(true) {
        let purged = call.api.store.dead_stats(filter).await?.total;
        return Ok(Answer::ok(&Purged { purged, has_more: false })?.of_dry_run());
    }
    let mut purged = 0;
    loop {
        let step = call.api.store.purge_dead(filter.clone(), MAX_PER_STEP).await?;
        purged += step;
        let has_more = step == MAX_PER_STEP as u64;
        if !has_more || purged >= MAX_PER_CALL {
            let answer = Answer::ok(&Purged { purged, has_more })?;
            let answer = answer.naming(format!("{purged} dead letters"));
            return Ok(match filter.tenant {
                Some(tenant) => answer.about(tenant),
                None => answer,
            });
        }
    }
}
