//! `GET /v1/replays/{replay_id}`: a replay and its progress.

use gancho_access::Right;

use super::{TAG, view::ReplayJob};
use crate::{
    answer::Answer,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/replays/{replay_id}",
    operation_id: "getReplay",
    needs: Needs::Anyone(Right::Read),
    gives: Gives::ok::<ReplayJob>("The replay and its progress."),
    tag: TAG,
    summary: "Get a replay",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let replay = call.api.replays.get(call.owner(), call.id("replay_id")?).await?;
    let outcomes = call.api.replays.outcomes(&replay).await?;
    Answer::ok(&ReplayJob::from(replay).with_outcomes(outcomes))
}
