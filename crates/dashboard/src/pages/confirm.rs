//! Asks before something that cannot be undone.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use crate::{
    escape::Text, page, params::Link, sentence::Sentence, shell::Shell, texts::Texts, visit::Visit,
};

/// The question, and where its answers lead.
pub struct Question {
    pub title: Sentence,
    /// What follows.
    pub text: Sentence,
    /// The form is posted there.
    pub action: Link,
    pub submit: Sentence,
    /// Fields that the form carries along.
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

/// `nav` is the entry of the navigation that the page belongs to.
pub async fn ask(visit: &Visit, nav: &'static str, question: Question) -> Response {
    let s = Shell::new(visit, nav, question.title.clone()).await;
    page::show(StatusCode::OK, &ConfirmPage { t: visit.t, s, question })
}
