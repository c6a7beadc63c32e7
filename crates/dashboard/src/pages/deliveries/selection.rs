//! Actions on the selected deliveries of a page: retries them, or cancels their events after asking.

use std::collections::BTreeMap;

use http::StatusCode;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::json;

use super::{
    super::{confirm, delivery_row::Reason},
    DeliveryRow, PATH, ROWS,
    filter::Filter,
};
use crate::{
    escape::Text,
    flashes::FlashKind,
    handlers::PageResult,
    page,
    params::{Link, Params, segment},
    problem::Problem,
    sentence::{Html, Sentence},
    submission::Submission,
    visit::Visit,
};

/// Maximum rows that a live page shows, and so maximum selected rows.
const MAX_SELECTED: usize = 4 * ROWS;

#[derive(Deserialize)]
struct CancelCount {
    canceled: u64,
}

pub async fn retry(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let t = visit.t;
    let Some(ids) = selected(&form) else { return Ok(nothing(&visit, "deliveries.none_selected")) };
    let (mut due, mut refused, mut last) = (0, 0, None);
    for id in ids {
        match retry_one(&visit, &id).await {
            Ok(()) => due += 1,
            Err(problem) if problem.is_input() || problem.is_not_found() => {
                refused += 1;
                last = Some(problem);
            }
            Err(problem) => return Err(problem),
        }
    }
    let done = t.count("deliveries.retried", due);
    let Some(last) = last else { return Ok(visit.done(&list(&visit), done)) };
    let left_out = t.count("deliveries.refused", refused).with("reason", &last.detail);
    visit.leave(FlashKind::Warning, both((due > 0).then_some(done), &left_out));
    Ok(page::see_other(&list(&visit).to_string()))
}

/// Retries a delivery. One that waits for its turn is left out: only its own page asks whether it may
/// overtake others.
async fn retry_one(visit: &Visit, id: &str) -> Result<(), Problem> {
    let link = Link::new(format!("/v1/deliveries/{}", segment(id)));
    let row: DeliveryRow = visit.get(link.clone()).await?;
    if row.waiting_for.is_some_and(|waiting| waiting.reason == Reason::EarlierDelivery) {
        let why = visit.t.say("deliveries.in_order").to_string();
        return Err(Problem::new(StatusCode::CONFLICT, "in_order", &why));
    }
    let link = Link::new(format!("{link}/retry"));
    visit.post::<IgnoredAny>(link, json!({})).await.map(|_| ())
}

/// Cancels after asking, because the API cancels a whole event, and so more than the selected deliveries.
pub async fn cancel(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let t = visit.t;
    let Some(ids) = selected(&form) else { return Ok(nothing(&visit, "deliveries.none_selected")) };
    let events = waiting_events(&visit, &ids).await?;
    let count = events.len() as u64;
    if count == 0 {
        return Ok(nothing(&visit, "deliveries.nothing_waits"));
    }
    if form.get("confirm").is_none() {
        let fields = ids.iter().map(|id| ("id", Text::from(id.as_str())));
        let question = confirm::Question {
            title: t.count("deliveries.cancel_title", count),
            text: t.say("deliveries.cancel_text"),
            action: Filter::read(&visit).link_to(&visit, &format!("{PATH}/selection/cancel")),
            submit: t.count("deliveries.cancel_submit", count),
            fields: fields.chain([("confirm", "yes".into())]).collect(),
            back: list(&visit),
        };
        return Ok(confirm::ask(&visit, PATH, question).await);
    }
    let mut ended = 0;
    for (event, tenant) in events {
        let acting = match &tenant {
            Some(tenant) => visit.acting_for(tenant.as_str()).await?,
            None => visit.clone(),
        };
        let link = Link::new(format!("/v1/events/{}/cancel", segment(&event)));
        let CancelCount { canceled } = acting.post(link, json!({})).await?;
        ended += canceled;
    }
    Ok(visit.done(&list(&visit), t.count("events.was_canceled", ended)))
}

/// Returns the events of the selected deliveries that have not ended, each with its tenant if the page shows
/// all tenants.
async fn waiting_events(
    visit: &Visit,
    ids: &[String],
) -> Result<BTreeMap<String, Option<Text>>, Problem> {
    let mut events = BTreeMap::new();
    for id in ids {
        let link = Link::new(format!("/v1/deliveries/{}", segment(id)));
        let row: DeliveryRow = match visit.get(link).await {
            Ok(row) => row,
            Err(problem) if problem.is_not_found() => continue,
            Err(problem) => return Err(problem),
        };
        if let Some(event) = row.event_id.clone().filter(|_| !row.is_final()) {
            events.insert(event, row.tenant);
        }
    }
    Ok(events)
}

/// Returns the ids of the selected rows; `None` without any.
fn selected(form: &Params) -> Option<Vec<String>> {
    let ids: Vec<String> = form.all("id").take(MAX_SELECTED).map(str::to_owned).collect();
    (!ids.is_empty()).then_some(ids)
}

fn list(visit: &Visit) -> Link {
    Filter::read(visit).link(visit)
}

fn nothing(visit: &Visit, why: &'static str) -> axum::response::Response {
    visit.leave(FlashKind::Error, visit.t.say(why));
    page::see_other(&list(visit).to_string())
}

fn both(one: Option<Sentence>, other: &Sentence) -> Html {
    match one {
        Some(one) => Html::trusted(format!("{one} {other}")),
        None => other.clone().into(),
    }
}
