//! `POST /v1/webhooks`: creates a webhook, and shows its secret.

use gancho_access::Right;
use http::Method;

use super::{
    TAG,
    draft::WebhookBody,
    view::{NewWebhook, Webhook, format_name},
};
use crate::{
    answer::Answer,
    codes,
    input::Request,
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/webhooks",
    operation_id: "createWebhook",
    needs: Needs::Tenant(Right::Manage),
    takes: Takes::Body(WebhookBody::FIELDS),
    gives: Gives::created::<NewWebhook>(
        "The webhook with its signing secret. Other operations do not show the secret, except `GET /v1/webhooks/{id}/secret`.",
    ),
    refuses: &[&codes::PLAN_LIMIT, &codes::TAKEN, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Create a webhook",
    about: "Only `url` and `events` are required.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let principal = call.tenant()?;
    let draft = call.parse_body::<WebhookBody>()?.draft()?;
    let created = call.api.endpoints.create(principal.scope(), principal.tenant(), draft).await?;
    Answer::created(&NewWebhook {
        webhook: Webhook::of(&call.api, &created.endpoint)?,
        secret: created.secret.to_string(),
        secret_format: format_name(created.secret_format),
        public_key: created.public_key,
    })
}
