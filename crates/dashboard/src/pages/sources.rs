//! `/ui/sources`: which partners may post, and are their webhooks accepted?

use askama::Template;
use http::StatusCode;
use serde::Deserialize;

use super::{ledger::Ledger, list::List, rejection_reasons};
use crate::{
    escape::Text, handlers::PageResult, page, params::Link, sentence::Sentence, shell::Shell,
    status_mark::StatusMark, texts::Texts, visit::Visit,
};

pub const PATH: &str = "/sources";

#[derive(Deserialize)]
pub struct SourceRow {
    pub partner: Text,
    pub is_active: bool,
    pub targets: Vec<Text>,
}

impl SourceRow {
    pub fn mark(&self) -> StatusMark {
        if self.is_active { StatusMark::Delivered } else { StatusMark::Disabled }
    }

    pub fn state(&self, t: &Texts) -> Sentence {
        if self.is_active { t.say("sources.active") } else { t.say("sources.off") }
    }
}

/// A rejected request.
#[derive(Deserialize)]
pub struct Rejection {
    pub at: crate::display_time::DisplayTime,
    pub partner: Text,
    pub status: u16,
    pub reason: Text,
    pub detail: Option<Text>,
    pub size: u64,
}

impl Rejection {
    /// Returns the reason in the reader's language; `None` for a code of a newer version.
    pub fn why(&self, t: &Texts) -> Option<Sentence> {
        rejection_reasons::key(self.reason.as_str()).map(|key| t.say(key))
    }
}

#[derive(Template)]
#[template(path = "sources.html")]
struct SourcesPage {
    t: Texts,
    s: Shell,
    rows: Vec<SourceRow>,
    /// Rejected requests of unknown partners.
    strangers: Vec<Rejection>,
    ledger: Option<Ledger>,
    next: Option<Link>,
}

pub async fn show(visit: Visit) -> PageResult {
    let t = visit.t;
    let link = Link::new("/v1/sources").with("limit", 100);
    let link = link.maybe("cursor", visit.params.get("cursor"));
    let List { data: rows, next_cursor } = visit.get(link).await?;
    let strangers: List<Rejection> = visit.get(Link::new("/v1/rejections")).await?;
    let template = SourcesPage {
        t,
        s: Shell::new(&visit, PATH, t.say("nav.sources")).await,
        rows,
        strangers: strangers.data,
        ledger: visit.get(Link::new("/v1/ledger")).await.ok(),
        next: next_cursor.map(|cursor| visit.link(PATH).with("cursor", cursor)),
    };
    Ok(page::show(StatusCode::OK, &template))
}
