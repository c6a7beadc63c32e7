//! `/ui/emails`: did it arrive? One e-mail can be open beside the list.

use askama::Template;
use serde::Deserialize;
use serde_json::Value;

use super::{
    delivery_row::DeliveryRow,
    list::List,
    list_filter::{self, ListFilter},
    waits,
};
use crate::{
    display_time::DisplayTime,
    escape::{Block, Text},
    failure,
    handlers::PageResult,
    page,
    params::{Link, segment},
    problem::FormErrors,
    search,
    sentence::{Html, Sentence},
    shell::Shell,
    status_mark::StatusMark,
    texts::Texts,
    visit::Visit,
};

pub const PATH: &str = "/emails";

const CONDITIONS: [list_filter::Template; 4] = [
    ("recipient", "recipient", "ana@example.com"),
    ("external", "externalId", "order-1042"),
    list_filter::SINCE,
    list_filter::UNTIL,
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EmailRow {
    outbox_id: String,
    external_id: Option<Text>,
    company_id: Text,
    recipient: Text,
    subject: Text,
    status: String,
    attempts: u32,
    created_at: DisplayTime,
    sent_at: Option<DisplayTime>,
    next_retry_at: Option<DisplayTime>,
    failure_code: Option<Text>,
    failure_reason: Option<Text>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Email {
    #[serde(flatten)]
    row: EmailRow,
    from: Text,
    message_id: Option<Text>,
    delivery_id: String,
    attempt_log: Vec<Attempt>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attempt {
    #[serde(rename = "attempt")]
    number: u32,
    started_at: DisplayTime,
    response_status: Option<u16>,
    response: Block,
    error: Option<Text>,
}

impl EmailRow {
    fn is_waiting(&self) -> bool {
        !matches!(self.status.as_str(), "SENT" | "FAILED")
    }

    fn mark(&self) -> StatusMark {
        match self.status.as_str() {
            "SENT" => StatusMark::Delivered,
            "FAILED" => StatusMark::Failed,
            "RETRY_SCHEDULED" => StatusMark::Retrying,
            _ => StatusMark::Pending,
        }
    }

    fn failure_in_full(&self, t: &Texts) -> Option<Html> {
        let reason = self.failure_reason.as_ref()?;
        Some(failure::full(t, self.failure_code.as_ref(), reason))
    }

    /// Returns why it failed.
    fn failure(&self, t: &Texts) -> Option<Html> {
        let reason = self.failure_reason.as_ref()?;
        Some(failure::short(t, self.failure_code.as_ref(), reason))
    }

    fn word(&self, t: &Texts) -> Sentence {
        match self.status.as_str() {
            "SENT" => t.say("emails.sent"),
            "FAILED" => t.say("emails.failed"),
            "RETRY_SCHEDULED" => t.say("status.retrying"),
            _ => t.say("status.pending"),
        }
    }
}

impl Attempt {
    fn mark(&self) -> StatusMark {
        if self.error.is_none() { StatusMark::Delivered } else { StatusMark::Failed }
    }

    fn word(&self, t: &Texts) -> Sentence {
        if self.error.is_none() {
            t.say("status.delivered")
        } else {
            t.say("status.failed_attempt")
        }
    }
}

#[derive(Template)]
#[template(path = "emails.html")]
struct EmailsPage {
    t: Texts,
    s: Shell,
    status: String,
    filter: ListFilter,
    rows: Vec<EmailRow>,
    /// The deliveries of waiting ones.
    waiting: Vec<DeliveryRow>,
    peek: Option<Email>,
    /// Whether e-mails are captured instead of being sent.
    has_captured: bool,
    next: Option<Link>,
    errors: FormErrors,
}

impl EmailsPage {
    fn here(&self) -> Link {
        self.filter.here.clone()
    }

    fn tabs(&self) -> [(&'static str, Sentence); 5] {
        let t = &self.t;
        [
            ("", t.say("endpoints.all")),
            ("PENDING", t.say("status.pending")),
            ("RETRY_SCHEDULED", t.say("status.retrying")),
            ("SENT", t.say("emails.sent")),
            ("FAILED", t.say("emails.failed")),
        ]
    }

    /// Returns the list with this e-mail beside it, limited to its tenant.
    fn peek_at(&self, row: &EmailRow) -> Link {
        self.here().with("tenant", &row.company_id).with("peek", &row.outbox_id)
    }

    fn waiting(&self, row: &EmailRow) -> Option<&DeliveryRow> {
        let is_of = |one: &&DeliveryRow| one.outbox_id.as_deref() == Some(&*row.outbox_id);
        self.waiting.iter().find(is_of).filter(|_| row.is_waiting())
    }

    fn mark(&self, row: &EmailRow) -> StatusMark {
        self.waiting(row).map_or(row.mark(), DeliveryRow::mark)
    }

    fn word(&self, row: &EmailRow) -> Sentence {
        self.waiting(row).map_or_else(|| row.word(&self.t), |one| one.word(&self.t))
    }

    /// Returns why it waits; empty if it does not.
    fn why(&self, row: &EmailRow) -> Html {
        self.waiting(row).map(|one| one.why(&self.t)).unwrap_or_default()
    }

    fn is_peeked(&self, row: &EmailRow) -> bool {
        self.peek.as_ref().is_some_and(|peek| peek.row.outbox_id == row.outbox_id)
    }
}

pub async fn show(visit: Visit) -> PageResult {
    let t = visit.t;
    if let (Some(id), None) = (visit.params.get("peek"), &visit.tenant) {
        return Ok(page::see_other(&page_of(&visit, id).await.to_string()));
    }
    let status = visit.params.text("status").to_owned();
    let base = visit.link(PATH).with("status", &status);
    let mut filter = ListFilter::read(&visit, base, &CONDITIONS);
    if let (Some(external), None) = (filter.get("external"), &visit.tenant) {
        return Ok(page::see_other(&visit.link("/search").with("q", external).to_string()));
    }
    let link = filter.to_api(Link::new("/v1/emails")).with("status", &status).with("limit", 50);
    let link = link.maybe("cursor", visit.params.get("cursor"));
    let (List { data: rows, next_cursor }, errors) = match visit.get(link).await {
        Ok(list) => (list, FormErrors::default()),
        Err(problem) if problem.is_filter() => (List::default(), FormErrors::from(problem)),
        Err(problem) => return Err(problem),
    };
    filter.mark(&t, &errors);
    let peek = peek(&visit).await?;
    let mut shown = rows.iter().chain(peek.as_ref().map(|peek| &peek.row));
    let waiting =
        if shown.any(EmailRow::is_waiting) { waits::of_emails(&visit).await } else { Vec::new() };
    let template = EmailsPage {
        t,
        s: Shell::new(&visit, PATH, t.say("nav.emails")).await,
        status,
        rows,
        waiting,
        peek,
        has_captured: visit.get_as_operator::<Value>(Link::new("/v1/dev/emails")).await.is_ok(),
        next: next_cursor.map(|cursor| filter.here.clone().with("cursor", cursor)),
        filter,
        errors,
    };
    Ok(page::show(template.errors.status(), &template))
}

/// Returns the page of an e-mail, limited to its tenant. One that does not exist is searched for.
async fn page_of(visit: &Visit, id: &str) -> Link {
    match search::owner(visit, id).await {
        Some(owner) => visit.page(PATH).with("tenant", owner).with("peek", id),
        None => visit.page("/search").with("q", id),
    }
}

async fn peek(visit: &Visit) -> Result<Option<Email>, crate::problem::Problem> {
    let Some(id) = visit.params.get("peek") else { return Ok(None) };
    visit.get(Link::new(format!("/v1/emails/{}", segment(id)))).await.map(Some)
}
