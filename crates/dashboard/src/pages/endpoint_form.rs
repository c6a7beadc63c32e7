//! `/ui/endpoints/new` and `…/{endpoint}/edit`: the API checks the form, and its errors are shown at the
//! fields.

use askama::Template;
use axum::response::Response;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    choose_tenant, endpoint, endpoint_facts::EndpointFacts, endpoint_secret, endpoints::PATH,
};
use crate::{
    dashboard::PageResult,
    page,
    params::{Link, Params, segment},
    problem::FormErrors,
    sentence::Sentence,
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

/// What someone typed, or what the endpoint has.
#[derive(Default)]
struct Fields {
    url: String,
    events: String,
    name: String,
    profile: String,
    timeout: String,
    rate_count: String,
    rate_per: String,
    max_in_flight: String,
    ordering: String,
    headers: String,
}

impl Fields {
    fn read(form: &Params) -> Self {
        let text = |name| form.text(name).to_owned();
        Self {
            url: text("url"),
            events: text("events"),
            name: text("name"),
            profile: text("profile"),
            timeout: text("timeout"),
            rate_count: text("rate_count"),
            rate_per: text("rate_per"),
            max_in_flight: text("max_in_flight"),
            ordering: text("ordering"),
            headers: text("headers"),
        }
    }

    fn of(endpoint: EndpointFacts) -> Self {
        let (count, per) = endpoint
            .rate_limit
            .map_or_else(Default::default, |rate| (rate.count.to_string(), rate.per.to_string()));
        Self {
            url: endpoint.url,
            events: endpoint.events.join(", "),
            name: endpoint.name,
            profile: endpoint.profile.to_string(),
            timeout: endpoint.timeout.map(|timeout| timeout.to_string()).unwrap_or_default(),
            rate_count: count,
            rate_per: per,
            max_in_flight: endpoint.max_in_flight.map(|max| max.to_string()).unwrap_or_default(),
            ordering: endpoint.ordering,
            headers: String::new(),
        }
    }

    /// The body for the API. Empty fields are left out of a new endpoint, and cleared in a changed one.
    fn body(&self, is_new: bool) -> Value {
        let events = self.events.split([',', ' ', '\n', '\r']).filter(|part| !part.is_empty());
        let mut body = Map::new();
        body.insert("url".to_owned(), json!(self.url));
        body.insert("events".to_owned(), events.collect());
        body.insert("name".to_owned(), json!(self.name));
        if !self.profile.is_empty() {
            body.insert("profile".to_owned(), json!(self.profile));
        }
        if !self.ordering.is_empty() {
            body.insert("ordering".to_owned(), json!(self.ordering));
        }
        let rate = (!self.rate_count.is_empty() || !self.rate_per.is_empty()).then(|| {
            let per = if self.rate_per.is_empty() { "1s" } else { &self.rate_per };
            json!({"count": number(&self.rate_count), "per": per})
        });
        let timeout = (!self.timeout.is_empty()).then(|| json!(self.timeout));
        let max = (!self.max_in_flight.is_empty()).then(|| number(&self.max_in_flight));
        for (name, value) in [("rate_limit", rate), ("timeout", timeout), ("max_in_flight", max)] {
            match value {
                Some(value) => {
                    body.insert(name.to_owned(), value);
                }
                None if is_new => {}
                None => {
                    body.insert(name.to_owned(), Value::Null);
                }
            }
        }
        if !self.headers.is_empty() {
            body.insert("headers".to_owned(), headers(&self.headers));
        }
        Value::Object(body)
    }
}

/// A number if it is one; the API says what is wrong with anything else.
fn number(text: &str) -> Value {
    text.parse::<u64>().map_or_else(|_| json!(text), |number| json!(number))
}

/// Lines of `name: value`.
fn headers(lines: &str) -> Value {
    let lines = lines.lines().filter(|line| !line.trim().is_empty());
    let pair = |line: &str| {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        (name.trim().to_owned(), json!(value.trim()))
    };
    Value::Object(lines.map(pair).collect())
}

pub async fn new(visit: Visit) -> PageResult {
    if visit.tenant.is_none() {
        return choose_tenant::show(&visit, PATH, visit.t.say("endpoints.new")).await;
    }
    let fields = visit.take_draft().map(Fields::read).unwrap_or_default();
    Ok(show_new(&visit, fields, FormErrors::default()).await)
}

#[derive(Deserialize)]
struct Created {
    id: String,
}

pub async fn create(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let fields = Fields::read(&form);
    let created = visit.post::<Value>(Link::new("/v1/webhooks"), fields.body(true)).await;
    let created = match created {
        Ok(created) => created,
        Err(problem) if problem.is_input() => {
            return Ok(show_new(&visit, fields, problem.into()).await);
        }
        Err(problem) => return Err(problem),
    };
    let Created { id } =
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
    match visit.send::<Value>(Method::PATCH, link, Some(fields.body(false))).await {
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
