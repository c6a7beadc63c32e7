//! `/ui/captured`: e-mails that were captured instead of being sent, in development.

use askama::Template;
use http::StatusCode;
use serde::Deserialize;

use super::list::List;
use crate::{
    dashboard::PageResult,
    escape::{Block, Text},
    moment::Moment,
    page,
    params::{Link, segment},
    shell::Shell,
    texts::Texts,
    visit::Visit,
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CapturedRow {
    outbox_id: String,
    from: Text,
    to: Text,
    subject: Text,
    caught_at: Moment,
    size: u64,
}

#[derive(Deserialize)]
struct Captured {
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
    peek: Option<Captured>,
}

pub async fn show(visit: Visit) -> PageResult {
    let t = visit.t;
    let rows: List<CapturedRow> = visit.get(Link::new("/v1/dev/letters")).await?;
    let peek = match visit.params.get("peek") {
        Some(id) => {
            let link = Link::new(format!("/v1/dev/letters/{}", segment(id)));
            let mut found: Captured = visit.get(link).await?;
            // Lines of an e-mail end with both.
            found.raw.0 = found.raw.0.replace("\r\n", "\n");
            Some(found)
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
