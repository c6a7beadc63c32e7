//! `PUT /v1/webhooks/{id}`: what is not given goes back to what a new one has, but for the secret.

use http::Method;

use super::{
    TAG,
    draft::{self, draft},
    view::Webhook,
};
use crate::{
    answer::Answer,
    auth::Right,
    codes,
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

pub const ROUTE: Route = Route {
    method: Method::PUT,
    path: "/webhooks/{id}",
    needs: Needs::Tenant(Right::Manage),
    takes: Takes::Body(draft::WHOLE),
    gives: Gives::ok::<Webhook>("The webhook as it is now."),
    refuses: &[&codes::CONFLICT, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Replace a webhook",
    about: "What is left out goes back to what a new webhook has, except the secret, which changes only when given.",
    run: |call| Box::pin(run(call)),
    ..Route::PLAIN
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let acting = call.tenant()?;
    let id = call.id("id")?;
    let draft = draft(&call.values()?)?;
    let endpoint = call.api.endpoints.change(acting.scope(), id, draft, true).await?;
    Answer::ok(&Webhook::of(&call.api, &endpoint)?)
}
