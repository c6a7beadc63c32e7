//! `GET /v1/alerts/history`: newest first.

use super::{TAG, service, view::AlertChange};
use crate::{
    answer::Answer,
    codes,
    input::{Request, query::Paging},
    page::Page,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/alerts/history",
    operation_id: "listAlertHistory",
    needs: Needs::Operator,
    query: Paging::FIELDS,
    gives: Gives::ok::<List<AlertChange>>("A page of changes, newest first."),
    refuses: &[&codes::ALERTS_OFF],
    tag: TAG,
    summary: "List past alerts",
    about: "Alerts that fired and were resolved in the last 90 days, silenced ones included.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let page = Page::of(&call, None, &call.parse_query()?)?;
    let rows = service(&call.api)?.history(page.after_name(), page.max_read()).await?;
    let (rows, next_cursor) = page.cut(rows, |last| last.key.as_str().into());
    Answer::ok(&List { data: rows.into_iter().map(AlertChange::from).collect(), next_cursor })
}
