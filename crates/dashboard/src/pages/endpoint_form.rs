//! `/ui/endpoints/new` and `…/{endpoint}/edit`: the API validates the form, and its errors are shown at the
//! fields.

use askama::Template;
use axum::response::Response;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::Value;

use super::{choose_tenant, endpoint, endpoint_fields::Fields, endpoint_secret, endpoints::PATH};
use crate::{
    escape::Text,
    handlers::PageResult,
    page,
    params::{Link, segment},
    problem::FormErrors,
    profiles::{self, ProfileDefaults},
    sentence::{Html, Sentence},
    shell::Shell,
    submission::Submission,
    texts::Texts,
    visit::Visit,
};

#[derive(Template)]
#[template(path = "endpoint_form.html")]
struct EndpointFormPage {
    t: Texts,
    s: Shell,
    title: Sentence,
    action: Link,
    back: Link,
    is_new: bool,
    fields: Fields,
    errors: FormErrors,
}

impl EndpointFormPage {
    fn profiles(&self) -> &[ProfileDefaults] {
        &self.s.visit.dashboard.profiles
    }

    fn is_chosen(&self, name: &str) -> bool {
        self.fields.profile == name
    }

    /// Returns the default profile of a new endpoint of the tenant.
    fn default_profile(&self) -> Text {
        let tenant = self.s.visit.tenant.as_ref();
        tenant.map_or("standard", |tenant| &tenant.default_profile).into()
    }

    /// Returns the profile of the endpoint, if the gateway has it.
    fn profile(&self) -> Option<&ProfileDefaults> {
        let default = self.default_profile();
        let chosen = self.fields.profile.as_str();
        let name = if chosen.is_empty() { default.as_str() } else { chosen };
        profiles::find(self.profiles(), name)
    }

    /// Returns the endpoint's profile if the gateway no longer has it.
    fn unknown_profile(&self) -> Option<Text> {
        let name = self.fields.profile.as_str();
        let is_known = name.is_empty() || profiles::find(self.profiles(), name).is_some();
        (!is_known).then(|| name.into())
    }

    fn timeout(&self, profile: &ProfileDefaults) -> String {
        self.t.span(profile.timeout)
    }

    /// Returns what a profile sets, in a few words.
    fn defaults(&self, profile: &ProfileDefaults) -> Html {
        let t = &self.t;
        let defaults = t.say("endpoint_form.defaults").with("timeout", self.timeout(profile));
        defaults.html("plan", profile.plan(t).into()).into()
    }
}

pub async fn new(visit: Visit) -> PageResult {
    if visit.tenant.is_none() {
        return choose_tenant::show(&visit, PATH, visit.t.say("endpoints.new")).await;
    }
    let fields = visit.take_draft().map(Fields::read).unwrap_or_default();
    Ok(show_new(&visit, fields, FormErrors::default()).await)
}

#[derive(Deserialize)]
struct CreatedEndpoint {
    id: String,
}

pub async fn create(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let fields = Fields::read(&form);
    let created = visit
        .send_text::<Value>(Method::POST, Link::new("/v1/webhooks"), Some(fields.body(true)))
        .await;
    let created = match created {
        Ok(created) => created,
        Err(problem) if problem.is_input() => {
            return Ok(show_new(&visit, fields, problem.into()).await);
        }
        Err(problem) => return Err(problem),
    };
    let CreatedEndpoint { id } =
        serde_json::from_value(created.clone()).map_err(crate::problem::Problem::internal)?;
    if form.get("then") == Some("test") {
        return Ok(endpoint::send_test(&visit, &segment(&id), None).await);
    }
    endpoint_secret::show_once(&visit, &id, "created", &created)
}

pub async fn edit(visit: Visit) -> PageResult {
    let link = Link::new(format!("/v1/webhooks/{}", visit.segment("endpoint")));
    let fields = Fields::of(visit.get(link).await?);
    let fields = visit.take_draft().map_or(fields, Fields::read);
    Ok(show_edit(&visit, fields, FormErrors::default()).await)
}

pub async fn save(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let fields = Fields::read(&form);
    let id = visit.segment("endpoint");
    let link = Link::new(format!("/v1/webhooks/{id}"));
    match visit.send_text::<Value>(Method::PATCH, link, Some(fields.changes())).await {
        Ok(_) => {
            let page = visit.link(format!("{PATH}/{id}"));
            Ok(visit.done(&page, visit.t.say("endpoint.was_saved")))
        }
        Err(problem) if problem.is_input() => Ok(show_edit(&visit, fields, problem.into()).await),
        Err(problem) => Err(problem),
    }
}

async fn show_new(visit: &Visit, fields: Fields, errors: FormErrors) -> Response {
    let title = visit.t.say("endpoints.new");
    render(visit, title, visit.link(format!("{PATH}/new")), visit.link(PATH), fields, errors).await
}

async fn show_edit(visit: &Visit, fields: Fields, errors: FormErrors) -> Response {
    let id = visit.segment("endpoint");
    let title = visit.t.say("endpoint.edit");
    let (action, back) =
        (visit.link(format!("{PATH}/{id}/edit")), visit.link(format!("{PATH}/{id}")));
    render(visit, title, action, back, fields, errors).await
}

async fn render(
    visit: &Visit,
    title: Sentence,
    action: Link,
    back: Link,
    fields: Fields,
    errors: FormErrors,
) -> Response {
    let template = EndpointFormPage {
        t: visit.t,
        s: Shell::new(visit, PATH, title.clone()).await,
        title,
        is_new: visit.name("endpoint").is_empty(),
        action,
        back,
        fields,
        errors,
    };
    let status = template.errors.status();
    page::show(if status.is_server_error() { StatusCode::OK } else { status }, &template)
}
