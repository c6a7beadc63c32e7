//! Asks before an irreversible action.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use crate::{
    escape::Text, page, params::Link, sentence::Sentence, shell::Shell, texts::Texts, visit::Visit,
};

/// The question, and the links of its answers.
pub struct Question {
    pub title: Sentence,
    /// The consequences.
    pub text: Sentence,
    /// Where the form is posted.
    pub action: Link,
    pub submit: Sentence,
    /// Hidden fields of the form.
    pub fields: Vec<(&'static str, Text)>,
    pub back: Link,
}

#[derive(Template)]
#[template(path = "confirm.html")]
struct ConfirmPage {
    t: Texts,
    s: Shell,
    question: Question,
}

/// Renders the question. `nav` is the entry of the navigation that the page belongs to.
pub async fn ask(visit: &Visit, nav: &'static str, question: Question) -> Response {
    let s = Shell::new(visit, nav, question.title.clone()).await;
    page::show(StatusCode::OK, &ConfirmPage { t: visit.t, s, question })
}
