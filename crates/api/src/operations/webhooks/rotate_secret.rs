//! `POST /v1/webhooks/{id}/rotate-secret`: sets a new secret; the old one also signs for a while.

use std::time::Duration;

use gancho_access::Right;
use http::Method;
use serde::Serialize;
use utoipa::ToSchema;

use super::{TAG, view::format_name};
use crate::{
    answer::Answer,
    codes,
    input::{Request, request},
    problem::Problem,
    render::Timestamp,
    route::{Call, Gives, Needs, Route, Takes},
};

/// The new signing secret of a webhook.
#[derive(Serialize, ToSchema)]
pub struct RotatedSecret {
    /// The new secret.
    pub secret: String,
    /// `base64` (the key is the base64 text after `whsec_`), `raw` (the text is the key) or `ed25519`.
    pub secret_format: &'static str,
    /// Public key for receivers (`whpk_…`); null unless `secret_format` is `ed25519`.
    pub public_key: Option<String>,
    /// Until when deliveries are also signed with the previous secret; null without an overlap.
    pub old_secret_until: Option<Timestamp>,
}

request! {
    struct RotateSecretBody {
        /// The new secret. Default: a generated one of the same format.
        optional secret: String as secret(256),
        /// How long deliveries are signed with both secrets. Default: `24h`; at most `7d`; `0s` for no overlap.
        optional overlap: Duration as span(),
    }
}

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/webhooks/{id}/rotate-secret",
    operation_id: "rotateWebhookSecret",
    needs: Needs::Tenant(Right::Manage),
    takes: Takes::Maybe(RotateSecretBody::FIELDS),
    gives: Gives::ok::<RotatedSecret>("The new secret."),
    refuses: &[&codes::CONFLICT, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Rotate a webhook's secret",
    about: "During the overlap, deliveries are signed with the old secret as well, so that receivers can change over without rejecting any.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let principal = call.tenant()?;
    let RotateSecretBody { secret, overlap } = call.parse_body()?;
    let rotated =
        call.api.endpoints.rotate(principal.scope(), call.id("id")?, secret, overlap).await?;
    Answer::ok(&RotatedSecret {
        secret: rotated.secret.to_string(),
        secret_format: format_name(rotated.secret_format),
        public_key: rotated.public_key,
        old_secret_until: rotated.old_until.map(Timestamp),
    })
}
