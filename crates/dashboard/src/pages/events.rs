//! `/ui/events` and `/ui/events/{event}`: was it published, and to whom did it go?

use std::collections::HashMap;

use askama::Template;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::{deliveries::endpoint_names, delivery_row::DeliveryRow, list::List};
use crate::{
    dashboard::PageResult, escape::Text, json::pretty, moment::Moment, page, params::Link,
    problem::FormErrors, sentence::Html, shell::Shell, submission::Submission, texts::Texts,
    visit::Visit,
};

const PATH: &str = "/events";

#[derive(Deserialize)]
struct EventRow {
    id: String,
    /// In a list of all tenants.
    tenant: Option<Text>,
    r#type: Text,
    subject: Option<Text>,
    external_id: Option<Text>,
    is_test: bool,
    deliveries: u64,
    created_at: Moment,
}

#[derive(Deserialize)]
struct Event {
    id: String,
    r#type: Text,
    data: Box<RawValue>,
    subject: Option<Text>,
    external_id: Option<Text>,
    sequence_number: Option<u64>,
    is_test: bool,
    created_at: Moment,
    deliveries: Vec<DeliveryRow>,
}

#[derive(Deserialize)]
struct Canceled {
    canceled: u64,
}

impl EventRow {
    fn kind(&self) -> &Text {
        &self.r#type
    }
}

#[derive(Template)]
#[template(path = "events.html")]
struct EventsPage {
    t: Texts,
    s: Shell,
    rows: Vec<EventRow>,
    is_unmatched: bool,
    event_type: String,
    next: Option<Link>,
    errors: FormErrors,
}

#[derive(Template)]
#[template(path = "event.html")]
struct EventPage {
    t: Texts,
    s: Shell,
    event: Event,
    data: Html,
    names: HashMap<String, Text>,
}

impl EventPage {
    fn is_cancelable(&self) -> bool {
        self.event.deliveries.iter().any(|row| !row.is_final())
    }

    fn kind(&self) -> &Text {
        &self.event.r#type
    }

    fn endpoint(&self, row: &DeliveryRow) -> Text {
        let name = row.webhook_id.as_ref().and_then(|id| self.names.get(id));
        name.cloned().unwrap_or_default()
    }
}

pub async fn list(visit: Visit) -> PageResult {
    let t = visit.t;
    let is_unmatched = visit.params.get("unmatched") == Some("true");
    let event_type = visit.params.text("type").to_owned();
    let filter = |link: Link| {
        let link = link.with("unmatched", if is_unmatched { "true" } else { "" });
        link.maybe("external_id", visit.params.get("external"))
    };
    let link = filter(Link::new("/v1/events")).with("event_type", &event_type).with("limit", 50);
    let link = link.maybe("cursor", visit.params.get("cursor"));
    let (List { data: rows, next_cursor }, errors) = match visit.get(link).await {
        Ok(list) => (list, FormErrors::default()),
        Err(problem) if problem.is_filter() => (List::default(), FormErrors::from(problem)),
        Err(problem) => return Err(problem),
    };
    let here = visit.link(PATH).with("unmatched", if is_unmatched { "true" } else { "" });
    let here = here.with("type", &event_type);
    let template = EventsPage {
        t,
        s: Shell::new(&visit, PATH, t.say("nav.events")).await,
        rows,
        is_unmatched,
        event_type,
        next: next_cursor.map(|cursor| here.with("cursor", cursor)),
        errors,
    };
    Ok(page::show(template.errors.status(), &template))
}

pub async fn cancel(submission: Submission) -> PageResult {
    let visit = submission.visit;
    let link = Link::new(format!("/v1/events/{}/cancel", visit.segment("event")));
    let done: Canceled = visit.post(link, json!({})).await?;
    let here = visit.link(format!("{PATH}/{}", visit.segment("event")));
    Ok(visit.done(&here, visit.t.count("events.was_canceled", done.canceled)))
}

pub async fn show(visit: Visit) -> PageResult {
    let t = visit.t;
    let link = Link::new(format!("/v1/events/{}", visit.segment("event")));
    let event: Event = visit.get(link).await?;
    let template = EventPage {
        t,
        s: Shell::new(&visit, PATH, t.say("events.one").with("name", &event.r#type)).await,
        data: pretty(&event.data),
        names: endpoint_names(&visit).await,
        event,
    };
    Ok(page::show(StatusCode::OK, &template))
}
