//! `POST /v1/sources`.

use http::Method;

use super::{
    TAG,
    draft::NewSourceBody,
    inbound,
    view::{NewSource, SourceView},
};
use crate::{
    answer::Answer,
    codes,
    input::Request,
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/sources",
    operation_id: "createSource",
    needs: Needs::Operator,
    takes: Takes::Body(NewSourceBody::FIELDS),
    gives: Gives::created::<NewSource>(
        "The source, with the secret that dispatched receipts are signed with.",
    ),
    refuses: &[&codes::RECEIVING_OFF, &codes::TAKEN, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Create a source",
    about: "The partner posts to `/webhooks/{partner}` on the ingest listener.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let NewSourceBody { partner, settings } = call.parse_body()?;
    let draft = settings.draft(Some(partner))?;
    let created = inbound(&call)?.sources.create(draft).await?;
    Answer::created(&NewSource {
        source: SourceView::from(&created.source),
        dispatch_secret: created.dispatch_secret.to_string(),
    })
}
