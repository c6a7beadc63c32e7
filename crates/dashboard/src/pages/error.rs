//! The page for an error: what happened, and a link to continue.

use askama::Template;
use axum::response::Response;

use super::{error_texts::texts, portal_error};
use crate::{
    base::Base, page, params::Link, problem::Problem, sentence::Sentence, texts::Texts,
    theme::Theme, visit::Visit,
};

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    t: Texts,
    theme: Theme,
    problem: &'a Problem,
    title: Sentence,
    advice: Sentence,
    is_repeatable: bool,
    again: String,
    search: Link,
    back: Link,
}

pub fn show(visit: &Visit, problem: &Problem) -> Response {
    if visit.is_portal() {
        let back = Some(visit.link("/"));
        return portal_error::show(visit.t, visit.theme, &visit.dashboard.portal, problem, back);
    }
    let again = visit.again.as_deref().unwrap_or_default();
    render(visit.t, visit.theme, problem, again, visit.page("/search"), visit.link("/"))
}

/// Shows an error to someone who is not logged in.
pub fn show_stranger(t: Texts, theme: Theme, problem: &Problem) -> Response {
    let page = |path| Link::new(Base::Dashboard.address(path));
    render(t, theme, problem, "", page("/search"), page("/login"))
}

fn render(
    t: Texts,
    theme: Theme,
    problem: &Problem,
    here: &str,
    search: Link,
    back: Link,
) -> Response {
    let (title, advice) = texts(&t, problem);
    let template = ErrorPage {
        t,
        theme,
        problem,
        title,
        advice,
        is_repeatable: problem.status >= 500 && !here.is_empty(),
        again: here.to_owned(),
        search,
        back,
    };
    page::show(problem.status(), &template)
}
