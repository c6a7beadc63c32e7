//! `POST /v1/replays/{replay_id}/cancel`: stops the job. What was sent stays sent.

use gancho_access::Right;
use http::Method;

use super::{TAG, named, owner, view::ReplayJob};
use crate::{
    answer::Answer,
    codes,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/replays/{replay_id}/cancel",
    operation_id: "cancelReplay",
    needs: Needs::Anyone(Right::Manage),
    gives: Gives::ok::<ReplayJob>(
        "The canceled replay. Deliveries that were already sent again are not undone.",
    ),
    refuses: &[&codes::CONFLICT],
    tag: TAG,
    summary: "Cancel a replay",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let id = call.id("replay_id")?;
    let replay = call.api.replays.cancel(owner(&call, id).await?, id).await?;
    Answer::ok(&named(&call, ReplayJob::from(replay)).await?)
}
