//! `/ui/sources/new` and `…/{partner}/edit`: a partner, its signature scheme and the targets of its webhooks.

use askama::Template;
use axum::response::Response;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::sources::PATH;
use crate::{
    changes::changed,
    escape::Text,
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
#[template(path = "source_form.html")]
struct SourceFormPage {
    t: Texts,
    s: Shell,
    title: Sentence,
    is_new: bool,
    action: Link,
    back: Link,
    /// The senders that need only a name.
    presets: &'static [&'static str],
    fields: Fields,
    errors: FormErrors,
}

#[derive(Template)]
#[template(path = "source_created.html")]
struct SourceCreatedPage {
    t: Texts,
    s: Shell,
    partner: Text,
    secret: Text,
}

/// The fields, typed or current.
#[derive(Default)]
struct Fields {
    partner: String,
    preset: String,
    /// A preset with parameters, as JSON.
    other_preset: String,
    targets: String,
    event_id_pointer: String,
    rate_count: String,
    rate_per: String,
    schema: String,
    verify_token: String,
    /// The body of the source when the form was opened.
    before: String,
}

#[derive(Deserialize)]
struct Source {
    preset: Box<RawValue>,
    targets: Vec<String>,
    schema: Option<Box<RawValue>>,
    rate_limit: Option<RateLimit>,
    event_id_pointer: Option<String>,
}

#[derive(Deserialize)]
struct RateLimit {
    count: u32,
    per: String,
}

impl From<Source> for Fields {
    fn from(source: Source) -> Self {
        let simple = serde_json::from_str::<String>(source.preset.get()).ok();
        let (count, per) = source
            .rate_limit
            .map_or_else(Default::default, |rate| (rate.count.to_string(), rate.per));
        let mut fields = Self {
            other_preset: match &simple {
                Some(_) => String::new(),
                None => source.preset.get().to_owned(),
            },
            preset: simple.unwrap_or_default(),
            targets: source.targets.join("\n"),
            event_id_pointer: source.event_id_pointer.unwrap_or_default(),
            rate_count: count,
            rate_per: per,
            schema: source.schema.map(|schema| schema.get().to_owned()).unwrap_or_default(),
            ..Self::default()
        };
        fields.before = fields.body(false);
        fields
    }
}

impl Fields {
    fn read(form: &Params) -> Self {
        let text = |name| form.text(name).to_owned();
        Self {
            partner: text("partner"),
            preset: text("preset"),
            other_preset: text("other_preset"),
            targets: text("targets"),
            event_id_pointer: text("event_id_pointer"),
            rate_count: text("rate_count"),
            rate_per: text("rate_per"),
            schema: text("schema"),
            verify_token: text("verify_token"),
            before: text("before"),
        }
    }

    /// Returns the body for the API. Empty fields are left out for a new source, and reset for a changed one.
    fn body(&self, is_new: bool) -> String {
        let mut body = TypedObject::default();
        if is_new {
            body.set("partner", &self.partner);
        }
        match (self.preset.as_str(), self.other_preset.as_str()) {
            ("", "") => {}
            ("", other) => body.set_typed("preset", other),
            (preset, _) => body.set("preset", preset),
        }
        let targets: Vec<_> =
            self.targets.split_whitespace().filter(|target| !target.is_empty()).collect();
        if !targets.is_empty() {
            body.set("targets", targets);
        }
        let pointer = (!self.event_id_pointer.is_empty()).then(|| json!(self.event_id_pointer));
        let rate = (!self.rate_count.is_empty()).then(|| {
            let per = if self.rate_per.is_empty() { "1s" } else { &self.rate_per };
            let count = self.rate_count.parse::<u64>();
            json!({"count": count.map_or_else(|_| json!(self.rate_count), Value::from), "per": per})
        });
        for (name, value) in [("event_id_pointer", pointer), ("rate_limit", rate)] {
            if value.is_some() || !is_new {
                body.set(name, value);
            }
        }
        match self.schema.as_str() {
            "" if is_new => {}
            "" => body.set("schema", Value::Null),
            schema => body.set_typed("schema", schema),
        }
        if !self.verify_token.is_empty() {
            body.set("verify_token", &self.verify_token);
        }
        body.into_text()
    }
}

#[derive(Deserialize)]
struct CreatedSource {
    partner: String,
    dispatch_secret: String,
}

/// Shows a source that was just created, with its secret. Reloaded, it is the page of the source.
pub async fn created(visit: Visit) -> PageResult {
    let values = visit.once();
    let Some(secret) = values.as_ref().and_then(|values| values["secret"].as_str()) else {
        return Ok(page::see_other(&page_of(&visit).to_string()));
    };
    let t = visit.t;
    let template = SourceCreatedPage {
        t,
        s: Shell::new(&visit, PATH, t.say("source_form.created")).await,
        partner: visit.name("partner").into(),
        secret: secret.into(),
    };
    Ok(visit.forget_once(page::show(StatusCode::OK, &template)))
}

pub async fn new(visit: Visit) -> PageResult {
    let fields = visit.take_draft().map(Fields::read).unwrap_or_default();
    Ok(show(&visit, fields, FormErrors::default()).await)
}

pub async fn create(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let fields = Fields::read(&form);
    let link = Link::new("/v1/sources");
    match visit.send_text::<CreatedSource>(Method::POST, link, Some(fields.body(true))).await {
        Ok(CreatedSource { partner, dispatch_secret }) => {
            let page = visit.link(format!("{PATH}/{}/created", segment(&partner)));
            visit.show_once(&page, &json!({"secret": dispatch_secret}))
        }
        Err(problem) if problem.is_input() => Ok(show(&visit, fields, problem.into()).await),
        Err(problem) => Err(problem),
    }
}

pub async fn edit(visit: Visit) -> PageResult {
    let source: Source = visit.get(api(&visit)).await?;
    let fields = visit.take_draft().map_or_else(|| source.into(), Fields::read);
    Ok(show(&visit, fields, FormErrors::default()).await)
}

pub async fn save(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let fields = Fields::read(&form);
    let changes = changed(fields.body(false), &fields.before);
    match visit.send_text::<Value>(Method::PATCH, api(&visit), Some(changes)).await {
        Ok(_) => Ok(visit.done(&page_of(&visit), visit.t.say("source_form.saved"))),
        Err(problem) if problem.is_input() => Ok(show(&visit, fields, problem.into()).await),
        Err(problem) => Err(problem),
    }
}

pub async fn enable(submission: Submission) -> PageResult {
    set_active(submission.visit, true).await
}

pub async fn disable(submission: Submission) -> PageResult {
    set_active(submission.visit, false).await
}

async fn set_active(visit: Visit, is_active: bool) -> PageResult {
    let body = json!({"is_active": is_active});
    visit.send::<Value>(Method::PATCH, api(&visit), Some(body)).await?;
    let t = visit.t;
    let message =
        if is_active { t.say("source_form.enabled") } else { t.say("source_form.disabled") };
    Ok(visit.done(&page_of(&visit), message))
}

fn api(visit: &Visit) -> Link {
    Link::new(format!("/v1/sources/{}", visit.segment("partner")))
}

fn page_of(visit: &Visit) -> Link {
    visit.link(format!("{PATH}/{}", visit.segment("partner")))
}

async fn show(visit: &Visit, fields: Fields, errors: FormErrors) -> Response {
    let t = visit.t;
    let partner = visit.name("partner");
    let is_new = partner.is_empty();
    let title = if is_new { t.say("source_form.new") } else { t.say("source_form.edit") };
    let title = title.with("name", partner);
    let (action, back) = if is_new {
        (visit.link(format!("{PATH}/new")), visit.link(PATH))
    } else {
        (visit.link(format!("{PATH}/{}/edit", segment(partner))), page_of(visit))
    };
    let s = Shell::new(visit, PATH, title.clone()).await;
    let presets = visit.dashboard.presets;
    let template = SourceFormPage { t, s, title, is_new, action, back, presets, fields, errors };
    let status = template.errors.status();
    page::show(if status.is_server_error() { StatusCode::OK } else { status }, &template)
}
