//! `GET /v1/users`: by name.

use super::{TAG, view::UserView};
use crate::{
    answer::Answer,
    input::{Request, query::Paging},
    page::Page,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/users",
    operation_id: "listUsers",
    needs: Needs::Operator,
    query: Paging::FIELDS,
    gives: Gives::ok::<List<UserView>>("A page of users, by name."),
    tag: TAG,
    summary: "List users",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let page = Page::of(&call, None, &call.parse_query()?)?;
    let users = call.api.access.users.list(page.after_name(), page.max_read()).await?;
    let (users, next_cursor) = page.cut(users, |last| last.name.as_str().into());
    Answer::ok(&List { data: users.iter().map(UserView::from).collect(), next_cursor })
}
