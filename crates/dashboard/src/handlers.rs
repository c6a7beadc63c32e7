//! Wraps every page and form of the table.

use std::{future::Future, sync::Arc};

use axum::{
    extract::State,
    response::Response,
    routing::{MethodRouter, get, post},
};
use http::{HeaderValue, StatusCode, header};

use crate::{
    dashboard::Dashboard,
    drafts,
    page::{self, HEADERS},
    pages::error,
    problem::Problem,
    submission::Submission,
    visit::Visit,
};

pub type PageResult = Result<Response, Problem>;

/// Wraps a page that reads. Its errors are shown as a page.
pub fn page<F, R>(run: F) -> MethodRouter<Arc<Dashboard>>
where
    F: Fn(Visit) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = PageResult> + Send,
{
    get(move |visit: Visit| async move {
        let page = match visit.begin().await {
            Ok(_guard) => run(visit.clone()).await,
            Err(problem) => Err(problem),
        };
        let mut response = page.unwrap_or_else(|problem| error::show(&visit, &problem));
        if visit.draft.is_some() {
            let forget = drafts::forget(&visit.dashboard);
            response.headers_mut().extend(forget.map(|cookie| (header::SET_COOKIE, cookie)));
        }
        visit.with_flash(response)
    })
}

/// Wraps a page with a form for configuration, for those who may use it.
pub fn setup_page<F, R>(run: F) -> MethodRouter<Arc<Dashboard>>
where
    F: Fn(Visit) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = PageResult> + Send,
{
    page(move |visit: Visit| {
        let run = run.clone();
        async move {
            visit.check_may_configure()?;
            run(visit).await
        }
    })
}

/// Wraps a form that changes something.
pub fn form<F, R>(run: F) -> MethodRouter<Arc<Dashboard>>
where
    F: Fn(Submission) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = PageResult> + Send,
{
    post(move |submission: Submission| async move {
        let visit = submission.visit.clone();
        let response = match visit.begin().await {
            Ok(_guard) => run(submission).await,
            Err(problem) => Err(problem),
        };
        visit.with_flash(response.unwrap_or_else(|problem| error::show(&visit, &problem)))
    })
}

/// Responds if the URL of a form was opened as a page, or vice versa.
pub async fn refuse_method(visit: Visit) -> Response {
    let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "");
    error::show(&visit, &problem)
}

/// Responds to a URL without a page. One that ends with a slash may be the page without it.
pub async fn miss(visit: Visit) -> PageResult {
    match visit.path.strip_suffix('/') {
        Some(path) if visit.base.has(path) => {
            let query = visit.params.without(&[]);
            let mark = if query.is_empty() { "" } else { "?" };
            Ok(page::see_other(&format!("{path}{mark}{query}")))
        }
        _ => Err(Problem::no_page()),
    }
}

pub async fn with_headers(
    State(dashboard): State<Arc<Dashboard>>,
    mut response: Response,
) -> Response {
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(value);
    }
    if dashboard.is_secure() {
        let year = HeaderValue::from_static("max-age=31536000");
        headers.insert(header::STRICT_TRANSPORT_SECURITY, year);
    }
    response
}
