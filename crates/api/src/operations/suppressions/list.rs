//! `GET /v1/suppressions`: by address.

use gancho_access::Right;

use super::{TAG, view::Suppression};
use crate::{
    answer::Answer,
    codes,
    input::{Request, query::Paging},
    operations::emails,
    page::Page,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/suppressions",
    needs: Needs::Tenant(Right::Read),
    query: Paging::FIELDS,
    gives: Gives::ok::<List<Suppression>>("A page of suppressed addresses, in alphabetical order."),
    refuses: &[&codes::EMAIL_OFF],
    tag: TAG,
    summary: "List suppressed addresses",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let scope = call.tenant()?.scope();
    let page = Page::of(&call, Some(scope.tenant()), &call.parse_query()?)?;
    let mail = emails::mail(&call.api)?;
    let rows = mail.suppressions.list(scope, page.after_name(), page.max_read()).await?;
    let (rows, next_cursor) = page.cut(rows, |last| last.address.as_str().into());
    Answer::ok(&List { data: rows.into_iter().map(Suppression::from).collect(), next_cursor })
}
