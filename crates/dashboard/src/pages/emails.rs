//! `/ui/emails`: did it arrive? With one e-mail beside the list.

use askama::Template;
use serde::Deserialize;
use serde_json::Value;

use super::list::List;
use crate::{
    dashboard::PageResult,
    escape::{Block, Text},
    mark::Mark,
    moment::Moment,
    page,
    params::{Link, segment},
    problem::FormErrors,
    sentence::Sentence,
    shell::Shell,
    texts::Texts,
    visit::Visit,
};

pub const PATH: &str = "/emails";

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
    created_at: Moment,
    sent_at: Option<Moment>,
    next_retry_at: Option<Moment>,
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
    started_at: Moment,
    response_status: Option<u16>,
    response: Block,
    error: Option<Text>,
}

impl EmailRow {
    fn mark(&self) -> Mark {
        match self.status.as_str() {
            "SENT" => Mark::Delivered,
            "FAILED" => Mark::Failed,
            "RETRY_SCHEDULED" => Mark::Retrying,
            _ => Mark::Pending,
        }
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
    fn mark(&self) -> Mark {
        if self.error.is_none() { Mark::Delivered } else { Mark::Failed }
    }
}

#[derive(Template)]
#[template(path = "emails.html")]
struct EmailsPage {
    t: Texts,
    s: Shell,
    status: String,
    rows: Vec<EmailRow>,
    peek: Option<Email>,
    /// Whether e-mails are captured instead of being sent.
    has_captured: bool,
    next: Option<Link>,
    errors: FormErrors,
}

impl EmailsPage {
    fn here(&self) -> Link {
        self.s.link(PATH).with("status", &self.status)
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

    /// The list with this e-mail beside it, limited to its tenant.
    fn peek_at(&self, row: &EmailRow) -> Link {
        self.here().with("tenant", &row.company_id).with("peek", &row.outbox_id)
    }

    fn is_peeked(&self, row: &EmailRow) -> bool {
        self.peek.as_ref().is_some_and(|peek| peek.row.outbox_id == row.outbox_id)
    }
}

pub async fn show(visit: Visit) -> PageResult {
    let t = visit.t;
    let status = visit.params.text("status").to_owned();
    let link = Link::new("/v1/emails").with("status", &status).with("limit", 50);
    let link = link.maybe("cursor", visit.params.get("cursor"));
    let (List { data: rows, next_cursor }, errors) = match visit.get(link).await {
        Ok(list) => (list, FormErrors::default()),
        Err(problem) if problem.is_filter() => (List::default(), FormErrors::from(problem)),
        Err(problem) => return Err(problem),
    };
    let here = visit.link(PATH).with("status", &status);
    let template = EmailsPage {
        t,
        s: Shell::new(&visit, PATH, t.say("nav.emails")).await,
        status,
        rows,
        peek: peek(&visit).await?,
        has_captured: visit.get_as_operator::<Value>(Link::new("/v1/dev/letters")).await.is_ok(),
        next: next_cursor.map(|cursor| here.with("cursor", cursor)),
        errors,
    };
    Ok(page::show(template.errors.status(), &template))
}

async fn peek(visit: &Visit) -> Result<Option<Email>, crate::problem::Problem> {
    let Some(id) = visit.params.get("peek") else { return Ok(None) };
    visit.get(Link::new(format!("/v1/emails/{}", segment(id)))).await.map(Some)
}
