//! `/ui/queues`: what is in the way?

use askama::Template;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    dashboard::PageResult, escape::Text, mark::Mark, moment::Moment, page, params::Link,
    sentence::Sentence, shell::Shell, submission::Submission, texts::Texts, visit::Visit,
};

const PATH: &str = "/queues";

/// A lane with the number of its deliveries in each stage.
#[derive(Deserialize)]
pub struct Queue {
    pub lane: Text,
    pub depth: u64,
    pub pending: u64,
    pub in_flight: u64,
    pub waiting: u64,
    pub oldest_due_at: Option<Moment>,
    pub is_paused: bool,
}

#[derive(Deserialize)]
struct Queues {
    data: Vec<Queue>,
    paused_tenants: Vec<Text>,
    paused_webhooks: Vec<Text>,
}

#[derive(Template)]
#[template(path = "queues.html")]
struct QueuesPage {
    t: Texts,
    s: Shell,
    queues: Queues,
}

impl Queue {
    pub fn mark(&self) -> Mark {
        if self.is_paused { Mark::Paused } else { Mark::Delivered }
    }

    pub fn state(&self, t: &Texts) -> Sentence {
        if self.is_paused { t.say("status.paused") } else { t.say("queues.running") }
    }

    /// What the lane carries.
    pub fn about(&self, t: &Texts) -> Sentence {
        match self.lane.as_str() {
            "webhook" => t.say("queues.webhook"),
            "dispatch" => t.say("queues.dispatch"),
            _ => t.say("queues.email"),
        }
    }
}

pub async fn show(visit: Visit) -> PageResult {
    let t = visit.t;
    let queues = visit.get(Link::new("/v1/queues")).await?;
    let s = Shell::new(&visit, PATH, t.say("nav.queues")).await;
    Ok(page::show(StatusCode::OK, &QueuesPage { t, s, queues }))
}

pub async fn pause(submission: Submission) -> PageResult {
    let visit = submission.visit;
    change(&visit, "pause").await?;
    let message = visit.t.say("queues.was_paused").code("lane", visit.name("lane"));
    Ok(visit.done(&visit.link(PATH), message))
}

pub async fn resume(submission: Submission) -> PageResult {
    let visit = submission.visit;
    change(&visit, "resume").await?;
    let message = visit.t.say("queues.was_resumed").code("lane", visit.name("lane"));
    Ok(visit.done(&visit.link(PATH), message))
}

async fn change(visit: &Visit, action: &str) -> Result<(), crate::problem::Problem> {
    let link = Link::new(format!("/v1/queues/{}/{action}", visit.segment("lane")));
    visit.send::<Value>(Method::POST, link, None).await.map(|_| ())
}
