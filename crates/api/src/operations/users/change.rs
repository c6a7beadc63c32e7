//! `PATCH /v1/users/{user}`: another role, a new password, or both. The sessions of the user end.

use gancho_access::{Role, UserChange};
use gancho_vault::Secret;
use http::Method;

use super::{TAG, view::UserView};
use crate::{
    answer::Answer,
    codes,
    input::{Request, request},
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

request! {
    struct UserBody {
        /// What the user may do: `read_only` reads everything but secrets; `support` also retries, replays, tests,
        /// pauses and resumes; `operator` does everything.
        optional role: Role as choice(Role::NAMES),
        /// A new password: at least 12 characters. Never returned.
        optional password: String as secret(256),
    }
}

pub const ROUTE: Route = Route {
    method: Method::PATCH,
    path: "/users/{user}",
    operation_id: "updateUser",
    needs: Needs::Operator,
    takes: Takes::Body(UserBody::FIELDS),
    gives: Gives::ok::<UserView>("The updated user."),
    refuses: &[&codes::CONFLICT, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Update a user",
    about: "Fields that are left out keep their value. The sessions of the user end: on this node at once, on the others within 5 seconds.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let UserBody { role, password } = call.parse_body()?;
    let change = UserChange { role, password: password.map(Secret::new) };
    let user = call.api.access.users.change(call.path_param("user"), change).await?;
    Answer::ok(&UserView::from(&user))
}
