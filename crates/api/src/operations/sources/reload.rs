//! `POST /v1/_reload`: reloads the policy pack and the sources.

use http::Method;
use serde::Serialize;
use utoipa::ToSchema;

use super::{TAG, inbound};
use crate::{
    answer::Answer,
    codes,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/_reload",
    operation_id: "reloadSources",
    needs: Needs::Operator,
    gives: Gives::ok::<Reloaded>("The policy pack that is now in force."),
    refuses: &[&codes::RECEIVING_OFF],
    tag: TAG,
    summary: "Reload the policy pack and sources",
    about: "An invalid policy pack is refused, and the current one stays in force.",
    run: |call| Box::pin(std::future::ready(run(&call))),
    ..Route::DEFAULT
};

#[derive(Debug, Serialize, ToSchema)]
pub struct Reloaded {
    /// SHA-256 of the policy pack, in hex.
    pub policy_hash: String,
}

fn run(call: &Call) -> Result<Answer, Problem> {
    let inbound = &inbound(call)?.inbound;
    let pack = inbound.policy.reload().map_err(|error| Problem::field("", error.to_string()))?;
    inbound.sources.forget();
    Answer::ok(&Reloaded { policy_hash: pack.hash().to_owned() })
}
