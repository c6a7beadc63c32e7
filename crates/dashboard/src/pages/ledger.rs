//! `/ui/ledger`: how long is it, and what is its newest checkpoint?

use askama::Template;
use http::{Method, StatusCode};
use serde::Deserialize;

use super::sources;
use crate::{
    display_time::DisplayTime, escape::Text, handlers::PageResult, page, params::Link,
    sentence::Sentence, shell::Shell, status_mark::StatusMark, submission::Submission,
    texts::Texts, visit::Visit,
};

const PATH: &str = "/ledger";

#[derive(Deserialize)]
pub struct Ledger {
    size: u64,
    checkpoint: Option<Checkpoint>,
}

impl Ledger {
    /// Returns how many lines the newest checkpoint does not cover.
    fn uncovered(&self) -> u64 {
        let covered = self.checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.size);
        self.size.saturating_sub(covered)
    }

    pub fn mark(&self) -> StatusMark {
        match (&self.checkpoint, self.uncovered()) {
            (None, _) if self.size > 0 => StatusMark::Warning,
            (None, _) => StatusMark::Pending,
            (_, 0) => StatusMark::Delivered,
            _ => StatusMark::Pending,
        }
    }

    /// Returns how far the newest checkpoint reaches, in one sentence.
    pub fn sentence(&self, t: &Texts) -> Sentence {
        let Some(checkpoint) = &self.checkpoint else { return t.say("ledger.none") };
        t.count("ledger.covers", self.uncovered())
            .with("size", t.number(checkpoint.size))
            .html("time", t.time(&checkpoint.made_at))
    }
}

#[derive(Deserialize)]
struct Checkpoint {
    origin: Text,
    size: u64,
    root: Text,
    made_at: DisplayTime,
}

#[derive(Deserialize)]
struct NewCheckpoint {
    is_new: bool,
}

#[derive(Template)]
#[template(path = "ledger.html")]
struct LedgerPage {
    t: Texts,
    s: Shell,
    ledger: Ledger,
}

pub async fn show(visit: Visit) -> PageResult {
    let t = visit.t;
    let ledger = visit.get(Link::new("/v1/ledger")).await?;
    let s = Shell::new(&visit, PATH, t.say("nav.ledger")).await;
    Ok(page::show(StatusCode::OK, &LedgerPage { t, s, ledger }))
}

pub async fn checkpoint(submission: Submission) -> PageResult {
    let visit = submission.visit;
    let link = Link::new("/v1/ledger/checkpoint");
    let made: NewCheckpoint = visit.send(Method::POST, link, None).await?;
    let t = visit.t;
    let message = if made.is_new { t.say("ledger.made") } else { t.say("ledger.unchanged") };
    let is_of_sources = visit.params.get("from") == Some("sources");
    let back = if is_of_sources { visit.link(sources::PATH) } else { visit.link(PATH) };
    Ok(visit.done(&back, message))
}
