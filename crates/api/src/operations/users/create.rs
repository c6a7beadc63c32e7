//! `POST /v1/users`.

use gancho_access::{NewUser, Role};
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
    struct NewUserBody {
        /// Name or e-mail address: lower-case letters, digits and `. _ - + @`. Unique; cannot be changed.
        required name: String as text(1, 128),
        /// What the user may do: `read_only` reads everything but secrets; `support` also retries, replays, tests,
        /// pauses and resumes; `operator` does everything.
        required role: Role as choice(Role::NAMES),
        /// Password, at least 12 characters. Never returned.
        required password: String as secret(256),
    }
}

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/users",
    operation_id: "createUser",
    needs: Needs::Operator,
    takes: Takes::Body(NewUserBody::FIELDS),
    gives: Gives::created::<UserView>("The user."),
    refuses: &[&codes::TAKEN, &codes::CONFLICT, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Create a user",
    about: "The user can log in to the dashboard with the name and the password.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let NewUserBody { name, role, password } = call.parse_body()?;
    let new = NewUser { name, role, password: Secret::new(password) };
    let user = call.api.access.users.create(new).await?;
    Answer::created(&UserView::from(&user))
}
