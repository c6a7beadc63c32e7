//! `POST /v1/suppressions`: suppresses an address. An existing entry is kept, unless the new reason is a
//! complaint.

use gancho_access::Right;
use gancho_mail::Mailbox;
use http::Method;

use super::{ReasonBody, TAG, view::Suppression};
use crate::{
    answer::Answer,
    codes,
    input::{Request, request},
    operations::emails,
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

request! {
    struct SuppressionBody {
        /// E-mail address, e.g. `ana@example.com`.
        required address: String as text(1, 600),
        flatten reason: ReasonBody,
    }
}

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/suppressions",
    operation_id: "addSuppression",
    needs: Needs::Tenant(Right::Manage),
    takes: Takes::Body(SuppressionBody::FIELDS),
    gives: Gives::created::<Suppression>("The suppression."),
    refuses: &[&codes::EMAIL_OFF, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Suppress an address",
    about: "E-mails to a suppressed address are accepted and fail immediately, with `COMPLAINT` or `BOUNCE_PERMANENT`.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let scope = call.tenant()?.scope();
    let body: SuppressionBody = call.parse_body()?;
    let mailbox: Mailbox = body.address.parse().map_err(|why| {
        Problem::field("/address", format!("`address` is not a valid e-mail address: {why}"))
    })?;
    let list = &emails::mail(&call.api)?.suppressions;
    list.add(scope, &mailbox, body.reason.reason(), None).await?;
    let suppression = list.get(scope, &mailbox).await?;
    let suppression = suppression.ok_or_else(|| Problem::internal("new suppression not found"))?;
    Answer::created(&Suppression::from(suppression))
}
