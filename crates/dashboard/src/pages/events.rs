//! `/ui/events` and `/ui/events/{event}`: was it published, and which endpoints got it?

use std::collections::HashMap;

use askama::Template;
use gancho_domain::Pattern;
use http::StatusCode;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{json, value::RawValue};

use super::{
    deliveries::all_endpoint_names,
    delivery_row::{DeliveryRow, Reason},
    list::List,
    list_filter::{self, ListFilter},
    rejected_events,
};
use crate::{
    display_time::DisplayTime,
    escape::Text,
    handlers::PageResult,
    json::pretty,
    page,
    params::Link,
    problem::{FormErrors, Problem},
    search,
    sentence::Html,
    shell::Shell,
    submission::Submission,
    texts::Texts,
    visit::Visit,
};

const PATH: &str = "/events";
/// Maximum endpoints that an event is sent to from its page, because a tenant may have that many concurrent
/// replays.
const MAX_SENT_TO: usize = 10;

#[derive(Deserialize)]
struct EventRow {
    id: String,
    /// Only in a list of all tenants.
    tenant: Option<Text>,
    r#type: Text,
    subject: Option<Text>,
    external_id: Option<Text>,
    is_test: bool,
    deliveries: u64,
    created_at: DisplayTime,
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
    created_at: DisplayTime,
    deliveries: Vec<DeliveryRow>,
}

#[derive(Deserialize)]
struct CancelCount {
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
    /// Ids of events that are not due yet.
    scheduled: HashMap<String, DisplayTime>,
    is_unmatched: bool,
    has_rejected: bool,
    filter: ListFilter,
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
    /// Where to post the form that sends it, if it matched nothing and endpoints subscribe to its type now.
    send: Option<Link>,
    /// The number of endpoints that would get it.
    matching: u64,
}

#[derive(Deserialize)]
struct Endpoint {
    id: String,
    events: Vec<String>,
    is_active: bool,
}

impl Endpoint {
    fn takes(&self, event_type: &str) -> bool {
        let mut patterns = self.events.iter().filter_map(|text| text.parse::<Pattern>().ok());
        self.is_active && patterns.any(|pattern| pattern.matches(event_type))
    }
}

impl EventPage {
    fn is_cancelable(&self) -> bool {
        self.event.deliveries.iter().any(|row| !row.is_final())
    }

    /// Returns when it is due, if that is in the future.
    fn scheduled_for(&self) -> Option<&DisplayTime> {
        self.event.deliveries.iter().find_map(scheduled_for)
    }

    fn kind(&self) -> &Text {
        &self.event.r#type
    }

    fn endpoint(&self, row: &DeliveryRow) -> Text {
        let name = row.webhook_id.as_ref().and_then(|id| self.names.get(id));
        name.cloned().unwrap_or_default()
    }
}

fn scheduled_for(row: &DeliveryRow) -> Option<&DisplayTime> {
    let waiting = row.waiting_for.as_ref().filter(|waiting| waiting.reason == Reason::Schedule);
    waiting.and_then(|waiting| waiting.until.as_ref())
}

/// Returns events that are not due yet, by id, among the newest pending deliveries.
async fn scheduled(visit: &Visit) -> HashMap<String, DisplayTime> {
    let link = Link::new("/v1/deliveries").with("status", "pending").with("limit", 500);
    let List { data, .. }: List<DeliveryRow> = visit.get(link).await.unwrap_or_default();
    let due = |row: DeliveryRow| Some((row.event_id.clone()?, *scheduled_for(&row)?));
    data.into_iter().filter_map(due).collect()
}

const CONDITIONS: [list_filter::Template; 4] = [
    ("type", "event_type", "invoice.paid"),
    ("external", "external_id", "order-1042"),
    list_filter::SINCE,
    list_filter::UNTIL,
];

impl EventsPage {
    fn event_type(&self) -> &str {
        self.filter.get("type").unwrap_or_default()
    }

    /// Returns one of the two tabs, with the conditions in force.
    fn tab(&self, is_unmatched: bool) -> Link {
        self.filter.here.clone().with("unmatched", if is_unmatched { "true" } else { "" })
    }
}

pub async fn list(visit: Visit) -> PageResult {
    let t = visit.t;
    let is_unmatched = visit.params.get("unmatched") == Some("true");
    let unmatched = if is_unmatched { "true" } else { "" };
    let base = visit.link(PATH).with("unmatched", unmatched);
    let mut filter = ListFilter::read(&visit, base, &CONDITIONS);
    if let (Some(external), None) = (filter.get("external"), &visit.tenant) {
        return Ok(page::see_other(&of_external_id(&visit, &filter, external).await?.to_string()));
    }
    let link =
        filter.to_api(Link::new("/v1/events")).with("unmatched", unmatched).with("limit", 50);
    let link = link.maybe("cursor", visit.params.get("cursor"));
    let (List { data: rows, next_cursor }, errors) = match visit.get(link).await {
        Ok(list) => (list, FormErrors::default()),
        Err(problem) if problem.is_filter() => (List::default(), FormErrors::from(problem)),
        Err(problem) => return Err(problem),
    };
    filter.mark(&t, &errors);
    let template = EventsPage {
        t,
        s: Shell::new(&visit, PATH, t.say("nav.events")).await,
        rows,
        scheduled: scheduled(&visit).await,
        is_unmatched,
        has_rejected: rejected_events::exist(&visit).await,
        next: next_cursor.map(|cursor| filter.here.clone().with("cursor", cursor)),
        filter,
        errors,
    };
    Ok(page::show(template.errors.status(), &template))
}

/// Returns the list of the tenant that has this external id. If several have it, or none, redirects to the
/// search.
async fn of_external_id(
    visit: &Visit,
    filter: &ListFilter,
    external: &str,
) -> Result<Link, Problem> {
    let found = search::find(visit, external).await?;
    Ok(match found.owners_of_events().as_slice() {
        [owner] => filter.here.clone().with("tenant", owner.as_str()),
        _ => visit.link("/search").with("q", external),
    })
}

pub async fn cancel(submission: Submission) -> PageResult {
    let visit = submission.visit;
    let link = Link::new(format!("/v1/events/{}/cancel", visit.segment("event")));
    let done: CancelCount = visit.post(link, json!({})).await?;
    let here = visit.link(format!("{PATH}/{}", visit.segment("event")));
    Ok(visit.done(&here, visit.t.count("events.was_canceled", done.canceled)))
}

/// Sends an event that matched nothing to the endpoints that subscribe to its type now.
pub async fn send(submission: Submission) -> PageResult {
    let visit = submission.visit;
    let link = Link::new(format!("/v1/events/{}", visit.segment("event")));
    let event: Event = visit.get(link).await?;
    let endpoints = matching(&visit, &event.r#type).await?;
    for endpoint in endpoints.iter().take(MAX_SENT_TO) {
        let filter = json!({"event_ids": [event.id]});
        let body = json!({"of": "events", "missing": true, "filter": filter, "to": endpoint.id});
        let _: IgnoredAny = visit.post(Link::new("/v1/replays"), body).await?;
    }
    let sent = endpoints.len().min(MAX_SENT_TO) as u64;
    let here = visit.link(format!("{PATH}/{}", visit.segment("event")));
    Ok(visit.done(&here, visit.t.count("events.was_sent", sent)))
}

async fn matching(visit: &Visit, event_type: &Text) -> Result<Vec<Endpoint>, Problem> {
    let link = Link::new("/v1/webhooks").with("limit", 500);
    let List { data, .. }: List<Endpoint> = visit.get(link).await?;
    Ok(data.into_iter().filter(|one| one.takes(event_type.as_str())).collect())
}

/// Returns where an event without deliveries can be sent from its page, and to how many endpoints.
async fn sendable(visit: &Visit, event: &Event) -> Option<(Link, u64)> {
    if !event.deliveries.is_empty() || !visit.visitor.may_change() {
        return None;
    }
    let acting = if visit.tenant.is_some() {
        visit.clone()
    } else {
        let owner = search::owner(visit, &event.id).await?;
        visit.acting_for(owner.as_str()).await.ok()?
    };
    let endpoints = matching(&acting, &event.r#type).await.ok()?;
    let link = acting.link(format!("{PATH}/{}/send", visit.segment("event")));
    (!endpoints.is_empty()).then(|| (link, endpoints.len().min(MAX_SENT_TO) as u64))
}

pub async fn show(visit: Visit) -> PageResult {
    let t = visit.t;
    let link = Link::new(format!("/v1/events/{}", visit.segment("event")));
    let event: Event = visit.get(link).await?;
    let (send, matching) = sendable(&visit, &event).await.unzip();
    let template = EventPage {
        t,
        s: Shell::new(&visit, PATH, t.say("events.one").with("name", &event.r#type)).await,
        data: pretty(&event.data),
        names: all_endpoint_names(&visit).await,
        send,
        matching: matching.unwrap_or_default(),
        event,
    };
    Ok(page::show(StatusCode::OK, &template))
}
