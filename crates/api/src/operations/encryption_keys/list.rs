//! `GET /v1/keys`: the keys, and how many secrets each encrypts.

use serde::Serialize;
use utoipa::ToSchema;

use super::TAG;
use crate::{
    answer::Answer,
    codes,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

/// The keys that encrypt stored secrets. The keys themselves are never shown.
#[derive(Debug, Serialize, ToSchema)]
pub struct SealingKeys {
    /// The keys, by number.
    pub keys: Vec<SealingKey>,
}

/// A key that encrypts stored secrets.
#[derive(Debug, Serialize, ToSchema)]
pub struct SealingKey {
    /// Number of the key.
    pub number: u32,
    /// Number of stored secrets that are encrypted with this key.
    pub records: u64,
}

pub const ROUTE: Route = Route {
    path: "/keys",
    operation_id: "listEncryptionKeys",
    needs: Needs::Operator,
    gives: Gives::ok::<SealingKeys>("The key numbers. The keys themselves are never shown."),
    refuses: &[&codes::CONFLICT],
    tag: TAG,
    summary: "List encryption keys",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let key_ring = call.api.key_ring.as_ref().ok_or_else(unavailable)?;
    let keys = key_ring.keys().await.map_err(Problem::internal)?;
    let keys = keys.into_iter().map(|key| SealingKey { number: key.number, records: key.records });
    Answer::ok(&SealingKeys { keys: keys.collect() })
}

pub(super) fn unavailable() -> Problem {
    Problem::new(
        &codes::CONFLICT,
        "this node does not manage the key ring file; rotate the key on the node that does",
    )
}
