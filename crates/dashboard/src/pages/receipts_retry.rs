//! `/ui/sources/{partner}/receipts/retry`: dispatches the matching receipts again, after they were counted.

use http::Method;
use serde_json::{Map, Value};

use super::{confirm, replays::Replay, source, sources::PATH};
use crate::{
    flashes::FlashKind,
    handlers::PageResult,
    page,
    params::{Link, segment},
    problem::Problem,
    submission::Submission,
    visit::Visit,
};

pub async fn submit(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let t = visit.t;
    let (status, filter) = source::filter(&visit);
    let mut body = filter.to_body();
    if !status.is_empty() {
        body.insert("status".to_owned(), status.as_str().into());
    }
    if body.is_empty() {
        body.insert("all".to_owned(), true.into());
    }
    if form.get("confirm").is_some() {
        let replay = call(&visit, body).await?;
        let page = visit.link(format!("/replays/{}", segment(&replay.id)));
        return Ok(visit.done(&page, t.say("replay.was_started")));
    }
    body.insert("dry_run".to_owned(), true.into());
    let count = call(&visit, body).await?.total;
    if count == 0 {
        visit.leave(FlashKind::Error, t.say("sources.retry_none"));
        return Ok(page::see_other(&filter.here.to_string()));
    }
    let question = confirm::Question {
        title: t.count("sources.retry_title", count),
        text: t.say("sources.retry_text"),
        action: Link::again(&visit.path, &visit.params),
        submit: t.count("sources.retry_submit", count),
        fields: vec![("confirm", "yes".into())],
        back: filter.here,
    };
    Ok(confirm::ask(&visit, PATH, question).await)
}

async fn call(visit: &Visit, body: Map<String, Value>) -> Result<Replay, Problem> {
    let link = Link::new(format!("/v1/sources/{}/receipts/retry", visit.segment("partner")));
    visit.send(Method::POST, link, Some(Value::Object(body))).await
}
