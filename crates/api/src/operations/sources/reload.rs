//! `POST /v1/_reload`: reloads the settings, the policy pack and the sources of this node.

use http::Method;
use serde::Serialize;
use utoipa::ToSchema;

use super::TAG;
use crate::{
    answer::Answer,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/_reload",
    operation_id: "reloadSources",
    needs: Needs::Operator,
    gives: Gives::ok::<Reloaded>("What is now in force."),
    tag: TAG,
    summary: "Reload settings, policy pack and sources",
    about: "Does what SIGHUP does, on the node that responds: reads the configuration file and the policy pack again, and \
            applies the settings that need no restart. If one of them is invalid, nothing changes.",
    run: |call| Box::pin(std::future::ready(run(&call))),
    ..Route::DEFAULT
};

/// What a reload has changed.
#[derive(Debug, Serialize, ToSchema)]
pub struct Reloaded {
    /// SHA-256 of the policy pack, in hex. Null on a gateway that receives no webhooks.
    pub policy_hash: Option<String>,
    /// Changed settings that are now in force.
    pub applied: Vec<&'static str>,
    /// Changed settings that take effect when the node is restarted.
    pub needs_restart: Vec<&'static str>,
}

fn run(call: &Call) -> Result<Answer, Problem> {
    let loaded = call.api.reloader.as_ref().map(|reloader| reloader.load()).transpose();
    let apply = loaded.map_err(|error| Problem::field("", error))?;
    let mut policy_hash = None;
    if let Some(inbound) = call.api.inbound.as_ref().map(|parts| &parts.inbound) {
        let pack =
            inbound.policy.reload().map_err(|error| Problem::field("", error.to_string()))?;
        inbound.sources.forget();
        policy_hash = Some(pack.hash().to_owned());
    }
    let settings = apply.map(|apply| apply()).unwrap_or_default();
    Answer::ok(&Reloaded {
        policy_hash,
        applied: settings.applied,
        needs_restart: settings.needs_restart,
    })
}
