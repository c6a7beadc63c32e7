//! An error in the portal: with the operator's brand, and without links to pages that a tenant does not have.

use askama::Template;
use axum::response::Response;

use super::error_texts::texts;
use crate::{
    page, params::Link, portal::Portal, problem::Problem, sentence::Sentence, texts::Texts,
    theme::Theme,
};

#[derive(Template)]
#[template(path = "portal_error.html")]
struct PortalErrorPage<'a> {
    t: Texts,
    theme: Theme,
    portal: &'a Portal,
    problem: &'a Problem,
    title: Sentence,
    advice: Sentence,
    back: Option<Link>,
}

/// Shows the error. `back` is the link for someone whose session continues.
pub fn show(
    t: Texts,
    theme: Theme,
    portal: &Portal,
    problem: &Problem,
    back: Option<Link>,
) -> Response {
    let (title, advice) = match problem.code.as_str() {
        "portal_expired" => (t.say("portal.expired"), t.say("portal.open_again")),
        "portal_invalid" => (t.say("portal.invalid"), t.say("portal.open_again")),
        "portal_blocked" => (t.say("portal.blocked"), t.say("portal.blocked_advice")),
        "portal_ended" => (t.say("portal.ended"), t.say("portal.ended_advice")),
        _ => texts(&t, problem),
    };
    let (title, advice) = (title, advice.with("name", &portal.brand.name));
    let template = PortalErrorPage { t, theme, portal, problem, title, advice, back };
    page::show(problem.status(), &template)
}
