//! `/ui/sources/{partner}/delete`: what is deleted, what stays, and a reversible alternative.

use askama::Template;
use http::{Method, StatusCode};
use serde_json::Value;

use super::sources::{PATH, SourceRow};
use crate::{
    handlers::PageResult, page, params::Link, shell::Shell, submission::Submission, texts::Texts,
    visit::Visit,
};

#[derive(Template)]
#[template(path = "source_delete.html")]
struct SourceDeletePage {
    t: Texts,
    s: Shell,
    source: SourceRow,
    is_mistyped: bool,
}

pub async fn form(visit: Visit) -> PageResult {
    show(&visit, false).await
}

async fn show(visit: &Visit, is_mistyped: bool) -> PageResult {
    let t = visit.t;
    let source: SourceRow = visit.get(api(visit)).await?;
    let s = Shell::new(visit, PATH, t.say("delete.title").with("name", &source.partner)).await;
    let status = if is_mistyped { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    Ok(page::show(status, &SourceDeletePage { t, s, source, is_mistyped }))
}

pub async fn submit(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    if form.text("confirm") != visit.name("partner") {
        visit.check_may_configure()?;
        return show(&visit, true).await;
    }
    visit.send::<Value>(Method::DELETE, api(&visit), None).await?;
    let message = visit.t.say("delete.done").with("name", visit.name("partner"));
    Ok(visit.done(&visit.link(PATH), message))
}

fn api(visit: &Visit) -> Link {
    Link::new(format!("/v1/sources/{}", visit.segment("partner")))
}
