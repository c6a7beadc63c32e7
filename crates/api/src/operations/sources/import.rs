//! `POST /v1/source-keys/import`: imports keys from the export of a key-value store.

use http::Method;
use serde::Serialize;
use utoipa::ToSchema;

use super::{TAG, inbound};
use crate::{
    answer::Answer,
    codes,
    input::{Request, request},
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/source-keys/import",
    operation_id: "importSourceKeys",
    needs: Needs::Operator,
    takes: Takes::Batch(ImportBody::FIELDS),
    gives: Gives::ok::<ImportedKeys>("The numbers of created sources and imported keys."),
    refuses: &[&codes::RECEIVING_OFF, &codes::CONFLICT, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Import keys of many partners",
    about: "Creates missing sources. All entries are validated first; if one is invalid, nothing is imported.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

request! {
    struct ImportBody<'a> {
        /// `{"webhook:partner:<name>:key:<id>": {"scheme": "hmac", "secret": "…"}, …}`, or an exported array of
        /// `{"key": …, "value": …}`.
        required entries: &'a str as json(),
    }
}

/// Result of an import of keys.
#[derive(Debug, Serialize, ToSchema)]
pub struct ImportedKeys {
    /// Number of sources that were created.
    pub sources: usize,
    /// Number of keys that were imported.
    pub keys: usize,
}

async fn run(call: Call) -> Result<Answer, Problem> {
    let ImportBody { entries } = call.parse_body()?;
    let done = inbound(&call)?.sources.import(entries).await.map_err(Problem::from);
    let done = done.map_err(|problem| problem.below("/entries"))?;
    Answer::ok(&ImportedKeys { sources: done.sources, keys: done.keys })
}
