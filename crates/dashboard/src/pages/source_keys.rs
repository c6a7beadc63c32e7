//! `/ui/sources/{partner}/keys/new`: adds a key of a partner, or rotates one: a new key replaces the old one,
//! which stays valid for a while.

use askama::Template;
use axum::response::Response;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    confirm::{self, Question},
    list::List,
    sources::PATH,
};
use crate::{
    escape::Text,
    handlers::PageResult,
    page,
    params::{Link, Params, segment},
    problem::{FormErrors, Problem},
    shell::Shell,
    submission::Submission,
    texts::Texts,
    visit::Visit,
};

#[derive(Template)]
#[template(path = "source_key_form.html")]
struct KeyFormPage {
    t: Texts,
    s: Shell,
    partner: Text,
    /// The keys that it may replace.
    keys: Vec<Text>,
    fields: Fields,
    errors: FormErrors,
}

/// The typed fields, without the secret.
#[derive(Default)]
struct Fields {
    key_id: String,
    scheme: String,
    encoding: String,
    public_key: String,
    not_after: String,
    replaces: String,
    overlap: String,
}

#[derive(Deserialize)]
struct KnownKey {
    key_id: Text,
    is_valid: bool,
}

impl Fields {
    fn read(form: &Params) -> Self {
        let text = |name| form.text(name).to_owned();
        Self {
            key_id: text("key_id"),
            scheme: text("scheme"),
            encoding: text("encoding"),
            public_key: text("public_key"),
            not_after: text("not_after"),
            replaces: text("replaces"),
            overlap: text("overlap"),
        }
    }

    fn body(&self, secret: &str) -> Value {
        let is_hmac = self.scheme != "ed25519";
        let mut body = Map::new();
        body.insert("scheme".to_owned(), json!(if is_hmac { "hmac" } else { "ed25519" }));
        let fields = [
            ("secret", secret, is_hmac),
            ("encoding", &self.encoding, is_hmac),
            ("publicKey", &self.public_key, !is_hmac),
            ("not_after", &self.not_after, true),
            ("replaces", &self.replaces, true),
            ("overlap", &self.overlap, !self.replaces.is_empty()),
        ];
        for (name, value, is_meant) in fields {
            if is_meant && !value.is_empty() {
                body.insert(name.to_owned(), json!(value));
            }
        }
        Value::Object(body)
    }
}

pub async fn new(visit: Visit) -> PageResult {
    let replaces = visit.params.text("replaces").to_owned();
    let fields = Fields { replaces, overlap: "24h".to_owned(), ..Fields::default() };
    let fields = visit.take_draft().map_or(fields, Fields::read);
    show(&visit, fields, FormErrors::default()).await
}

pub async fn create(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let fields = Fields::read(&form);
    // An id is a segment of the URL, so an empty one would make another URL.
    let id = if fields.key_id.is_empty() { "-".to_owned() } else { segment(&fields.key_id) };
    let body = fields.body(form.text("secret"));
    match visit.send::<Value>(Method::PUT, api(&visit, &format!("/{id}")), Some(body)).await {
        Ok(_) => {
            let message = visit.t.say("source_key.saved").with("name", &fields.key_id);
            Ok(visit.done(&source(&visit), message))
        }
        Err(problem) if problem.is_input() => show(&visit, fields, problem.into()).await,
        Err(problem) => Err(problem),
    }
}

pub async fn ask_delete(visit: Visit) -> PageResult {
    let List { data, .. } = visit.get::<List<KnownKey>>(api(&visit, "")).await?;
    let key = visit.name("key");
    let known = data.iter().find(|known| known.key_id.as_str() == key);
    let t = visit.t;
    let is_last = known.ok_or_else(Problem::no_page)?.is_valid
        && data.iter().filter(|known| known.is_valid).count() == 1;
    let question = Question {
        title: t.say("source_key.delete_title").with("name", key),
        text: if is_last {
            t.say("source_key.delete_last")
        } else {
            t.say("source_key.delete_note")
        },
        action: visit.link(format!(
            "{PATH}/{}/keys/{}/delete",
            visit.segment("partner"),
            visit.segment("key")
        )),
        fields: Vec::new(),
        submit: t.say("source_key.delete"),
        back: source(&visit),
    };
    Ok(confirm::ask(&visit, PATH, question).await)
}

pub async fn delete(submission: Submission) -> PageResult {
    let visit = submission.visit;
    let link = api(&visit, &format!("/{}", visit.segment("key")));
    visit.send::<Value>(Method::DELETE, link, None).await?;
    let message = visit.t.say("delete.done").with("name", visit.name("key"));
    Ok(visit.done(&source(&visit), message))
}

fn api(visit: &Visit, below: &str) -> Link {
    Link::new(format!("/v1/sources/{}/keys{below}", visit.segment("partner")))
}

fn source(visit: &Visit) -> Link {
    visit.link(format!("{PATH}/{}", visit.segment("partner")))
}

async fn show(visit: &Visit, fields: Fields, errors: FormErrors) -> PageResult {
    let t = visit.t;
    let List { data, .. } = visit.get::<List<KnownKey>>(api(visit, "")).await?;
    let title = t.say("source_key.title").with("name", visit.name("partner"));
    let template = KeyFormPage {
        t,
        s: Shell::new(visit, PATH, title).await,
        partner: visit.name("partner").into(),
        keys: data.into_iter().filter(|key| key.is_valid).map(|key| key.key_id).collect(),
        fields,
        errors,
    };
    let status = template.errors.status();
    Ok(respond(status, &template))
}

fn respond(status: StatusCode, template: &KeyFormPage) -> Response {
    page::show(if status.is_server_error() { StatusCode::OK } else { status }, template)
}
