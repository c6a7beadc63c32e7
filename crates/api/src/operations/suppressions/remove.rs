//! `DELETE /v1/suppressions/{address}`: removes an address, so that e-mails are sent to it again.

use gancho_access::Right;
use gancho_mail::Mailbox;
use http::Method;

use super::TAG;
use crate::{
    answer::Answer,
    codes,
    input::field::ResourceKind,
    operations::emails,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    method: Method::DELETE,
    path: "/suppressions/{address}",
    operation_id: "removeSuppression",
    needs: Needs::Tenant(Right::Manage),
    gives: Gives::no_content("The address is no longer suppressed."),
    refuses: &[&codes::EMAIL_OFF],
    tag: TAG,
    summary: "Remove a suppressed address",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let scope = call.tenant()?.scope();
    let mailbox: Mailbox = call.id("address")?;
    let list = &emails::mail(&call.api)?.suppressions;
    if list.remove(scope, &mailbox).await? {
        Ok(Answer::no_content())
    } else {
        Err(Problem::not_found(ResourceKind::Suppression))
    }
}
