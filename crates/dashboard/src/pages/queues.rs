//! `/ui/queues`: what holds deliveries back?

use askama::Template;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::Value;

use super::{audit_actor::LastAction, pause};
use crate::{
    display_time::DisplayTime,
    endpoint_names,
    escape::Text,
    handlers::PageResult,
    page,
    params::{Link, segment},
    sentence::Sentence,
    shell::Shell,
    status_mark::StatusMark,
    submission::Submission,
    texts::Texts,
    visit::Visit,
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
    pub oldest_due_at: Option<DisplayTime>,
    pub is_paused: bool,
    /// Who paused it.
    #[serde(skip)]
    pub paused: Option<LastAction>,
}

#[derive(Deserialize)]
struct Queues {
    data: Vec<Queue>,
    paused_tenants: Vec<String>,
    paused_webhooks: Vec<String>,
}

#[derive(Template)]
#[template(path = "queues.html")]
struct QueuesPage {
    t: Texts,
    s: Shell,
    lanes: Vec<Queue>,
    paused: Vec<PausedRow>,
}

/// A paused tenant or endpoint.
struct PausedRow {
    is_tenant: bool,
    name: Text,
    link: Link,
    act: Option<LastAction>,
}

/// For how many paused objects it is looked up who paused them.
const MAX_ACTS: usize = 20;

impl QueuesPage {
    fn kind(&self, one: &PausedRow) -> Sentence {
        if one.is_tenant { self.t.say("gate.tenant") } else { self.t.say("row.endpoint") }
    }
}

impl Queue {
    pub fn mark(&self) -> StatusMark {
        if self.is_paused { StatusMark::Paused } else { StatusMark::Delivered }
    }

    pub fn state(&self, t: &Texts) -> Sentence {
        if self.is_paused { t.say("status.paused") } else { t.say("queues.running") }
    }

    /// Returns what the lane carries.
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
    let Queues { data: mut lanes, paused_tenants, paused_webhooks } =
        visit.get_as_operator(Link::new("/v1/queues")).await?;
    for lane in lanes.iter_mut().filter(|lane| lane.is_paused) {
        lane.paused = LastAction::on(&visit, "pauseQueue", lane.lane.as_str()).await;
    }
    let mut paused = tenants(&visit, &paused_tenants).await;
    paused.extend(endpoints(&visit, &paused_webhooks).await);
    let s = Shell::new(&visit, PATH, t.say("nav.queues")).await;
    Ok(page::show(StatusCode::OK, &QueuesPage { t, s, lanes, paused }))
}

async fn tenants(visit: &Visit, ids: &[String]) -> Vec<PausedRow> {
    let mut paused = Vec::new();
    for (index, id) in ids.iter().enumerate() {
        let acting = visit.acting_for(id).await.ok();
        let tenant = acting.as_ref().and_then(|acting| acting.tenant.clone());
        let act = match acting.filter(|_| index < MAX_ACTS) {
            Some(acting) => LastAction::on_tenant(&acting, "pauseTenant").await,
            None => None,
        };
        let slug = tenant.as_ref().map_or(id.as_str(), |tenant| &tenant.slug);
        let link = visit.link(format!("/tenants/{}", segment(slug)));
        paused.push(PausedRow { is_tenant: true, name: slug.into(), link, act });
    }
    paused
}

async fn endpoints(visit: &Visit, ids: &[String]) -> Vec<PausedRow> {
    let names = endpoint_names::read(visit, ids.iter()).await;
    let mut paused = Vec::new();
    for (index, id) in ids.iter().enumerate() {
        let act =
            if index < MAX_ACTS { LastAction::on(visit, "pauseWebhook", id).await } else { None };
        let name = names.get(id).filter(|name| !name.is_empty()).cloned();
        // The link leads to the page limited to its tenant.
        let link = visit.page(format!("/endpoints/{}", segment(id)));
        paused.push(PausedRow {
            is_tenant: false,
            name: name.unwrap_or_else(|| id.as_str().into()),
            link,
            act,
        });
    }
    paused
}

pub async fn pause(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    change(&visit, "pause", pause::body(&form)).await?;
    let message = visit.t.say("queues.was_paused").code("lane", visit.name("lane"));
    Ok(visit.done(&visit.link(PATH), message))
}

pub async fn resume(submission: Submission) -> PageResult {
    let visit = submission.visit;
    change(&visit, "resume", None).await?;
    let message = visit.t.say("queues.was_resumed").code("lane", visit.name("lane"));
    Ok(visit.done(&visit.link(PATH), message))
}

async fn change(
    visit: &Visit,
    action: &str,
    body: Option<Value>,
) -> Result<(), crate::problem::Problem> {
    let link = Link::new(format!("/v1/queues/{}/{action}", visit.segment("lane")));
    visit.send::<Value>(Method::POST, link, body).await.map(|_| ())
}
