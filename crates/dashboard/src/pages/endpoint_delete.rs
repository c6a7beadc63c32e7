//! `/ui/endpoints/{endpoint}/delete`: what is lost, what stays, and a reversible alternative.

use askama::Template;
use http::{Method, StatusCode};
use serde_json::Value;

use super::{endpoint_facts::EndpointFacts, endpoints::PATH};
use crate::{
    escape::Text, handlers::PageResult, page, params::Link, shell::Shell, submission::Submission,
    texts::Texts, visit::Visit,
};

#[derive(Template)]
#[template(path = "endpoint_delete.html")]
struct DeletePage {
    t: Texts,
    s: Shell,
    endpoint: EndpointFacts,
    is_mistyped: bool,
}

pub async fn form(visit: Visit) -> PageResult {
    show(&visit, false).await
}

async fn show(visit: &Visit, is_mistyped: bool) -> PageResult {
    let t = visit.t;
    let endpoint: EndpointFacts = visit.get(api(visit)).await?;
    let title = t.say("delete.title").with("name", endpoint.title());
    let s = Shell::new(visit, PATH, title).await;
    let status = if is_mistyped { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    Ok(page::show(status, &DeletePage { t, s, endpoint, is_mistyped }))
}

pub async fn submit(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let endpoint: EndpointFacts = visit.get(api(&visit)).await?;
    if Text::from(form.text("confirm")) != Text::from(endpoint.title().as_str().trim()) {
        visit.check_may_configure()?;
        return show(&visit, true).await;
    }
    visit.send::<Value>(Method::DELETE, api(&visit), None).await?;
    let message = visit.t.say("delete.done").with("name", endpoint.title());
    Ok(visit.done(&visit.link(PATH), message))
}

fn api(visit: &Visit) -> Link {
    Link::new(format!("/v1/webhooks/{}", visit.segment("endpoint")))
}
