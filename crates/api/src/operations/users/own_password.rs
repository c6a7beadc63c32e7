//! `POST /v1/me/password`: a user changes the own password.

use gancho_access::{ThrottleKey, UserError};
use gancho_vault::Secret;
use http::Method;

use super::TAG;
use crate::{
    answer::Answer,
    codes,
    input::{Request, request},
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

request! {
    struct OwnPasswordBody {
        /// Your current password.
        required current_password: String as secret(256),
        /// Your new password, at least 12 characters.
        required password: String as secret(256),
    }
}

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/me/password",
    operation_id: "changeOwnPassword",
    needs: Needs::Operator,
    takes: Takes::Body(OwnPasswordBody::FIELDS),
    gives: Gives::no_content("The password is changed."),
    refuses: &[&codes::CONFLICT, &codes::TOO_MANY_FAILURES],
    tag: TAG,
    summary: "Change your own password",
    about: "For users who are logged in to the dashboard. All their sessions end.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let OwnPasswordBody { current_password, password } = call.parse_body()?;
    let operator = call.operator()?;
    let name = operator.user().ok_or_else(|| {
        let detail = "the operator token has no password; it is a setting of the gateway";
        Problem::new(&codes::CONFLICT, detail)
    })?;
    // Someone at an unattended screen must not guess on.
    let account = ThrottleKey::account(name);
    call.api.account_throttle.admit(account, "").await?;
    let (current, new) = (Secret::new(current_password), Secret::new(password));
    let changed = call.api.access.users.change_own_password(name, current, new).await;
    if changed == Err(UserError::WrongPassword) {
        call.api.account_throttle.fail(account);
    }
    changed?;
    Ok(Answer::no_content())
}
