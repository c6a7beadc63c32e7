//! `/ui/search`: an id opens its page directly; anything else is searched by name, over all tenants or in
//! one.

use askama::Template;
use http::StatusCode;

use crate::{
    handlers::PageResult,
    page,
    params::Link,
    search::{self, Match, SearchResult},
    shell::Shell,
    texts::Texts,
    visit::Visit,
};

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage {
    t: Texts,
    s: Shell,
    query: String,
    results: Vec<Match>,
    /// The deliveries whose payload contains it.
    in_payloads: Link,
    is_complete: bool,
}

pub async fn show(visit: Visit) -> PageResult {
    let query = visit.params.text("q").to_owned();
    let found = if query.is_empty() {
        SearchResult { data: Vec::new(), is_complete: true }
    } else {
        search::find(&visit, &query).await?
    };
    if let Some(one) = found.only_id() {
        return Ok(page::see_other(&one.page(&visit).to_string()));
    }
    let t = visit.t;
    let template = SearchPage {
        t,
        s: Shell::new(&visit, "/search", t.say("search.title")).await,
        in_payloads: visit.link("/deliveries").with("text", &query),
        query,
        results: found.data,
        is_complete: found.is_complete,
    };
    Ok(page::show(StatusCode::OK, &template))
}
