//! `GET /v1/alerts`: the most urgent first.

use super::{TAG, service, view::AlertView};
use crate::{
    answer::Answer,
    codes,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/alerts",
    operation_id: "listAlerts",
    needs: Needs::Operator,
    gives: Gives::ok::<List<AlertView>>("All alerts that are pending or firing."),
    refuses: &[&codes::ALERTS_OFF],
    tag: TAG,
    summary: "List alerts",
    about: "The gateway evaluates the rules itself, on one of the nodes. The same rules are in `ops/prometheus/rules.yml`.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let alerts = service(&call.api)?.alerts().await?;
    let data = alerts.into_iter().map(AlertView::from).collect();
    Answer::ok(&List { data, next_cursor: None })
}
