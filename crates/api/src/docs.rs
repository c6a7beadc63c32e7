//! The documentation that the gateway serves: `/openapi.json`, its pages at `/docs`, and a page for every
//! error code at `/docs/errors/{code}`. It is part of the binary and works offline.

mod literal;
mod reference;
mod snippets;

use std::{collections::HashMap, fmt::Write, sync::LazyLock};

use axum::{
    Router,
    extract::{Path, Request},
    response::{IntoResponse, Redirect, Response},
    routing::get,
};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};

use crate::{
    answer::{Answer, into_axum},
    codes::{self, Code},
    openapi,
    response_budget::SharedBody,
    serve,
    state::Api,
};

/// Allows only the pages' own scripts and styles.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
                      img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'";

/// Built at the first request, because most gateways are never asked for it.
static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| openapi::text().into());
static PAGES: LazyLock<Pages> = LazyLock::new(|| Pages::of(&DOCUMENT));

pub fn router(api: &Api) -> Router {
    let api = api.clone();
    Router::new()
        .route(
            "/openapi.json",
            get(|| async { shared(page(StatusCode::OK, "application/json", DOCUMENT.clone())) }),
        )
        .route("/docs", get(|| async { Redirect::permanent("/docs/") }))
        .route("/docs/", get(|| async { PAGES.get("").unwrap_or_default() }))
        .route("/docs/errors", get(|| async { page(StatusCode::OK, HTML, list_page()) }))
        .route("/docs/errors/{code}", get(error_page))
        .route(
            "/docs/{name}",
            get(move |Path(name): Path<String>, request: Request| async move {
                PAGES.get(&name).unwrap_or_else(|| into_axum(serve::no_route(&api, request)))
            }),
        )
}

/// The files of the reference, by their names below `/docs/`.
struct Pages(HashMap<String, (&'static str, Bytes)>);

impl Pages {
    fn of(document: &[u8]) -> Self {
        let document = serde_json::from_slice(document).unwrap_or_default();
        let pages = reference::pages(&document).into_iter();
        let mut all: HashMap<_, _> =
            pages.map(|(name, page)| (name, (HTML, Bytes::from(page)))).collect();
        let style = include_bytes!("../assets/docs.css").as_slice();
        all.insert("style.css".to_owned(), ("text/css; charset=utf-8", Bytes::from_static(style)));
        let script = include_bytes!("../assets/docs.js").as_slice();
        let media_type = "text/javascript; charset=utf-8";
        all.insert("script.js".to_owned(), (media_type, Bytes::from_static(script)));
        Self(all)
    }

    fn get(&self, name: &str) -> Option<Response> {
        let (media_type, file) = self.0.get(name)?;
        Some(shared(page(StatusCode::OK, media_type, file.clone())))
    }
}

const HTML: &str = "text/html; charset=utf-8";

fn page(status: StatusCode, media_type: &str, body: impl Into<axum::body::Body>) -> Response {
    let headers = [
        (header::CONTENT_TYPE, media_type),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (status, headers, body.into()).into_response()
}

/// Marks the response as the same for all requests, so that its body exists once.
fn shared(mut response: Response) -> Response {
    response.extensions_mut().insert(SharedBody);
    response
}

async fn error_page(Path(code): Path<String>) -> Response {
    match codes::find(&code) {
        Some(code) => page(StatusCode::OK, HTML, code_page(code, LINKS)),
        None => page(StatusCode::NOT_FOUND, HTML, list_page()),
    }
}

const STYLE: &str = "body{font:1rem/1.6 system-ui,sans-serif;max-width:42rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}code{font-family:ui-monospace,monospace}";

const LINKS: &str =
    "<p><a href=\"/docs/errors\">All codes</a> · <a href=\"/docs/\">Reference</a></p>";

/// Returns the page of an error code for listeners without the other documentation, such as ingest.
pub(crate) fn standalone_error_page(code: &str) -> Option<Answer> {
    let page = code_page(codes::find(code)?, "");
    let answer = Answer::of(StatusCode::OK, HeaderValue::from_static(HTML), page);
    let policy = HeaderValue::from_static(POLICY);
    Some(answer.with(header::CONTENT_SECURITY_POLICY, policy))
}

/// The pages contain nothing that a caller sent, only the list of codes.
fn code_page(code: &Code, links: &str) -> String {
    let Code { code, status, title, means, remedy } = code;
    let (means, remedy) = (to_html(means), to_html(remedy));
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>{code}</title><style>{STYLE}</style>\
         <h1>{title}</h1><p><code>{code}</code>, HTTP status {status}</p>\
         <h2>Cause</h2><p>{means}</p><h2>Solution</h2><p>{remedy}</p>{links}</html>",
    )
}

fn list_page() -> String {
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>Errors</title><style>{STYLE}</style><h1>Errors</h1><ul>"
    );
    for Code { code, status, title, .. } in codes::ALL {
        let _ = write!(
            page,
            "<li><a href=\"/docs/errors/{code}\"><code>{code}</code></a> ({}): {title}</li>",
            status.as_u16(),
        );
    }
    page.push_str("</ul></html>");
    page
}

/// Converts text to HTML, with `code` between backticks.
fn to_html(text: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut html = String::with_capacity(escaped.len() + 32);
    for (index, part) in escaped.split('`').enumerate() {
        if index % 2 == 1 {
            let _ = write!(html, "<code>{part}</code>");
        } else {
            html.push_str(part);
        }
    }
    html
}

/// Generates `docs/errors.md`.
pub fn errors_markdown() -> String {
    let mut text = String::from(
        "# Errors\n\n\
         Errors are `application/problem+json` (RFC 9457): `code` is stable and machine-readable, `type` is the path of \
         a page about the code, `title` and `detail` say what is wrong and how to fix it, `errors` lists each invalid \
         field with its JSON pointer, and `request_id` identifies the request to the operator.\n\n\
         This page is generated from `crates/api/src/codes.rs`.\n",
    );
    let mut last = None;
    for Code { code, status, title, means, remedy } in codes::ALL {
        if last != Some(*status) {
            let _ = write!(text, "\n## {status}\n");
            last = Some(*status);
        }
        let _ = write!(text, "\n### `{code}`\n\n{title}. {means}\n\n*Solution:* {remedy}\n");
    }
    text
}
