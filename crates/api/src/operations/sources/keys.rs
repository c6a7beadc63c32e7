//! `GET /v1/sources/{partner}/keys`, `PUT` and `DELETE …/keys/{key}`.

use http::Method;

use super::{TAG, draft::SourceKeyBody, inbound, partner, view::SourceKeyView};
use crate::{
    answer::Answer,
    codes,
    input::Request,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route, Takes},
};

pub const LIST: Route = Route {
    path: "/sources/{partner}/keys",
    operation_id: "listSourceKeys",
    needs: Needs::Operator,
    gives: Gives::ok::<List<SourceKeyView>>("All keys of the source, without their secrets."),
    refuses: &[&codes::RECEIVING_OFF],
    tag: TAG,
    summary: "List a source's keys",
    run: |call| Box::pin(list(call)),
    ..Route::DEFAULT
};

pub const PUT: Route = Route {
    method: Method::PUT,
    path: "/sources/{partner}/keys/{partner_key}",
    operation_id: "putSourceKey",
    needs: Needs::Operator,
    takes: Takes::Body(SourceKeyBody::FIELDS),
    gives: Gives::ok::<SourceKeyView>("The key, without its secret."),
    refuses: &[&codes::RECEIVING_OFF, &codes::CONFLICT, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Create or replace a source's key",
    about: "A source can have several valid keys at a time. With `replaces`, the replaced key expires after `overlap`.",
    run: |call| Box::pin(put(call)),
    ..Route::DEFAULT
};

pub const DELETE: Route = Route {
    method: Method::DELETE,
    path: "/sources/{partner}/keys/{partner_key}",
    operation_id: "deleteSourceKey",
    needs: Needs::Operator,
    gives: Gives::no_content("The key is deleted and no longer valid."),
    refuses: &[&codes::RECEIVING_OFF],
    tag: TAG,
    summary: "Delete a source's key",
    run: |call| Box::pin(delete(call)),
    ..Route::DEFAULT
};

async fn list(call: Call) -> Result<Answer, Problem> {
    let keys = inbound(&call)?.sources.keys(&partner(&call)?).await?;
    let now = call.api.clock.now();
    let data = keys.iter().map(|key| SourceKeyView::of(key, now)).collect();
    Answer::ok(&List::<SourceKeyView> { data, next_cursor: None })
}

async fn put(call: Call) -> Result<Answer, Problem> {
    let draft = call.parse_body::<SourceKeyBody>()?.into();
    let sources = &inbound(&call)?.sources;
    let key = sources.put_key(&partner(&call)?, call.path_param("partner_key"), draft).await?;
    Answer::ok(&SourceKeyView::of(&key, call.api.clock.now()))
}

async fn delete(call: Call) -> Result<Answer, Problem> {
    inbound(&call)?.sources.delete_key(&partner(&call)?, call.path_param("partner_key")).await?;
    Ok(Answer::no_content())
}
