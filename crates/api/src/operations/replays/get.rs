//! `GET /v1/replays/{replay_id}`: a replay and its progress.

use gancho_access::Right;

use super::{TAG, named, owner, view::ReplayJob};
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
    about: "The operator can read the replays of every tenant.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let id = call.id("replay_id")?;
    let replay = call.api.replays.get(owner(&call, id).await?, id).await?;
    let outcomes = call.api.replays.outcomes(&replay).await?;
    Answer::ok(&named(&call, ReplayJob::from(replay).with_outcomes(outcomes)).await?)
}
