//! `/ui/alerts`: which alerts fire, which are silenced, what happened?

use std::collections::HashMap;

use askama::Template;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{alert_details, list::List};
use crate::{
    display_time::DisplayTime,
    escape::Text,
    flashes::FlashKind,
    handlers::PageResult,
    page,
    params::{Link, segment},
    sentence::{Html, Sentence},
    shell::Shell,
    status_mark::StatusMark,
    submission::Submission,
    texts::Texts,
    visit::Visit,
};

const PATH: &str = "/alerts";
/// How long an alert can be silenced with one click.
const DURATIONS: [&str; 4] = ["1h", "8h", "1d", "7d"];

#[derive(Deserialize)]
struct Alert {
    rule: String,
    severity: String,
    subject: Option<Text>,
    state: String,
    detail: Text,
    since: DisplayTime,
    silence_id: Option<String>,
}

#[derive(Deserialize)]
struct Silence {
    id: String,
    rule: Option<String>,
    subject: Option<Text>,
    until: DisplayTime,
    comment: Text,
    created_by: Text,
}

#[derive(Deserialize)]
struct Change {
    at: DisplayTime,
    #[serde(rename = "change")]
    kind: String,
    rule: String,
    severity: String,
    subject: Option<Text>,
    detail: Text,
    is_silenced: bool,
}

#[derive(Deserialize)]
struct AlertTestResult {
    channels: Vec<TestedChannel>,
}

#[derive(Deserialize)]
struct TestedChannel {
    channel: Text,
    error: Option<Text>,
}

#[derive(Template)]
#[template(path = "alerts.html")]
struct AlertsPage {
    t: Texts,
    s: Shell,
    is_off: bool,
    alerts: Vec<Alert>,
    silences: Vec<Silence>,
    history: Vec<Change>,
    next: Option<Link>,
    /// The subjects of alerts by rule and subject, with a link to their pages.
    about: HashMap<(String, String), Html>,
}

impl AlertsPage {
    fn about(&self, rule: &str, subject: Option<&Text>) -> Html {
        let Some(subject) = subject else { return Html::default() };
        let known = self.about.get(&(rule.to_owned(), subject.to_string()));
        known.cloned().unwrap_or_else(|| Html::code(subject))
    }

    fn firing(&self) -> u64 {
        self.alerts.iter().filter(|alert| alert.state == "firing").count() as u64
    }
}

impl Alert {
    fn detail(&self, t: &Texts) -> Html {
        alert_details::text(t, &self.detail)
    }

    fn name(&self, t: &Texts) -> Sentence {
        rule(&self.rule, t)
    }

    fn mark(&self) -> StatusMark {
        match (self.silence_id.is_some(), self.state.as_str(), self.severity.as_str()) {
            (true, ..) => StatusMark::Paused,
            (_, "firing", "critical") => StatusMark::Failed,
            (_, "firing", _) => StatusMark::Warning,
            _ => StatusMark::Pending,
        }
    }

    fn word(&self, t: &Texts) -> Sentence {
        match (self.silence_id.is_some(), self.state.as_str()) {
            (true, _) => t.say("alerts.silenced"),
            (false, "firing") => t.say("alerts.firing"),
            _ => t.say("alerts.pending"),
        }
    }
}

impl Silence {
    fn name(&self, t: &Texts) -> Sentence {
        match &self.rule {
            Some(name) => rule(name, t),
            None => t.say("alerts.every_rule"),
        }
    }
}

impl Change {
    fn detail(&self, t: &Texts) -> Html {
        alert_details::text(t, &self.detail)
    }

    fn name(&self, t: &Texts) -> Sentence {
        rule(&self.rule, t)
    }

    fn mark(&self) -> StatusMark {
        match (self.kind.as_str(), self.severity.as_str()) {
            ("resolved", _) => StatusMark::Delivered,
            (_, "critical") => StatusMark::Failed,
            _ => StatusMark::Warning,
        }
    }

    fn word(&self, t: &Texts) -> Sentence {
        match self.kind.as_str() {
            "resolved" => t.say("alerts.resolved"),
            "reminder" => t.say("alerts.reminder"),
            _ => t.say("alerts.fired"),
        }
    }
}

fn rule(name: &str, t: &Texts) -> Sentence {
    t.say(match name {
        "store_unavailable" => "alerts.store_unavailable",
        "writes_refused" => "alerts.writes_refused",
        "storage_critical" => "alerts.storage_critical",
        "storage_high" => "alerts.storage_high",
        "ledger_check_failed" => "alerts.ledger_check_failed",
        "node_lost" => "alerts.node_lost",
        "clock_off" => "alerts.clock_off",
        "dead_letters_high" => "alerts.dead_letters_high",
        "dead_letter_rate_high" => "alerts.dead_letter_rate_high",
        "tenant_dead_letters_high" => "alerts.tenant_dead_letters_high",
        "endpoint_failing" => "alerts.endpoint_failing",
        "queue_delayed" => "alerts.queue_delayed",
        "api_key_expiring" => "alerts.api_key_expiring",
        "archive_failing" => "alerts.archive_failing",
        _ => "alerts.source_key_expiring",
    })
}

pub async fn show(visit: Visit) -> PageResult {
    let t = visit.t;
    let s = Shell::new(&visit, PATH, t.say("nav.alerts")).await;
    let alerts: List<Alert> = match visit.get_as_operator(Link::new("/v1/alerts")).await {
        Ok(alerts) => alerts,
        Err(problem) if problem.code.as_str() == "alerts_off" => {
            let template = AlertsPage {
                t,
                s,
                is_off: true,
                alerts: Vec::new(),
                silences: Vec::new(),
                history: Vec::new(),
                next: None,
                about: HashMap::new(),
            };
            return Ok(page::show(StatusCode::OK, &template));
        }
        Err(problem) => return Err(problem),
    };
    let silences: List<Silence> = visit.get_as_operator(Link::new("/v1/alerts/silences")).await?;
    let link = Link::new("/v1/alerts/history").with("limit", 50);
    let link = link.maybe("cursor", visit.params.get("cursor"));
    let List { data: history, next_cursor } = visit.get_as_operator::<List<Change>>(link).await?;
    let subjects = alerts
        .data
        .iter()
        .map(|alert| (&alert.rule, alert.subject.as_ref()))
        .chain(history.iter().map(|change| (&change.rule, change.subject.as_ref())))
        .chain(
            silences.data.iter().filter_map(|one| Some((one.rule.as_ref()?, one.subject.as_ref()))),
        );
    let about = alert_details::about(&visit, subjects).await;
    let template = AlertsPage {
        t,
        s,
        is_off: false,
        alerts: alerts.data,
        silences: silences.data,
        history,
        next: next_cursor.map(|cursor| visit.page(PATH).with("cursor", cursor)),
        about,
    };
    Ok(page::show(StatusCode::OK, &template))
}

pub async fn silence(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let filled = |name: &str| Some(form.text(name)).filter(|text| !text.is_empty());
    let body = json!({
        "rule": filled("rule"),
        "subject": filled("subject"),
        "duration": form.text("duration"),
    });
    visit.post::<Value>(Link::new("/v1/alerts/silences"), body).await?;
    Ok(visit.done(&visit.page(PATH), visit.t.say("alerts.was_silenced")))
}

pub async fn end(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let link = Link::new(format!("/v1/alerts/silences/{}", segment(form.text("silence"))));
    visit.send::<Value>(Method::DELETE, link, None).await?;
    Ok(visit.done(&visit.page(PATH), visit.t.say("alerts.silence_ended")))
}

pub async fn test(submission: Submission) -> PageResult {
    let visit = submission.visit;
    let AlertTestResult { channels } = visit.post(Link::new("/v1/alerts/test"), json!({})).await?;
    let failed = channels.iter().find_map(|one| Some((&one.channel, one.error.as_ref()?)));
    let to = visit.page(PATH);
    match failed {
        Some((channel, error)) => {
            let message = visit.t.say("alerts.test_failed");
            let message = message.code("channel", channel).with("error", error);
            visit.leave(FlashKind::Error, message);
            Ok(page::see_other(&to.to_string()))
        }
        None if channels.is_empty() => Ok(visit.done(&to, visit.t.say("alerts.no_channel"))),
        None => {
            let names: Vec<_> = channels.iter().map(|one| one.channel.as_str()).collect();
            let message = visit.t.say("alerts.test_sent").with("channels", visit.t.list(&names));
            Ok(visit.done(&to, message))
        }
    }
}
