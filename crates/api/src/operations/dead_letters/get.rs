//! `GET /v1/dlq/{letter_id}`.

use gancho_access::Right;

use super::{
    TAG, find,
    view::{DeadLetterRow, DeadLetterRows},
};
use crate::{
    answer::Answer,
    route::{Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/dlq/{letter_id}",
    operation_id: "getDeadLetter",
    needs: Needs::Anyone(Right::Read),
    gives: Gives::ok::<DeadLetterRow>("The dead letter."),
    tag: TAG,
    summary: "Get a dead letter",
    run: |call| {
        Box::pin(async move {
            let (_, letter) = find(&call).await?;
            Answer::ok(&DeadLetterRows::new(&call.api).row(letter).await?)
        })
    },
    ..Route::DEFAULT
};
