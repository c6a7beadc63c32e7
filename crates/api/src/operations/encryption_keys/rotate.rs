//! `POST /v1/keys/rotate`: creates a key, and re-encrypts all secrets with it.

use http::Method;
use serde::Serialize;
use utoipa::ToSchema;

use super::{TAG, list::unavailable};
use crate::{
    answer::Answer,
    codes,
    input::{Request, request},
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

/// Result of a rotation of the encryption key.
#[derive(Debug, Serialize, ToSchema)]
pub struct KeyRotation {
    /// Number of the key that encrypts new secrets from now on.
    pub newest: u32,
    /// Number of stored secrets that were re-encrypted.
    pub resealed: u64,
    /// Numbers of all keys in the key ring.
    pub keys: Vec<u32>,
}

request! {
    struct RotateBody {
        /// `false`: create no new key, only re-encrypt secrets that use an older key. Default: `true`.
        optional new_key: bool as flag(),
    }
}

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/keys/rotate",
    operation_id: "rotateEncryptionKeys",
    needs: Needs::Operator,
    takes: Takes::Maybe(RotateBody::FIELDS),
    gives: Gives::ok::<KeyRotation>("The result of the rotation."),
    refuses: &[&codes::CONFLICT, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Rotate the encryption key",
    about: "Creates a new key and re-encrypts all stored secrets with it. If the operation is interrupted, call it again with `new_key: false`.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let new_key = call.parse_body::<RotateBody>()?.new_key.unwrap_or(true);
    let key_ring = call.api.key_ring.as_ref().ok_or_else(unavailable)?;
    let rotation = key_ring.rotate(new_key).await.map_err(Problem::internal)?;
    Answer::ok(&KeyRotation {
        newest: rotation.newest,
        resealed: rotation.resealed,
        keys: rotation.keys,
    })
}
