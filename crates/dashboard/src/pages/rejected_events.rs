//! `/ui/rejected-events`: events that applications published from SQL, and why they were not accepted.

use std::collections::HashMap;

use askama::Template;
use http::{Method, StatusCode};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, value::RawValue};

use super::list::List;
use crate::{
    display_time::DisplayTime,
    escape::Text,
    flashes::FlashKind,
    handlers::PageResult,
    json, page,
    params::Link,
    sentence::{Html, Sentence},
    shell::Shell,
    submission::Submission,
    texts::Texts,
    visit::Visit,
};

pub const PATH: &str = "/rejected-events";

#[derive(Deserialize)]
struct RejectedEvent {
    id: String,
    tenant_id: String,
    r#type: Text,
    external_id: Option<Text>,
    data: Option<Box<RawValue>>,
    code: Text,
    detail: Text,
    rejected_at: DisplayTime,
}

impl RejectedEvent {
    fn kind(&self) -> &Text {
        &self.r#type
    }

    fn data(&self) -> Option<Html> {
        self.data.as_deref().map(json::pretty)
    }
}

#[derive(Template)]
#[template(path = "rejected_events.html")]
struct RejectedEventsPage {
    t: Texts,
    s: Shell,
    rows: Vec<RejectedEvent>,
    /// Slugs of tenants by id.
    tenants: HashMap<String, Text>,
    next: Option<Link>,
}

impl RejectedEventsPage {
    fn tenant(&self, row: &RejectedEvent) -> Text {
        self.tenants.get(&row.tenant_id).cloned().unwrap_or_else(|| row.tenant_id.as_str().into())
    }
}

/// Whether there are any, for a page that links here.
pub async fn exist(visit: &Visit) -> bool {
    if visit.is_portal() {
        return false;
    }
    let link = Link::new("/v1/rejected-events").with("limit", 1);
    let found = visit.get::<List<IgnoredAny>>(link).await;
    found.is_ok_and(|list| !list.data.is_empty())
}

pub async fn show(visit: Visit) -> PageResult {
    let t = visit.t;
    let link = Link::new("/v1/rejected-events").with("limit", 50);
    let link = link.maybe("cursor", visit.params.get("cursor"));
    let List { data: rows, next_cursor }: List<RejectedEvent> = visit.get(link).await?;
    let mut tenants = HashMap::new();
    for row in &rows {
        if !tenants.contains_key(&row.tenant_id)
            && let Ok(Some(tenant)) = visit.dashboard.backend.tenant(&row.tenant_id).await
        {
            tenants.insert(row.tenant_id.clone(), tenant.slug.as_str().into());
        }
    }
    let template = RejectedEventsPage {
        t,
        s: Shell::new(&visit, "/events", t.say("rejected.title")).await,
        rows,
        tenants,
        next: next_cursor.map(|cursor| visit.link(PATH).with("cursor", cursor)),
    };
    Ok(page::show(StatusCode::OK, &template))
}

pub async fn retry(submission: Submission) -> PageResult {
    let message = submission.visit.t.say("rejected.was_retried");
    act(&submission.visit, Method::POST, "/retry", message).await
}

pub async fn delete(submission: Submission) -> PageResult {
    let message = submission.visit.t.say("rejected.was_deleted");
    act(&submission.visit, Method::DELETE, "", message).await
}

async fn act(visit: &Visit, method: Method, below: &str, message: Sentence) -> PageResult {
    let link = Link::new(format!("/v1/rejected-events/{}{below}", visit.segment("event")));
    let back = visit.link(PATH);
    match visit.send::<Value>(method, link, None).await {
        Ok(_) => Ok(visit.done(&back, message)),
        Err(problem) if problem.is_input() => {
            visit.leave(FlashKind::Error, Html::text(&problem.detail));
            Ok(page::see_other(&back.to_string()))
        }
        Err(problem) => Err(problem),
    }
}
