//! `/ui/suppressions`: the addresses that a tenant's e-mails are not sent to.

use askama::Template;
use axum::response::Response;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::list::List;
use crate::{
    display_time::DisplayTime,
    escape::Text,
    handlers::PageResult,
    page,
    params::{Link, segment},
    problem::FormErrors,
    shell::Shell,
    submission::Submission,
    texts::Texts,
    visit::Visit,
};

const PATH: &str = "/suppressions";

#[derive(Deserialize)]
struct Suppression {
    /// Only in a list of all tenants.
    tenant: Option<Text>,
    address: String,
    reason: Text,
    detail: Option<Text>,
    since: DisplayTime,
}

impl Suppression {
    fn address_text(&self) -> Text {
        self.address.as_str().into()
    }
}

#[derive(Template)]
#[template(path = "suppressions.html")]
struct SuppressionsPage {
    t: Texts,
    s: Shell,
    rows: Vec<Suppression>,
    next: Option<Link>,
    typed: String,
    errors: FormErrors,
}

pub async fn show(visit: Visit) -> PageResult {
    render(&visit, "", FormErrors::default()).await
}

async fn render(
    visit: &Visit,
    typed: &str,
    errors: FormErrors,
) -> Result<Response, crate::problem::Problem> {
    let t = visit.t;
    let link = Link::new("/v1/suppressions").with("limit", 100);
    let link = link.maybe("cursor", visit.params.get("cursor"));
    let List { data: rows, next_cursor } = visit.get(link).await?;
    let template = SuppressionsPage {
        t,
        s: Shell::new(visit, "/emails", t.say("nav.suppressions")).await,
        rows,
        next: next_cursor.map(|cursor| visit.link(PATH).with("cursor", cursor)),
        typed: typed.to_owned(),
        errors,
    };
    Ok(page::show(template.errors.status(), &template))
}

pub async fn add(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let address = form.text("address");
    let body = json!({"address": address});
    match visit.post::<Value>(Link::new("/v1/suppressions"), body).await {
        Ok(_) => {
            let message = visit.t.say("suppressions.added").code("address", address);
            Ok(visit.done(&visit.link(PATH), message))
        }
        Err(problem) if problem.is_input() => render(&visit, address, problem.into()).await,
        Err(problem) => Err(problem),
    }
}

pub async fn remove(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let address = form.text("address");
    let link = Link::new(format!("/v1/suppressions/{}", segment(address)));
    // In a list of all tenants, each row names its own.
    let visit = match form.get("of") {
        Some(tenant) => visit.acting_for(tenant).await?,
        None => visit,
    };
    visit.send::<Value>(Method::DELETE, link, None).await?;
    let message = visit.t.say("suppressions.removed").code("address", address);
    Ok(visit.done(&visit.link(PATH), message))
}
