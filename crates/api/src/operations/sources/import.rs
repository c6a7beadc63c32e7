//! `POST /v1/source-keys/import`: keys as a key-value store holds them.

use http::Method;
use serde::Serialize;
use utoipa::ToSchema;

use super::{TAG, parts};
use crate::{
    answer::Answer,
    codes,
    input::{Field, Kind},
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/source-keys/import",
    needs: Needs::Operator,
    takes: Takes::Batch(FIELDS),
    gives: Gives::ok::<ImportedKeys>("How many there were."),
    refuses: &[&codes::RECEIVING_OFF, &codes::CONFLICT, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Import keys of many partners",
    about: "Sources that are not there yet are made. What is faulty is told before anything is written.",
    run: |call| Box::pin(run(call)),
    ..Route::PLAIN
};

const FIELDS: &[Field] = &[Field::new(
    "entries",
    Kind::Json,
    "`{\"webhook:partner:<name>:key:<id>\": {\"scheme\": \"hmac\", \"secret\": \"…\"}, …}`, or the list of `{\"key\": …, \"value\": …}` of an export.",
)
.required()];

#[derive(Debug, Serialize, ToSchema)]
pub struct ImportedKeys {
    /// Sources that were made.
    pub sources: usize,
    /// Keys that were put.
    pub keys: usize,
}

async fn run(call: Call) -> Result<Answer, Problem> {
    let values = call.values()?;
    let entries = values.json("entries").unwrap_or_default();
    let done = parts(&call)?.desk.import(entries).await.map_err(Problem::from);
    let done = done.map_err(|problem| problem.below("/entries"))?;
    Answer::ok(&ImportedKeys { sources: done.sources, keys: done.keys })
}
