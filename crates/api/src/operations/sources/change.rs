//! `PATCH /v1/sources/{partner}`: fields that are left out keep their value.

use http::Method;

use super::{TAG, draft::SourceBody, inbound, partner, view::SourceView};
use crate::{
    answer::Answer,
    codes,
    input::Request,
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

pub const ROUTE: Route = Route {
    method: Method::PATCH,
    path: "/sources/{partner}",
    operation_id: "updateSource",
    needs: Needs::Operator,
    takes: Takes::Body(SourceBody::FIELDS),
    gives: Gives::ok::<SourceView>("The updated source."),
    refuses: &[&codes::RECEIVING_OFF, &codes::CONFLICT, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Update a source",
    about: "Fields that are left out keep their value; `null` resets a field to its default. The partner name never changes.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let draft = call.parse_body::<SourceBody>()?.draft(None)?;
    let source = inbound(&call)?.sources.change(&partner(&call)?, draft).await?;
    Answer::ok(&SourceView::from(&source))
}
