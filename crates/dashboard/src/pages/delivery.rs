//! `/ui/deliveries/{delivery}`: why did it fail, why does it wait, what exactly was sent?

mod attempt;
mod curl;
mod plan;
mod signature;
mod waiting;

use askama::Template;
use http::StatusCode;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{json, value::RawValue};

use self::{
    attempt::{Attempt, Change},
    plan::PlanStep,
    signature::SignatureForm,
    waiting::Waiting,
};
use super::{
    confirm,
    delivery_row::{DeliveryRow, Reason},
    endpoint_facts::{EndpointFacts, find_endpoint},
};
use crate::{
    escape::Text,
    failure,
    flashes::FlashKind,
    handlers::PageResult,
    json, page,
    params::{Link, Params, segment},
    sentence::{Html, Sentence},
    shell::Shell,
    submission::Submission,
    texts::Texts,
    visit::Visit,
};

const PATH: &str = "/deliveries";

#[derive(Deserialize)]
struct Detail {
    #[serde(flatten)]
    row: DeliveryRow,
    payload: Option<Box<RawValue>>,
    /// The attempts, oldest first.
    attempt_log: Vec<Attempt>,
}

#[derive(Deserialize)]
struct EventDeliveries {
    #[serde(default)]
    subject: Option<Text>,
    #[serde(default)]
    sequence_number: Option<u64>,
    deliveries: Vec<DeliveryRow>,
}

#[derive(Template)]
#[template(path = "delivery.html")]
struct DeliveryPage {
    t: Texts,
    s: Shell,
    row: DeliveryRow,
    endpoint: Option<EndpointFacts>,
    /// The id of its endpoint, if that was deleted.
    deleted: Option<Text>,
    /// Whether it has a dead letter that can be replayed.
    is_kept: bool,
    waiting: Option<Waiting>,
    plan: Vec<PlanStep>,
    /// The attempts, newest first.
    attempts: Vec<Attempt>,
    chosen: Option<usize>,
    /// The attempt that it is compared with.
    compared: Option<usize>,
    changes: Vec<Change>,
    signature: SignatureForm,
    body: Option<Html>,
    body_size: u64,
    curl: Option<String>,
    event: Option<EventDeliveries>,
    others: Vec<(DeliveryRow, Option<Text>)>,
}

impl DeliveryPage {
    fn here(&self) -> Link {
        let link = self.s.link(&format!("{PATH}/{}", segment(&self.row.id)));
        link.maybe("list", self.s.visit.params.get("list"))
    }

    /// Returns the list that it was opened from, with its filter.
    fn list(&self) -> Link {
        match self.s.visit.params.get("list") {
            Some(query) => Link::again(self.s.page(PATH), &Params::parse(query)),
            None => self.s.link(PATH),
        }
    }

    /// Returns the page of its receipt.
    fn receipt(&self, id: &str) -> Option<Link> {
        let partner = self.row.partner.as_ref()?;
        Some(self.s.act("/sources", partner, &format!("receipts/{}", segment(id))))
    }

    fn chosen_attempt(&self) -> Option<&Attempt> {
        self.attempts.get(self.chosen?)
    }

    fn is_chosen(&self, attempt: &Attempt) -> bool {
        self.chosen_attempt().is_some_and(|chosen| chosen.number == attempt.number)
    }

    /// Returns the other attempts, to compare the shown one with.
    fn others_to_compare(&self) -> impl Iterator<Item = &Attempt> {
        self.attempts.iter().filter(|attempt| !self.is_chosen(attempt))
    }

    fn is_compared(&self, attempt: &Attempt) -> bool {
        let compared = self.compared.and_then(|index| self.attempts.get(index));
        compared.is_some_and(|compared| compared.number == attempt.number)
    }

    fn compare_link(&self, with: &Attempt) -> Link {
        let chosen = self.chosen_attempt().map_or(0, |attempt| attempt.number);
        self.here().with("attempt", chosen).with("compare", with.number)
    }

    /// Whether it can be canceled: it waits, and no attempt is in flight.
    fn is_stoppable(&self) -> bool {
        let waiting = self.row.waiting_for.as_ref();
        waiting.is_some_and(|waiting| waiting.reason != Reason::Attempt)
    }

    /// Returns the seconds after which the page is reloaded; 0 once it has ended.
    fn refresh(&self) -> u32 {
        if matches!(self.row.status.as_str(), "delivered" | "failed") { 0 } else { 3 }
    }

    /// Returns how it ended, in one sentence.
    fn end(&self) -> Option<Html> {
        let t = &self.t;
        let tried = t.number(u64::from(self.row.attempts));
        match (&self.row.delivered_at, self.row.status.as_str()) {
            (Some(at), _) => {
                let span = t.span(at.time().since(self.row.created_at.time()));
                let sentence = t.say("delivery.delivered").with("n", tried);
                Some(sentence.html("time", t.full_time(at)).with("span", span).into())
            }
            (None, "failed") => {
                let reason = self.row.last_error.clone().unwrap_or_default();
                let code = self.row.last_error_code.clone().unwrap_or_default();
                let why = failure::short(t, Some(&code), &reason);
                let sentence = t.count("delivery.failed", u64::from(self.row.attempts));
                Some(sentence.html("reason", why).code("code", code).into())
            }
            _ => None,
        }
    }
}

pub async fn show(visit: Visit) -> PageResult {
    show_with(visit, SignatureForm::default()).await
}

/// Checks what a receiver got. Changes nothing.
pub async fn check_signature(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let checked = SignatureForm::check(&visit, &form).await?;
    show_with(visit, checked).await
}

async fn show_with(visit: Visit, signature: SignatureForm) -> PageResult {
    let t = visit.t;
    let link = Link::new(format!("/v1/deliveries/{}", visit.segment("delivery")));
    let Detail { row, payload, mut attempt_log } = visit.get(link).await?;
    // A link without a tenant leads to the page of the delivery's own tenant, where its endpoint can be read.
    if let (None, Some(tenant)) = (&visit.tenant, &row.tenant)
        && let Ok(own) = visit.acting_for(tenant.as_str()).await
    {
        return Box::pin(show_with(own, signature)).await;
    }
    attempt_log.reverse();
    let endpoint = find_endpoint(&visit, row.webhook_id.as_deref()).await;
    let deleted = deleted_endpoint(&visit, &row, endpoint.as_ref()).await;
    let chosen = choose(&attempt_log, visit.params.get("attempt"));
    let compared = compare_with(&attempt_log, chosen, visit.params.get("compare"));
    let changes = match chosen.zip(compared) {
        Some((one, other)) => {
            attempt::changes(&attempt_log[one.max(other)], &attempt_log[one.min(other)])
        }
        None => Vec::new(),
    };
    let is_kept = is_kept(&visit, &row).await;
    let event = read_event(&visit, row.event_id.as_deref()).await;
    let others = others(&visit, &row, event.as_ref()).await;
    let template = DeliveryPage {
        t,
        s: Shell::new(&visit, PATH, t.say("delivery.title").with("name", row.title())).await,
        waiting: Waiting::of(&visit, &row, endpoint.as_ref(), attempt_log.first()).await,
        plan: plan::steps(&t, &row, &attempt_log, endpoint.as_ref(), &visit.dashboard.profiles),
        curl: curl::command(endpoint.as_ref(), attempt_log.first(), payload.as_deref()),
        body_size: payload.as_ref().map_or(0, |payload| payload.get().len() as u64),
        body: payload.as_deref().map(json::pretty),
        is_kept,
        row,
        endpoint,
        deleted,
        attempts: attempt_log,
        chosen,
        compared,
        changes,
        signature,
        event,
        others,
    };
    Ok(page::show(StatusCode::OK, &template))
}

/// Returns the deleted endpoint of a delivery, which cannot be retried.
async fn deleted_endpoint(
    visit: &Visit,
    row: &DeliveryRow,
    endpoint: Option<&EndpointFacts>,
) -> Option<Text> {
    let id = row.webhook_id.as_deref().filter(|_| endpoint.is_none())?;
    let found = visit.get::<IgnoredAny>(Link::new(format!("/v1/webhooks/{}", segment(id)))).await;
    found.is_err_and(|problem| problem.is_not_found()).then(|| id.into())
}

/// Returns the attempt that the URL names, or the newest.
fn choose(attempts: &[Attempt], named: Option<&str>) -> Option<usize> {
    let number = named.and_then(|number| number.parse().ok());
    let place =
        number.and_then(|number: u32| attempts.iter().position(|attempt| attempt.number == number));
    place.or(if attempts.is_empty() { None } else { Some(0) })
}

/// Returns the attempt that the URL names for the comparison, or the one before. Attempts are newest first.
fn compare_with(attempts: &[Attempt], chosen: Option<usize>, named: Option<&str>) -> Option<usize> {
    let (chosen, number) = (chosen?, named.and_then(|number| number.parse::<u32>().ok()));
    let named =
        number.and_then(|number| attempts.iter().position(|attempt| attempt.number == number));
    let other = named.unwrap_or(chosen + 1);
    (other != chosen && other < attempts.len()).then_some(other)
}

/// Whether it has a dead letter. Tests and redirected deliveries leave none, and nobody needs that of a
/// canceled one.
async fn is_kept(visit: &Visit, row: &DeliveryRow) -> bool {
    let is_canceled = row.is_canceled();
    if row.status != "failed" || is_canceled {
        return false;
    }
    visit.get::<IgnoredAny>(Link::new(format!("/v1/dlq/{}", segment(&row.id)))).await.is_ok()
}

/// Reads the event. It may have been removed, or the delivery may be of something else.
async fn read_event(visit: &Visit, id: Option<&str>) -> Option<EventDeliveries> {
    visit.get(Link::new(format!("/v1/events/{}", segment(id?)))).await.ok()
}

/// Returns the other deliveries of the event, with the names of their endpoints.
async fn others(
    visit: &Visit,
    row: &DeliveryRow,
    event: Option<&EventDeliveries>,
) -> Vec<(DeliveryRow, Option<Text>)> {
    let Some(event) = event.filter(|event| event.deliveries.len() > 1) else { return Vec::new() };
    let names = super::deliveries::all_endpoint_names(visit).await;
    let others = event.deliveries.iter().filter(|other| other.id != row.id);
    let name = |other: &DeliveryRow| {
        let id = other.webhook_id.as_ref()?;
        names.get(id).cloned()
    };
    others.map(|other| (other.clone(), name(other))).collect()
}

/// Retries at once. An ordered delivery would leave its order, so the page asks first.
pub async fn retry(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let id = visit.segment("delivery");
    let link = Link::new(format!("/v1/deliveries/{id}"));
    let back = visit.link(format!("{PATH}/{id}"));
    if form.get("confirm").is_none()
        && let Some(text) = order_left(&visit, visit.get(link.clone()).await?).await
    {
        let t = visit.t;
        let question = confirm::Question {
            title: t.say("delivery.overtake_title"),
            text,
            action: visit.link(format!("{PATH}/{id}/retry")),
            submit: t.say("delivery.retry"),
            fields: vec![("confirm", "yes".into())],
            back,
        };
        return Ok(confirm::ask(&visit, PATH, question).await);
    }
    let _: DeliveryRow = visit.post(Link::new(format!("{link}/retry")), json!({})).await?;
    Ok(visit.done(&back, visit.t.say("delivery.retried")))
}

/// Cancels it after asking. The API refuses one that has ended meanwhile or is in flight, and the page says
/// so.
pub async fn stop(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let t = visit.t;
    let id = visit.segment("delivery");
    let back = visit.link(format!("{PATH}/{id}"));
    if form.get("confirm").is_none() {
        // No question is asked about one that does not exist.
        visit.get::<IgnoredAny>(Link::new(format!("/v1/deliveries/{id}"))).await?;
        let question = confirm::Question {
            title: t.say("delivery.stop_title"),
            text: t.say("delivery.stop_text"),
            action: visit.link(format!("{PATH}/{id}/stop")),
            submit: t.say("delivery.stop"),
            fields: vec![("confirm", "yes".into())],
            back,
        };
        return Ok(confirm::ask(&visit, PATH, question).await);
    }
    let link = Link::new(format!("/v1/deliveries/{id}/cancel"));
    match visit.post::<IgnoredAny>(link, json!({})).await {
        Ok(_) => Ok(visit.done(&back, t.say("delivery.stopped"))),
        Err(problem) if problem.is_input() => {
            let text = t.say("delivery.not_stopped").with("reason", &problem.detail);
            visit.leave(FlashKind::Warning, text);
            Ok(page::see_other(&back.to_string()))
        }
        Err(problem) => Err(problem),
    }
}

/// Returns what a retry at once would do to the order of the subject; `None` if it is not ordered.
async fn order_left(visit: &Visit, row: DeliveryRow) -> Option<Sentence> {
    let acting = match &row.tenant {
        Some(tenant) => visit.acting_for(tenant.as_str()).await.ok()?,
        None => visit.clone(),
    };
    let endpoint = find_endpoint(&acting, row.webhook_id.as_deref()).await?;
    let subject = read_event(&acting, row.event_id.as_deref()).await?.subject?;
    let text = acting.t.say("delivery.overtake_text").code("subject", subject);
    endpoint.is_ordered().then_some(text)
}
