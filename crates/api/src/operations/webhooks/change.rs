//! `PATCH /v1/webhooks/{id}`: fields that are left out keep their value.

use gancho_access::Right;
use gancho_outbound::EndpointDraft;
use http::Method;

use super::{TAG, draft::WebhookPatch, view::Webhook};
use crate::{
    answer::Answer,
    codes,
    input::Request,
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

pub const ROUTE: Route = Route {
    method: Method::PATCH,
    path: "/webhooks/{id}",
    operation_id: "updateWebhook",
    needs: Needs::Tenant(Right::Manage),
    takes: Takes::Body(WebhookPatch::FIELDS),
    gives: Gives::ok::<Webhook>("The updated webhook."),
    refuses: &[&codes::CONFLICT, &codes::TAKEN, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Update a webhook",
    about: "Fields that are left out keep their value; `null` resets a setting to the profile's default.",
    run: |call| {
        Box::pin(async move {
            let draft = call.parse_body::<WebhookPatch>()?.draft()?;
            change(&call, draft, false).await
        })
    },
    ..Route::DEFAULT
};

/// With `whole`, fields that are left out are reset to their defaults.
pub(super) async fn change(
    call: &Call,
    draft: EndpointDraft,
    whole: bool,
) -> Result<Answer, Problem> {
    let principal = call.tenant()?;
    let id = call.id("id")?;
    let endpoint = call.api.endpoints.change(principal.scope(), id, draft, whole).await?;
    Answer::ok(&Webhook::of(&call.api, &endpoint)?)
}
