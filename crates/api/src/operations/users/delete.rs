//! `DELETE /v1/users/{user}`.

use http::Method;

use super::TAG;
use crate::{
    answer::Answer,
    route::{Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    method: Method::DELETE,
    path: "/users/{user}",
    operation_id: "deleteUser",
    needs: Needs::Operator,
    gives: Gives::no_content("The user is deleted."),
    tag: TAG,
    summary: "Delete a user",
    about: "The sessions of the user end: on this node at once, on the others within 5 seconds. The last operator can be deleted too, because the operator token always works.",
    run: |call| {
        Box::pin(async move {
            call.api.access.users.delete(call.path_param("user")).await?;
            Ok(Answer::no_content())
        })
    },
    ..Route::DEFAULT
};
