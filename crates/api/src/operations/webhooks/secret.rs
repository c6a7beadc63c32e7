//! `GET /v1/webhooks/{id}/secret`: reveals the secret to callers who could change it anyway.

use gancho_access::Right;
use serde::Serialize;
use utoipa::ToSchema;

use super::{TAG, view::format_name};
use crate::{
    answer::Answer,
    problem::Problem,
    render::Timestamp,
    route::{Call, Gives, Needs, Route},
};

/// The signing secret of a webhook.
#[derive(Serialize, ToSchema)]
pub struct WebhookSecret {
    /// The current secret.
    pub secret: String,
    /// `base64` (the key is the base64 text after `whsec_`), `raw` (the text is the key) or `ed25519`.
    pub secret_format: &'static str,
    /// Public key for receivers (`whpk_…`); null unless `secret_format` is `ed25519`.
    pub public_key: Option<String>,
    /// Until when deliveries are also signed with each of the previous secrets, newest first; empty if there are none.
    pub old_secrets_until: Vec<Timestamp>,
}

pub const ROUTE: Route = Route {
    path: "/webhooks/{id}/secret",
    operation_id: "getWebhookSecret",
    needs: Needs::Tenant(Right::Manage),
    gives: Gives::ok::<WebhookSecret>("The current signing secret."),
    tag: TAG,
    summary: "Reveal a webhook's secret",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let principal = call.tenant()?;
    let id = call.id("id")?;
    let revealed = call.api.endpoints.reveal(principal.scope(), id).await?;
    tracing::info!(tenant = %principal.scope().tenant(), endpoint = %id, "webhook secret revealed");
    Answer::ok(&WebhookSecret {
        secret: revealed.secret.to_string(),
        secret_format: format_name(revealed.secret_format),
        public_key: revealed.public_key,
        old_secrets_until: revealed.old_until.into_iter().map(Timestamp).collect(),
    })
}
