//! `GET /v1/users/{user}`.

use super::{TAG, view::UserView};
use crate::{
    answer::Answer,
    input::field::ResourceKind,
    problem::Problem,
    route::{Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/users/{user}",
    operation_id: "getUser",
    needs: Needs::Operator,
    gives: Gives::ok::<UserView>("The user."),
    tag: TAG,
    summary: "Get a user",
    run: |call| {
        Box::pin(async move {
            let user = call.api.access.users.get(call.path_param("user")).await?;
            Answer::ok(&UserView::from(
                &user.ok_or_else(|| Problem::not_found(ResourceKind::User))?,
            ))
        })
    },
    ..Route::DEFAULT
};
