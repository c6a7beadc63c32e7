//! `/ui/sources/{partner}/receipts/{receipt}`: what was received, how it was accepted, and where it was
//! dispatched.

use std::collections::BTreeMap;

use askama::Template;
use axum::response::IntoResponse;
use http::{HeaderValue, Method, StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{delivery_row::DeliveryRow, sources::PATH, waits};
use crate::{
    display_time::DisplayTime,
    escape::Text,
    handlers::PageResult,
    json, page,
    params::Link,
    sentence::{Html, Sentence},
    shell::Shell,
    status_mark::StatusMark,
    submission::Submission,
    texts::Texts,
    visit::Visit,
};

#[derive(Deserialize)]
pub struct Receipt {
    pub id: String,
    pub key_id: Text,
    pub topic: Option<Text>,
    pub event_id: Option<Text>,
    pub ts_received: DisplayTime,
    pub status: String,
    pub last_error: Option<Text>,
    pub is_test: bool,
    pub size: u64,
}

impl Receipt {
    pub fn is_waiting(&self) -> bool {
        !matches!(self.status.as_str(), "dispatched" | "dlq")
    }

    pub fn title(&self) -> Text {
        let name = self.topic.clone().or_else(|| self.event_id.clone());
        name.unwrap_or_else(|| self.id.as_str().into())
    }

    pub fn mark(&self) -> StatusMark {
        match self.status.as_str() {
            "dispatched" => StatusMark::Delivered,
            "failed" => StatusMark::Retrying,
            "dlq" => StatusMark::Failed,
            _ => StatusMark::Pending,
        }
    }

    pub fn word(&self, t: &Texts) -> Sentence {
        match self.status.as_str() {
            "dispatched" => t.say("receipt.dispatched"),
            "failed" => t.say("status.retrying"),
            "dlq" => t.say("status.dead_letter"),
            _ => t.say("receipt.received"),
        }
    }
}

#[derive(Deserialize)]
struct ReceiptDetail {
    #[serde(flatten)]
    receipt: Receipt,
    payload: Box<RawValue>,
    headers: Option<BTreeMap<Text, Text>>,
    deliveries: Vec<Dispatch>,
}

#[derive(Deserialize)]
struct Dispatch {
    id: String,
    target_url: Option<Text>,
    status: String,
    attempts: u32,
    response_status: Option<u16>,
    last_error: Option<Text>,
    delivered_at: Option<DisplayTime>,
}

impl Dispatch {
    fn mark(&self) -> StatusMark {
        match self.status.as_str() {
            "delivered" => StatusMark::Delivered,
            "failed" => StatusMark::Failed,
            "retrying" => StatusMark::Retrying,
            _ => StatusMark::Pending,
        }
    }
}

#[derive(Template)]
#[template(path = "receipt.html")]
struct ReceiptPage {
    t: Texts,
    s: Shell,
    partner: Text,
    detail: ReceiptDetail,
    body: Html,
    /// Its waiting deliveries.
    waiting: Vec<DeliveryRow>,
}

impl ReceiptPage {
    fn waiting(&self, one: &Dispatch) -> Option<&DeliveryRow> {
        self.waiting.iter().find(|row| row.id == one.id)
    }

    fn mark(&self, one: &Dispatch) -> StatusMark {
        self.waiting(one).map_or(one.mark(), DeliveryRow::mark)
    }

    /// Returns why it waits; empty if it does not.
    fn why(&self, one: &Dispatch) -> Html {
        self.waiting(one).map(|row| row.why(&self.t)).unwrap_or_default()
    }

    fn proof(&self) -> Link {
        self.s.act(PATH, &self.partner, &format!("receipts/{}/proof", self.detail.receipt.id))
    }

    fn retry(&self) -> Link {
        self.s.act(PATH, &self.partner, &format!("receipts/{}/retry", self.detail.receipt.id))
    }
}

pub async fn show(visit: Visit) -> PageResult {
    let t = visit.t;
    let detail: ReceiptDetail = visit.get(receipt_api(&visit, "")).await?;
    let template = ReceiptPage {
        t,
        s: Shell::new(&visit, PATH, t.say("receipt.title").with("name", detail.receipt.title()))
            .await,
        partner: visit.name("partner").into(),
        body: json::pretty(&detail.payload),
        waiting: if detail.receipt.is_waiting() {
            waits::of_receipts(&visit, visit.name("partner")).await
        } else {
            Vec::new()
        },
        detail,
    };
    Ok(page::show(StatusCode::OK, &template))
}

/// Returns the proof as a file.
pub async fn proof(visit: Visit) -> PageResult {
    let proof: Box<RawValue> = visit.get(receipt_api(&visit, "/proof")).await?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (
            header::CONTENT_DISPOSITION,
            HeaderValue::from_static("attachment; filename=\"proof.json\""),
        ),
    ];
    Ok((headers, proof.get().to_owned()).into_response())
}

pub async fn retry(submission: Submission) -> PageResult {
    let visit = submission.visit;
    visit.send::<Value>(Method::POST, receipt_api(&visit, "/retry"), None).await?;
    let (partner, receipt) = (visit.segment("partner"), visit.segment("receipt"));
    let back = visit.link(format!("{PATH}/{partner}/receipts/{receipt}"));
    Ok(visit.done(&back, visit.t.say("receipt.retried")))
}

fn receipt_api(visit: &Visit, below: &str) -> Link {
    let (partner, receipt) = (visit.segment("partner"), visit.segment("receipt"));
    Link::new(format!("/v1/sources/{partner}/receipts/{receipt}{below}"))
}
