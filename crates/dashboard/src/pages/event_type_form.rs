//! `/ui/event-types/new` and `…/{event_type}/edit`: a type of the tenant that the page is limited to, or of
//! the operator.

use askama::Template;
use axum::response::Response;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::event_types::PATH;
use crate::{
    handlers::PageResult,
    page,
    params::{Link, Params, segment},
    problem::FormErrors,
    sentence::Sentence,
    shell::Shell,
    submission::Submission,
    texts::Texts,
    typed_json::TypedObject,
    visit::Visit,
};

#[derive(Template)]
#[template(path = "event_type_form.html")]
struct EventTypeFormPage {
    t: Texts,
    s: Shell,
    title: Sentence,
    is_new: bool,
    /// Whether it can be deleted, which built-in ones cannot.
    is_own: bool,
    action: Link,
    fields: Fields,
    errors: FormErrors,
}

/// The fields, typed or current.
#[derive(Default)]
struct Fields {
    name: String,
    description: String,
    example: String,
    schema: String,
    is_archived: bool,
}

#[derive(Deserialize)]
struct EventType {
    name: String,
    description: String,
    example: Box<RawValue>,
    schema: Option<Box<RawValue>>,
    catalog: String,
    is_archived: bool,
}

impl Fields {
    fn read(form: &Params) -> Self {
        let text = |name| form.text(name).to_owned();
        Self {
            name: text("name"),
            description: text("description"),
            example: text("example"),
            schema: text("schema"),
            is_archived: form.has("is_archived"),
        }
    }

    fn body(&self, is_new: bool) -> String {
        let mut body = TypedObject::default();
        if is_new {
            body.set("name", &self.name);
        }
        body.set("description", self.description.replace("\r\n", "\n"));
        if !self.example.is_empty() {
            body.set_typed("example", &self.example);
        }
        if !self.schema.is_empty() {
            body.set_typed("schema", &self.schema);
        }
        body.set("is_archived", self.is_archived);
        body.into_text()
    }
}

pub async fn new(visit: Visit) -> PageResult {
    let fields = visit.take_draft().map(Fields::read).unwrap_or_default();
    Ok(show(&visit, fields, false, FormErrors::default()).await)
}

pub async fn create(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let fields = Fields::read(&form);
    let link = Link::new("/v1/webhooks/events");
    match visit.send_text::<Value>(Method::POST, link, Some(fields.body(true))).await {
        Ok(_) => Ok(saved(&visit, &fields.name)),
        Err(problem) if problem.is_input() => Ok(show(&visit, fields, false, problem.into()).await),
        Err(problem) => Err(problem),
    }
}

pub async fn edit(visit: Visit) -> PageResult {
    let known: EventType = visit.get(api(&visit)).await?;
    let mut fields = Fields {
        name: known.name,
        description: known.description,
        example: known.example.get().to_owned(),
        schema: known.schema.map(|schema| schema.get().to_owned()).unwrap_or_default(),
        is_archived: known.is_archived,
    };
    if let Some(typed) = visit.take_draft() {
        fields = Fields { name: fields.name, ..Fields::read(typed) };
    }
    let is_own = is_own(&visit, &known.catalog);
    Ok(show(&visit, fields, is_own, FormErrors::default()).await)
}

pub async fn save(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let mut fields = Fields::read(&form);
    visit.name("event_type").clone_into(&mut fields.name);
    match visit.send_text::<Value>(Method::PUT, api(&visit), Some(fields.body(false))).await {
        Ok(_) => Ok(saved(&visit, &fields.name)),
        Err(problem) if problem.is_input() => Ok(show(&visit, fields, true, problem.into()).await),
        Err(problem) => Err(problem),
    }
}

pub async fn delete(submission: Submission) -> PageResult {
    let visit = submission.visit;
    visit.send::<Value>(Method::DELETE, api(&visit), None).await?;
    let message = visit.t.say("delete.done").with("name", visit.name("event_type"));
    Ok(visit.done(&visit.link(PATH), message))
}

fn saved(visit: &Visit, name: &str) -> Response {
    let page = visit.link(PATH).with("type", name);
    visit.done(&page, visit.t.say("event_types.saved").with("name", name))
}

/// Whether the type belongs to the catalog of the page.
fn is_own(visit: &Visit, catalog: &str) -> bool {
    catalog == if visit.tenant.is_some() { "tenant" } else { "operator" }
}

fn api(visit: &Visit) -> Link {
    Link::new(format!("/v1/webhooks/events/{}", visit.segment("event_type")))
}

async fn show(visit: &Visit, fields: Fields, is_own: bool, errors: FormErrors) -> Response {
    let t = visit.t;
    let name = visit.name("event_type");
    let is_new = name.is_empty();
    let title = if is_new { t.say("event_types.new") } else { t.say("event_types.edit") };
    let title = title.with("name", name);
    let action = if is_new {
        visit.link(format!("{PATH}/new"))
    } else {
        visit.link(format!("{PATH}/{}/edit", segment(name)))
    };
    let template = EventTypeFormPage {
        t,
        s: Shell::new(visit, PATH, title.clone()).await,
        title,
        is_new,
        is_own,
        action,
        fields,
        errors,
    };
    let status = template.errors.status();
    page::show(if status.is_server_error() { StatusCode::OK } else { status }, &template)
}
