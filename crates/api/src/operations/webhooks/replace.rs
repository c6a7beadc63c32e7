//! `PUT /v1/webhooks/{id}`: fields that are left out are reset, except the secret and the external id.

use gancho_access::Right;
use http::Method;

use super::{TAG, change::change, draft::WebhookBody, view::Webhook};
use crate::{
    codes,
    input::Request,
    route::{Gives, Needs, Route, Takes},
};

pub const ROUTE: Route = Route {
    method: Method::PUT,
    path: "/webhooks/{id}",
    operation_id: "replaceWebhook",
    needs: Needs::Tenant(Right::Manage),
    takes: Takes::Body(WebhookBody::FIELDS),
    gives: Gives::ok::<Webhook>("The updated webhook."),
    refuses: &[&codes::CONFLICT, &codes::TAKEN, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Replace a webhook",
    about: "Fields that are left out are reset to their defaults, except the secret and `external_id`, which change only if given.",
    run: |call| {
        Box::pin(async move {
            let draft = call.parse_body::<WebhookBody>()?.draft()?;
            change(&call, draft, true).await
        })
    },
    ..Route::DEFAULT
};
