//! `/ui/captured`: e-mails that were captured instead of being sent, in development.

use askama::Template;
use axum::response::IntoResponse;
use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;

use super::{list::List, mail_parts};
use crate::{
    display_time::DisplayTime,
    escape::{Block, Text},
    handlers::PageResult,
    page,
    params::{Link, segment},
    problem::Problem,
    shell::Shell,
    texts::Texts,
    visit::{ApiResult, Visit},
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CapturedRow {
    outbox_id: String,
    from: Text,
    to: Text,
    subject: Text,
    caught_at: DisplayTime,
    size: u64,
}

#[derive(Deserialize)]
struct CapturedEmail {
    #[serde(flatten)]
    row: CapturedRow,
    /// Headers, an empty line and the body.
    raw: Block,
}

#[derive(Template)]
#[template(path = "captured.html")]
struct CapturedPage {
    t: Texts,
    s: Shell,
    rows: Vec<CapturedRow>,
    peek: Option<Peek>,
}

/// One e-mail, opened below the list.
struct Peek {
    row: CapturedRow,
    /// The frame with its HTML, if it has one.
    frame: Option<Link>,
    text: Option<Block>,
    source: Block,
}

/// The policy of an e-mail in the browser: it may only be displayed, without scripts, forms or network
/// access.
const MAIL_POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'self'";

async fn find(visit: &Visit, id: &str) -> ApiResult<CapturedEmail> {
    visit.get(Link::new(format!("/v1/dev/emails/{}", segment(id)))).await
}

/// Returns the HTML of an e-mail, for a frame.
pub async fn html(visit: Visit) -> PageResult {
    let found = find(&visit, visit.name("letter")).await?;
    let html = mail_parts::part(&found.raw.0, "text/html").ok_or_else(Problem::no_page)?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(MAIL_POLICY)),
    ];
    Ok((headers, html).into_response())
}

pub async fn show(visit: Visit) -> PageResult {
    let t = visit.t;
    let rows: List<CapturedRow> = visit.get(Link::new("/v1/dev/emails")).await?;
    let peek = match visit.params.get("peek") {
        Some(id) => {
            let CapturedEmail { row, raw } = find(&visit, id).await?;
            let has_html = mail_parts::part(&raw.0, "text/html").is_some();
            let frame = visit.link(format!("/captured/{}/html", segment(id)));
            Some(Peek {
                row,
                frame: has_html.then_some(frame),
                text: mail_parts::part(&raw.0, "text/plain").map(Block),
                // Lines of an e-mail end with both.
                source: Block(raw.0.replace("\r\n", "\n")),
            })
        }
        None => None,
    };
    let template = CapturedPage {
        t,
        s: Shell::new(&visit, "/emails", t.say("nav.captured")).await,
        rows: rows.data,
        peek,
    };
    Ok(page::show(StatusCode::OK, &template))
}
