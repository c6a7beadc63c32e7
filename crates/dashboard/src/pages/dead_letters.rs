//! `/ui/dead-letters`: what was given up, and how to send it again.

pub mod export;
mod filter;
mod matrix;
pub mod purge;
pub mod selection;
mod targets;

use std::collections::{BTreeSet, HashMap};

use askama::Template;
use serde::Deserialize;
use serde_json::Value;

use self::{
    filter::{Chip, Filter},
    matrix::Matrix,
    targets::Targets,
};
use super::{deliveries::all_endpoint_names, list::List, replays::Replay};
use crate::{
    display_time::DisplayTime,
    endpoint_names,
    escape::Text,
    failure,
    flashes::FlashKind,
    handlers::PageResult,
    page,
    params::{Link, segment},
    problem::{FormErrors, Problem},
    sentence::Html,
    shell::Shell,
    submission::Submission,
    texts::Texts,
    visit::Visit,
};

const PATH: &str = "/dead-letters";
const ROWS: usize = 50;

#[derive(Deserialize)]
struct DeadLetter {
    id: String,
    lane: Text,
    tenant_id: Option<String>,
    partner: Option<Text>,
    subject_id: Text,
    subject: Option<Text>,
    target_id: Option<String>,
    event_type: Text,
    failed_attempts: u32,
    last_failure_reason: Text,
    last_failure_code: Text,
    moved_to_dlq_at: DisplayTime,
    expires_at: DisplayTime,
}

impl DeadLetter {
    /// Returns the slug of the tenant, or the partner.
    fn owner(&self, slugs: &HashMap<String, Text>) -> Text {
        let slug = self.tenant_id.as_ref().and_then(|id| slugs.get(id));
        self.partner.as_ref().or(slug).cloned().unwrap_or_default()
    }

    /// Returns the type of its event; receipts and e-mails have none.
    fn kind(&self) -> Option<&Text> {
        Some(&self.event_type).filter(|_| self.lane.as_str() == "webhook")
    }

    fn why(&self, t: &Texts) -> Html {
        failure::short(t, Some(&self.last_failure_code), &self.last_failure_reason)
    }

    /// Returns the page of the delivery, limited to its tenant.
    fn href(&self, s: &Shell) -> Link {
        let link = s.of("/deliveries", &self.id);
        match (&self.tenant_id, s.tenant()) {
            (Some(tenant), None) if !s.is_portal() => link.with("tenant", tenant),
            _ => link,
        }
    }
}

#[derive(Template)]
#[template(path = "dead_letters.html")]
struct DeadLettersPage {
    t: Texts,
    s: Shell,
    filter: Filter,
    matrix: Matrix,
    lead: Html,
    rows: Vec<DeadLetter>,
    /// Slugs of tenants by id.
    slugs: HashMap<String, Text>,
    next: Option<Link>,
    /// The counts of a dry run of the filter.
    dry_run: Option<Replay>,
    /// The state of the endpoints that it would send to.
    health: Option<Targets>,
    /// Endpoints that a replay may send to instead, if the page is limited to a tenant.
    endpoints: Vec<(String, Text)>,
    /// The chosen endpoint.
    to: String,
    chips: Vec<Chip>,
    /// Names of the endpoints of the rows, by id.
    targets: HashMap<String, Text>,
    errors: FormErrors,
}

impl DeadLettersPage {
    fn action(&self) -> Link {
        self.filter.link(&self.s.visit, "/dead-letters/replay")
    }

    fn act(&self, action: &str) -> Link {
        self.filter.link(&self.s.visit, &format!("{PATH}/{action}"))
    }

    /// Returns the name of the chosen endpoint.
    fn destination(&self) -> Option<&Text> {
        self.endpoints.iter().find(|(id, _)| *id == self.to).map(|(_, name)| name)
    }

    /// Returns what was given up: a delivery to an endpoint, or of a receipt or an e-mail.
    fn what(&self, row: &DeadLetter) -> Text {
        let name = row.target_id.as_ref().and_then(|id| self.targets.get(id));
        let name = name.filter(|name| !name.is_empty()).or(row.partner.as_ref());
        name.cloned().unwrap_or_else(|| row.subject_id.clone())
    }

    fn without(&self, name: &str) -> Link {
        self.filter.link(&self.s.visit, PATH).with(name, "")
    }
}

pub async fn show(visit: Visit) -> PageResult {
    show_with(visit, None, "").await
}

async fn show_with(visit: Visit, dry_run: Option<Replay>, to: &str) -> PageResult {
    let t = visit.t;
    let filter = Filter::read(&visit.params);
    let link = filter.to_api("/v1/dlq").with("limit", ROWS);
    let link = link.maybe("cursor", visit.params.get("cursor"));
    let (List { data: rows, next_cursor }, errors) = match visit.get::<List<DeadLetter>>(link).await
    {
        Ok(list) => (list, FormErrors::default()),
        Err(problem) if problem.is_filter() => (List::default(), FormErrors::from(problem)),
        Err(problem) => return Err(problem),
    };
    let targets = rows.iter().filter_map(|row| row.target_id.as_ref());
    let targets = endpoint_names::read(&visit, targets).await;
    let matrix = Matrix::read(&visit).await?;
    let page_link = filter.link(&visit, PATH);
    let template = DeadLettersPage {
        t,
        s: Shell::new(&visit, PATH, t.say("nav.dead_letters")).await,
        lead: lead(&t, &matrix),
        matrix,
        slugs: slugs(&visit, &rows).await,
        rows,
        next: next_cursor.map(|cursor| page_link.with("cursor", cursor)),
        health: match dry_run {
            Some(_) => Targets::read(&visit, &filter, to).await.ok(),
            None => None,
        },
        dry_run,
        endpoints: endpoints(&visit).await,
        to: to.to_owned(),
        chips: filter.chips(&t, &errors),
        filter,
        targets,
        errors,
    };
    Ok(page::show(template.errors.status(), &template))
}

async fn endpoints(visit: &Visit) -> Vec<(String, Text)> {
    if visit.tenant.is_none() {
        return Vec::new();
    }
    let mut endpoints: Vec<_> = all_endpoint_names(visit).await.into_iter().collect();
    endpoints.sort_by(|one, other| one.1.cmp(&other.1));
    endpoints
}

async fn slugs(visit: &Visit, rows: &[DeadLetter]) -> HashMap<String, Text> {
    let ids: BTreeSet<&String> = rows.iter().filter_map(|row| row.tenant_id.as_ref()).collect();
    let mut slugs = HashMap::new();
    for id in ids {
        if let Ok(Some(tenant)) = visit.dashboard.backend.tenant(id).await {
            slugs.insert(id.clone(), tenant.slug.as_str().into());
        }
    }
    slugs
}

fn lead(t: &Texts, matrix: &Matrix) -> Html {
    match &matrix.oldest {
        Some(oldest) => t.count("dead.lead", matrix.total).html("ago", t.ago(oldest)).into(),
        None => t.say("dead.none").into(),
    }
}

/// Counts what a replay would send, or starts it. The filter is in the URL of the form.
pub async fn replay(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let filter = Filter::read(&visit.params);
    let is_dry = form.get("confirm").is_none();
    let mut body = filter.body();
    body.insert("dry_run".to_owned(), Value::Bool(is_dry));
    if let Some(rate) = form.get("rate").and_then(|rate| rate.trim().parse::<u32>().ok()) {
        body.insert("rate".to_owned(), rate.into());
    }
    let to = form.text("to").to_owned();
    if !to.is_empty() {
        body.insert("to".to_owned(), to.as_str().into());
    }
    let started = visit.post::<Replay>(Link::new("/v1/dlq/replay"), Value::Object(body)).await;
    let back = filter.link(&visit, PATH);
    match started {
        // A dry run is not stored: its counts are in the response.
        Ok(counted) if is_dry => show_with(visit, Some(counted), &to).await,
        Ok(replay) => {
            let page = visit.link(format!("/replays/{}", segment(&replay.id)));
            Ok(visit.done(&page, visit.t.say("replay.was_started")))
        }
        Err(problem) if problem.is_input() => Ok(refuse(&visit, &back, &problem)),
        Err(problem) => Err(problem),
    }
}

fn refuse(visit: &Visit, back: &Link, problem: &Problem) -> axum::response::Response {
    visit.leave(FlashKind::Error, Html::text(&problem.detail));
    page::see_other(&back.to_string())
}
