//! `/ui/endpoints/{endpoint}`: what is happening to it, and what happens next?

use askama::Template;
use axum::response::Response;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{
    audit_actor::LastAction, delivery_row::DeliveryRow, endpoint_facts::EndpointFacts,
    endpoint_stats::Week, endpoints::PATH, list::List, pause,
};
use crate::{
    escape::{Block, Text},
    failure,
    flashes::FlashKind,
    handlers::PageResult,
    json, page,
    params::Link,
    problem::Problem,
    profiles,
    sentence::{Html, Sentence},
    shell::Shell,
    status_mark::StatusMark,
    submission::Submission,
    texts::Texts,
    visit::Visit,
};

#[derive(Template)]
#[template(path = "endpoint.html")]
struct EndpointPage {
    t: Texts,
    s: Shell,
    endpoint: EndpointFacts,
    happening: Html,
    /// Who paused or disabled it.
    stopped: Option<Sentence>,
    week: Option<Week>,
    test: Option<TestResult>,
    metadata: Option<Html>,
    deliveries: Vec<DeliveryRow>,
}

impl EndpointPage {
    fn here(&self, action: &str) -> Link {
        self.s.act(PATH, &self.endpoint.id, action)
    }

    /// Whether a test was sent, and no attempt of it has ended.
    fn is_test_open(&self) -> bool {
        self.test.as_ref().is_some_and(|test| test.attempt_log.is_empty())
    }

    /// Returns its own timeout, or that of its profile.
    fn timeout(&self) -> Html {
        let t = &self.t;
        let profile =
            profiles::find(&self.s.visit.dashboard.profiles, self.endpoint.profile.as_str());
        match (&self.endpoint.timeout, profile) {
            (Some(timeout), _) => Html::text(timeout),
            (None, Some(profile)) => of_profile(t, Html::text(t.span(profile.timeout))),
            (None, None) => t.say("endpoint.of_profile").into(),
        }
    }

    fn retry_plan(&self) -> Html {
        let t = &self.t;
        let delays = self.endpoint.delays(&self.s.visit.dashboard.profiles);
        let plan = profiles::plan(t, &delays).into();
        match &self.endpoint.retry {
            Some(_) => plan,
            None if delays.is_empty() => t.say("endpoint.of_profile").into(),
            None => of_profile(t, plan),
        }
    }

    fn external_id(&self) -> Option<Text> {
        self.endpoint.external_id.as_deref().map(Text::from)
    }
}

fn of_profile(t: &Texts, value: Html) -> Html {
    t.say("endpoint.from_profile").html("value", value).into()
}

/// The delivery of a test, with its attempt.
#[derive(Deserialize)]
struct TestResult {
    #[serde(flatten)]
    row: DeliveryRow,
    attempt_log: Vec<TestAttempt>,
}

#[derive(Deserialize)]
struct TestAttempt {
    latency_ms: f64,
    response_status: Option<u16>,
    response_body: Option<Block>,
    error: Option<Text>,
    error_code: Option<Text>,
}

impl TestAttempt {
    fn why(&self, t: &Texts) -> Option<Html> {
        self.error.as_ref().map(|error| failure::full(t, self.error_code.as_ref(), error))
    }

    fn mark(&self) -> StatusMark {
        if self.error.is_none() { StatusMark::Delivered } else { StatusMark::Failed }
    }

    fn word(&self, t: &Texts) -> Sentence {
        if self.error.is_none() { t.say("status.delivered") } else { t.say("status.test_failed") }
    }
}

pub async fn show(visit: Visit) -> PageResult {
    let id = visit.segment("endpoint");
    let endpoint: EndpointFacts = visit.get(Link::new(format!("/v1/webhooks/{id}"))).await?;
    if visit.tenant.is_none() {
        let link = visit.link(format!("{PATH}/{id}")).with("tenant", &endpoint.tenant_id);
        return Ok(page::see_other(&link.to_string()));
    }
    let link = Link::new(format!("/v1/webhooks/{id}/deliveries")).with("limit", 10);
    let deliveries: List<DeliveryRow> = visit.get(link).await?;
    let t = visit.t;
    let template = EndpointPage {
        t,
        s: Shell::new(&visit, PATH, t.say("endpoint.title").with("name", endpoint.title())).await,
        happening: happening(&t, &endpoint),
        stopped: stopped(&visit, &endpoint).await,
        week: Week::read(&visit, &id).await,
        test: test_result(&visit).await,
        metadata: metadata(&endpoint.metadata),
        endpoint,
        deliveries: deliveries.data,
    };
    Ok(page::show(StatusCode::OK, &template))
}

/// Returns who paused it; for one that was disabled by hand, who changed it last.
async fn stopped(visit: &Visit, endpoint: &EndpointFacts) -> Option<Sentence> {
    let t = &visit.t;
    match (endpoint.is_active, &endpoint.disabled_reason, &endpoint.paused_by) {
        (false, None, _) => {
            let act = LastAction::on(visit, "updateWebhook", &endpoint.id).await?;
            Some(act.changed(t))
        }
        (true, _, Some(by)) => Some(LastAction::pausing(visit, by, &endpoint.id).await?.paused(t)),
        _ => None,
    }
}

/// Returns the delivery that the URL names as a test.
async fn test_result(visit: &Visit) -> Option<TestResult> {
    let id = crate::params::segment(visit.params.get("test")?);
    visit.get(Link::new(format!("/v1/deliveries/{id}"))).await.ok()
}

fn metadata(raw: &RawValue) -> Option<Html> {
    (raw.get().trim() != "{}" && raw.get() != "null").then(|| json::pretty(raw))
}

/// Returns the state of the endpoint in a sentence.
pub fn happening(t: &Texts, endpoint: &EndpointFacts) -> Html {
    let waiting = if endpoint.health.has_backlog {
        t.say("endpoint.now.backlog").into()
    } else if endpoint.health.waiting > 0 {
        t.count("endpoint.now.queue", endpoint.health.waiting).into()
    } else {
        Html::default()
    };
    let failing = match &endpoint.failing_since {
        Some(since) => t.say("endpoint.now.failing").html("time", t.time(since)),
        None => t.say("endpoint.now.some_fail"),
    };
    let sentence = match (endpoint.mark(), &endpoint.failing_since) {
        (StatusMark::Disabled, _) => match endpoint.disabled_reason.as_deref() {
            Some("gone") => t.say("endpoint.now.gone"),
            Some(_) => t.say("endpoint.now.given_up"),
            None => t.say("endpoint.now.disabled"),
        },
        (StatusMark::Paused, _) => match endpoint.paused_by.as_deref() {
            Some("tenant") => t.say("endpoint.now.tenant_paused"),
            Some("lane") => t.say("endpoint.now.lane_paused"),
            _ => t.say("endpoint.now.paused"),
        },
        (StatusMark::Failed, _) => failing.clone(),
        (StatusMark::Warning, _) => t.say("endpoint.now.slow"),
        (StatusMark::Pending, _) => t.say("endpoint.now.untried"),
        _ => t.say("endpoint.now.fine"),
    };
    let breaker = match &endpoint.health.circuit_open_until {
        Some(until) if t.is_portal => {
            t.say("endpoint.now.try_again").html("span", t.until(until)).into()
        }
        Some(until) => t.say("endpoint.now.probe").html("span", t.until(until)).into(),
        None => Html::default(),
    };
    let state = if endpoint.is_paused_in_trouble() {
        Html::trusted(format!("{sentence} {failing}"))
    } else {
        sentence.into()
    };
    let all = t.say("endpoint.now.all").html("state", state).html("breaker", breaker);
    all.html("waiting", waiting).into()
}

pub async fn pause(submission: Submission) -> PageResult {
    let message = submission.visit.t.say("endpoint.was_paused");
    act(&submission.visit, "pause", pause::body(&submission.form), message).await
}

pub async fn resume(submission: Submission) -> PageResult {
    let message = submission.visit.t.say("endpoint.was_resumed");
    act(&submission.visit, "resume", None, message).await
}

async fn act(visit: &Visit, action: &str, body: Option<Value>, message: Sentence) -> PageResult {
    let link = Link::new(format!("/v1/webhooks/{}/{action}", visit.segment("endpoint")));
    visit.send::<Value>(Method::POST, link, body).await?;
    Ok(visit.done(&here(visit), message))
}

pub async fn disable(submission: Submission) -> PageResult {
    let message = submission.visit.t.say("endpoint.was_disabled");
    set_active(&submission.visit, false, message).await
}

pub async fn enable(submission: Submission) -> PageResult {
    let message = submission.visit.t.say("endpoint.was_enabled");
    set_active(&submission.visit, true, message).await
}

async fn set_active(visit: &Visit, is_active: bool, message: Sentence) -> PageResult {
    let link = Link::new(format!("/v1/webhooks/{}", visit.segment("endpoint")));
    visit.send::<Value>(Method::PATCH, link, Some(json!({"is_active": is_active}))).await?;
    Ok(visit.done(&here(visit), message))
}

#[derive(Deserialize)]
struct SentTest {
    delivery_id: String,
}

/// Sends a test, and shows its result on the page of the endpoint.
pub async fn test(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    Ok(send_test(&visit, &visit.segment("endpoint"), form.get("event_type")).await)
}

pub async fn send_test(visit: &Visit, id: &str, event_type: Option<&str>) -> Response {
    let body = event_type.map_or_else(|| json!({}), |name| json!({"event_type": name.trim()}));
    let sent = visit.post(Link::new(format!("/v1/webhooks/{id}/test")), body).await;
    let page = visit.link(format!("{PATH}/{id}"));
    match sent {
        Ok(SentTest { delivery_id }) => {
            page::see_other(&page.with("test", delivery_id).to_string())
        }
        Err(problem) => refuse(visit, &page, &problem),
    }
}

/// Returns to the page with the API's error.
fn refuse(visit: &Visit, page: &Link, problem: &Problem) -> Response {
    visit.leave(FlashKind::Error, Html::text(&problem.detail));
    page::see_other(&page.to_string())
}

fn here(visit: &Visit) -> Link {
    visit.link(format!("{PATH}/{}", visit.segment("endpoint")))
}
