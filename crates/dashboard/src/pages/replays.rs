//! `/ui/replays` and `/ui/replays/{replay}`: how far is it?

use std::time::Duration;

use askama::Template;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::Value;

use super::{audit_actor::LastAction, list::List};
use crate::{
    display_time::DisplayTime,
    escape::Text,
    handlers::PageResult,
    page,
    params::Link,
    sentence::{Html, Sentence},
    shell::Shell,
    status_mark::StatusMark,
    submission::Submission,
    texts::Texts,
    visit::Visit,
};

const PATH: &str = "/replays";

#[derive(Deserialize)]
pub struct Replay {
    pub id: String,
    /// Only in a list of all tenants.
    pub tenant: Option<Text>,
    pub state: String,
    pub of: String,
    pub rate: u64,
    pub dry_run: bool,
    pub total: u64,
    pub is_total_exact: bool,
    pub done: u64,
    pub skipped: u64,
    pub failed: u64,
    pub outcomes: Option<Outcomes>,
    pub error: Option<Text>,
    pub created_at: DisplayTime,
    pub finished_at: Option<DisplayTime>,
}

/// The outcomes of the deliveries that were sent.
#[derive(Deserialize)]
pub struct Outcomes {
    pub delivered: u64,
    pub failed: u64,
    pub waiting: u64,
    /// How many were counted: the first ones.
    pub of: u64,
}

/// How long after its end the page of a replay is reloaded by itself, while some of its deliveries wait.
const WATCHED_FOR: Duration = Duration::from_mins(5);

impl Replay {
    pub fn is_running(&self) -> bool {
        matches!(self.state.as_str(), "pending" | "running")
    }

    /// Returns the seconds after which the page is reloaded.
    pub fn refresh(&self, t: &Texts) -> Option<u32> {
        let is_waiting = self.outcomes.as_ref().is_some_and(|outcomes| outcomes.waiting > 0);
        let is_fresh = |end: &DisplayTime| t.now.since(end.time()) < WATCHED_FOR;
        if self.is_running() {
            return Some(2);
        }
        (is_waiting && self.finished_at.as_ref().is_some_and(is_fresh)).then_some(5)
    }

    /// Returns the note that not all deliveries were counted.
    pub fn of_the_first(&self, t: &Texts) -> Option<Sentence> {
        let outcomes = self.outcomes.as_ref().filter(|outcomes| outcomes.of < self.done)?;
        Some(t.count("replay.of_the_first", outcomes.of))
    }

    pub fn mark(&self) -> StatusMark {
        match self.state.as_str() {
            "pending" => StatusMark::Pending,
            "running" => StatusMark::InFlight,
            "done" => StatusMark::Delivered,
            "canceled" => StatusMark::Disabled,
            _ => StatusMark::Failed,
        }
    }

    pub fn word(&self, t: &Texts) -> Sentence {
        match self.state.as_str() {
            "pending" => t.say("replay.pending"),
            "running" => t.say("replay.running"),
            "done" => t.say("replay.done"),
            "canceled" => t.say("replay.canceled"),
            _ => t.say("replay.failed"),
        }
    }

    /// Whether it has not started, so that it is unknown what it will send.
    fn is_uncounted(&self) -> bool {
        self.state == "pending" && self.total == 0
    }

    pub fn title(&self, t: &Texts) -> Sentence {
        if self.is_uncounted() {
            return t.say("replay.uncounted");
        }
        match (self.dry_run, self.of.as_str()) {
            (true, _) => t.count("replay.of_dry_run", self.total),
            (_, "dead_letters") => t.count("replay.of_dead_letters", self.total),
            (_, "events") => t.count("replay.of_events", self.total),
            _ => t.count("replay.of_deliveries", self.total),
        }
    }

    /// Returns how many are neither sent, left out nor failed yet.
    pub fn rest(&self) -> u64 {
        self.total.saturating_sub(self.done + self.skipped + self.failed)
    }

    fn progress(&self, t: &Texts) -> Html {
        if self.is_uncounted() {
            return t.say("replay.counting").into();
        }
        let sentence = t.say("replay.progress").with("n", t.number(self.done));
        let sentence = sentence.with("total", t.number(self.total));
        let rest = Duration::from_secs(self.rest() / self.rate.max(1));
        if !self.is_running() || rest.is_zero() {
            return sentence.into();
        }
        let rest = t.span(rest);
        t.say("replay.to_go").html("progress", sentence.into()).with("span", rest).into()
    }
}

#[derive(Template)]
#[template(path = "replay.html")]
struct ReplayPage {
    t: Texts,
    s: Shell,
    replay: Replay,
    /// Who started it.
    started: Option<Sentence>,
}

#[derive(Template)]
#[template(path = "replays.html")]
struct ReplaysPage {
    t: Texts,
    s: Shell,
    rows: Vec<Replay>,
    next: Option<Link>,
}

impl ReplaysPage {
    /// Returns the page of a replay, limited to its tenant.
    fn href(&self, row: &Replay) -> Link {
        let link = self.s.of(PATH, &row.id);
        match &row.tenant {
            Some(tenant) => link.with("tenant", tenant.as_str()),
            None => link,
        }
    }
}

pub async fn list(visit: Visit) -> PageResult {
    let link = Link::new("/v1/replays").with("limit", 50);
    let link = link.maybe("cursor", visit.params.get("cursor"));
    let List { data: rows, next_cursor } = visit.get(link).await?;
    let template = ReplaysPage {
        t: visit.t,
        s: Shell::new(&visit, PATH, visit.t.say("nav.replays")).await,
        rows,
        next: next_cursor.map(|cursor| visit.link(PATH).with("cursor", cursor)),
    };
    Ok(page::show(StatusCode::OK, &template))
}

pub async fn show(visit: Visit) -> PageResult {
    let t = visit.t;
    let replay: Replay = visit.get(api(&visit, "")).await?;
    let s = Shell::new(&visit, PATH, replay.title(&t)).await;
    let started = LastAction::beginning(&visit, &replay.id, &replay.created_at).await;
    let started = started.map(|act| act.started(&t));
    Ok(page::show(StatusCode::OK, &ReplayPage { t, s, replay, started }))
}

pub async fn cancel(submission: Submission) -> PageResult {
    let visit = submission.visit;
    visit.send::<Value>(Method::POST, api(&visit, "/cancel"), None).await?;
    let back = visit.link(format!("{PATH}/{}", visit.segment("replay")));
    Ok(visit.done(&back, visit.t.say("replay.was_canceled")))
}

fn api(visit: &Visit, below: &str) -> Link {
    Link::new(format!("/v1/replays/{}{below}", visit.segment("replay")))
}
