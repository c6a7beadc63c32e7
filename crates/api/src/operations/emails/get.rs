//! `GET /v1/emails/{outbox_id}`: an e-mail and its status.

use gancho_access::Right;

use super::{TAG, view::Email};
use crate::{
    answer::Answer,
    codes,
    input::field::ResourceKind,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/emails/{outbox_id}",
    operation_id: "getEmail",
    needs: Needs::Tenant(Right::Read),
    gives: Gives::ok::<Email>("The e-mail with all delivery attempts."),
    refuses: &[&codes::EMAIL_OFF],
    tag: TAG,
    summary: "Get an e-mail",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let (principal, id) = (call.tenant()?, call.id("outbox_id")?);
    let found = super::mail(&call.api)?.outbox.email(principal.scope(), id).await?;
    let view = found.ok_or_else(|| Problem::not_found(ResourceKind::Email))?;
    Answer::ok(&Email::from(view))
}
