//! Deletes dead letters, of the filter or of a selection: first they are counted, and the count is typed as a
//! confirmation.

use askama::Template;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::Value;

use super::{
    PATH,
    filter::{Chip, Filter},
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

/// Maximum calls of the API for one form, of 10,000 dead letters each.
const MAX_CALLS: usize = 10;

#[derive(Template)]
#[template(path = "dead_letters_purge.html")]
struct PurgePage {
    t: Texts,
    s: Shell,
    filter: Filter,
    chips: Vec<Chip>,
    ids: Vec<Text>,
    count: u64,
    is_mistyped: bool,
}

#[derive(Deserialize)]
struct PurgeCount {
    purged: u64,
    has_more: bool,
}

impl PurgePage {
    fn action(&self) -> Link {
        self.filter.link(&self.s.visit, "/dead-letters/purge")
    }

    fn back(&self) -> Link {
        self.filter.link(&self.s.visit, PATH)
    }
}

pub async fn submit(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let filter = Filter::read(&visit.params);
    let ids = selected(&form);
    let typed = form.text("confirm");
    let count = match ids.len() {
        0 => call(&visit, &filter, true).await?.purged,
        count => count as u64,
    };
    if typed.is_empty() {
        return Ok(show(&visit, filter, &ids, count, false).await);
    }
    // The number that was shown. If there are more now, the page asks again.
    if typed.replace([',', '.', ' '], "").parse() != Ok(count) {
        return Ok(show(&visit, filter, &ids, count, true).await);
    }
    let (purged, has_more) = if ids.is_empty() {
        purge_all(&visit, &filter).await?
    } else {
        (purge_each(&visit, &ids).await?, false)
    };
    let back = filter.link(&visit, PATH);
    let key = if has_more { "purge.done_in_part" } else { "purge.done" };
    Ok(visit.done(&back, visit.t.count(key, purged)))
}

/// Returns the selected dead letters, as many as a page shows.
pub fn selected(form: &Params) -> Vec<String> {
    form.all("id").take(super::ROWS).map(str::to_owned).collect()
}

async fn purge_all(visit: &Visit, filter: &Filter) -> Result<(u64, bool), Problem> {
    let mut count = 0;
    for _ in 0..MAX_CALLS {
        let PurgeCount { purged, has_more } = call(visit, filter, false).await?;
        count += purged;
        if !has_more {
            return Ok((count, false));
        }
    }
    Ok((count, true))
}

async fn purge_each(visit: &Visit, ids: &[String]) -> Result<u64, Problem> {
    let mut count = 0;
    for id in ids {
        let link = Link::new(format!("/v1/dlq/{}", segment(id)));
        match visit.send::<Value>(Method::DELETE, link, None).await {
            Ok(_) => count += 1,
            // Someone else was faster.
            Err(problem) if problem.is_not_found() => {}
            Err(problem) => return Err(problem),
        }
    }
    Ok(count)
}

async fn call(visit: &Visit, filter: &Filter, is_dry: bool) -> Result<PurgeCount, Problem> {
    let link = filter.to_api("/v1/dlq").with("all", "true");
    let link = if is_dry { link.with("dry_run", "true") } else { link };
    visit.send(Method::DELETE, link, None).await
}

async fn show(
    visit: &Visit,
    filter: Filter,
    ids: &[String],
    count: u64,
    is_mistyped: bool,
) -> axum::response::Response {
    let t = visit.t;
    let template = PurgePage {
        t,
        s: Shell::new(visit, PATH, t.count("purge.title", count)).await,
        chips: filter.chips(&visit.t, &FormErrors::default()),
        filter,
        ids: ids.iter().map(|id| id.as_str().into()).collect(),
        count,
        is_mistyped,
    };
    let status = if is_mistyped { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    page::show(status, &template)
}
