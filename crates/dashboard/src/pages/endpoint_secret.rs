//! The signing secret of an endpoint: shown once after it was created or rotated, and on request. The API
//! logs each time it is revealed.

use askama::Template;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{endpoint_facts::EndpointFacts, endpoints::PATH};
use crate::{
    dashboard::PageResult,
    escape::Text,
    moment::Moment,
    page,
    params::{Link, segment},
    problem::{FormErrors, Problem},
    sentence::Sentence,
    shell::Shell,
    submission::Submission,
    texts::Texts,
    visit::Visit,
};

#[derive(Deserialize)]
struct SecretView {
    secret: Text,
    secret_format: Text,
    public_key: Option<Text>,
    #[serde(default)]
    old_secret_until: Option<Moment>,
    #[serde(default)]
    old_secrets_until: Vec<Moment>,
}

#[derive(Template)]
#[template(path = "endpoint_secret.html")]
struct SecretPage {
    t: Texts,
    s: Shell,
    title: Sentence,
    back: Link,
    secret: SecretView,
}

#[derive(Template)]
#[template(path = "endpoint_secret_form.html")]
struct SecretFormPage {
    t: Texts,
    s: Shell,
    endpoint: EndpointFacts,
    title: Sentence,
    is_rotation: bool,
    overlap: String,
    errors: FormErrors,
}

pub async fn show_new(visit: &Visit, id: &str, created: Value) -> PageResult {
    let secret = serde_json::from_value(created).map_err(Problem::internal)?;
    show(visit, id, visit.t.say("secret.created"), secret).await
}

async fn show(visit: &Visit, id: &str, title: Sentence, secret: SecretView) -> PageResult {
    let template = SecretPage {
        t: visit.t,
        s: Shell::new(visit, PATH, title.clone()).await,
        title,
        back: visit.link(format!("{PATH}/{}", segment(id))),
        secret,
    };
    Ok(page::show(StatusCode::OK, &template))
}

async fn show_form(
    visit: &Visit,
    is_rotation: bool,
    overlap: &str,
    errors: FormErrors,
) -> PageResult {
    let t = visit.t;
    let title = if is_rotation { t.say("secret.rotate") } else { t.say("secret.reveal") };
    let template = SecretFormPage {
        t,
        s: Shell::new(visit, PATH, title.clone()).await,
        endpoint: visit.get(api(visit, "")).await?,
        title,
        is_rotation,
        overlap: overlap.to_owned(),
        errors,
    };
    Ok(page::show(template.errors.status(), &template))
}

pub async fn rotate_form(visit: Visit) -> PageResult {
    show_form(&visit, true, "24h", FormErrors::default()).await
}

pub async fn reveal_form(visit: Visit) -> PageResult {
    show_form(&visit, false, "", FormErrors::default()).await
}

pub async fn rotate(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let overlap = form.text("overlap");
    let body = if overlap.is_empty() { json!({}) } else { json!({"overlap": overlap}) };
    match visit.post(api(&visit, "/rotate-secret"), body).await {
        Ok(secret) => {
            show(&visit, visit.name("endpoint"), visit.t.say("secret.rotated"), secret).await
        }
        Err(problem) if problem.is_input() => {
            show_form(&visit, true, overlap, problem.into()).await
        }
        Err(problem) => Err(problem),
    }
}

pub async fn reveal(submission: Submission) -> PageResult {
    let visit = submission.visit;
    let secret = visit.get(api(&visit, "/secret")).await?;
    show(&visit, visit.name("endpoint"), visit.t.say("secret.current"), secret).await
}

fn api(visit: &Visit, below: &str) -> Link {
    Link::new(format!("/v1/webhooks/{}{below}", visit.segment("endpoint")))
}
