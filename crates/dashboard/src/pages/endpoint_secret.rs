//! The signing secret of an endpoint: shown once after it was created or rotated, and on request. The API
//! logs each time it is revealed.

use askama::Template;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{endpoint_facts::EndpointFacts, endpoints::PATH};
use crate::{
    display_time::DisplayTime,
    escape::Text,
    handlers::PageResult,
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
    old_secret_until: Option<DisplayTime>,
    #[serde(default)]
    old_secrets_until: Vec<DisplayTime>,
}

#[derive(Template)]
#[template(path = "endpoint_secret.html")]
struct SecretPage {
    t: Texts,
    s: Shell,
    title: Sentence,
    back: Link,
    reveal: Link,
    /// `None` if it was shown before.
    secret: Option<SecretView>,
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

/// The members of an API response that the page shows.
const SHOWN: [&str; 5] =
    ["secret", "secret_format", "public_key", "old_secret_until", "old_secrets_until"];

/// Redirects to the page that shows the secret once. `why` says what led there.
pub fn show_once(visit: &Visit, id: &str, why: &str, answer: &Value) -> PageResult {
    let members = SHOWN.iter().filter_map(|name| Some(((*name).to_owned(), answer.get(name)?)));
    let mut values: Map<String, Value> = members.map(|(name, it)| (name, it.clone())).collect();
    values.insert("why".to_owned(), why.into());
    let page = visit.link(format!("{PATH}/{}/secret", segment(id)));
    visit.show_once(&page, &Value::Object(values))
}

/// Shows the secret that was just created or requested. A reloaded page does not have it any more.
pub async fn show(visit: Visit) -> PageResult {
    let t = visit.t;
    let values = visit.once();
    let endpoint = format!("/v1/webhooks/{}", visit.segment("endpoint"));
    visit.get::<serde::de::IgnoredAny>(Link::new(endpoint)).await?;
    let title = match values.as_ref().and_then(|values| values["why"].as_str()) {
        Some("created") => t.say("secret.created"),
        Some("rotated") => t.say("secret.rotated"),
        _ => t.say("secret.current"),
    };
    let secret = values.map(serde_json::from_value).transpose().map_err(Problem::internal)?;
    let id = visit.segment("endpoint");
    let template = SecretPage {
        t,
        s: Shell::new(&visit, PATH, title.clone()).await,
        title,
        back: visit.link(format!("{PATH}/{id}")),
        reveal: visit.link(format!("{PATH}/{id}/reveal")),
        secret,
    };
    Ok(visit.forget_once(page::show(StatusCode::OK, &template)))
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
        Ok(secret) => show_once(&visit, visit.name("endpoint"), "rotated", &secret),
        Err(problem) if problem.is_input() => {
            show_form(&visit, true, overlap, problem.into()).await
        }
        Err(problem) => Err(problem),
    }
}

pub async fn reveal(submission: Submission) -> PageResult {
    let visit = submission.visit;
    let secret = visit.get(api(&visit, "/secret")).await?;
    show_once(&visit, visit.name("endpoint"), "current", &secret)
}

fn api(visit: &Visit, below: &str) -> Link {
    Link::new(format!("/v1/webhooks/{}{below}", visit.segment("endpoint")))
}
