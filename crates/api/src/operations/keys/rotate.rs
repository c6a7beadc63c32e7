//! `POST /v1/keys/rotate`: a new key, and everything sealed with it.

use http::Method;
use serde::Serialize;
use utoipa::ToSchema;

use super::{TAG, list::no_keeper};
use crate::{
    answer::Answer,
    codes,
    input::{Field, Kind},
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

#[derive(Debug, Serialize, ToSchema)]
pub struct KeyRotation {
    /// The number of the key that seals from now on.
    pub newest: u32,
    /// How many records were sealed anew.
    pub resealed: u64,
    pub keys: Vec<u32>,
}

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/keys/rotate",
    needs: Needs::Operator,
    takes: Takes::Maybe(&[Field::new(
        "new_key",
        Kind::Flag,
        "`false`: make none, and only seal with the newest what is not.",
    )]),
    gives: Gives::ok::<KeyRotation>("How it went."),
    refuses: &[&codes::CONFLICT, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Rotate the sealing key",
    about: "Stopping in between is safe: call it again with `new_key` false.",
    run: |call| Box::pin(run(call)),
    ..Route::PLAIN
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let new_key = call.values()?.flag("new_key").unwrap_or(true);
    let keeper = call.api.key_keeper.as_ref().ok_or_else(no_keeper)?;
    let rotation = keeper.rotate(new_key).await.map_err(Problem::internal)?;
    Answer::ok(&KeyRotation {
        newest: rotation.newest,
        resealed: rotation.resealed,
        keys: rotation.keys,
    })
}
