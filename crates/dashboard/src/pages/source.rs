//! `/ui/sources/{partner}` and its receipts: is the partner getting through?

use std::collections::BTreeMap;

use askama::Template;
use axum::response::IntoResponse;
use http::{HeaderValue, Method, StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    delivery_row::DeliveryRow,
    ledger::Ledger,
    list::List,
    sources::{PATH, Rejection, SourceRow},
    waits,
};
use crate::{
    dashboard::PageResult,
    escape::Text,
    json,
    mark::Mark,
    moment::Moment,
    page,
    params::{Link, segment},
    sentence::{Html, Sentence},
    shell::Shell,
    submission::Submission,
    texts::Texts,
    visit::Visit,
};

#[derive(Deserialize)]
struct Source {
    #[serde(flatten)]
    row: SourceRow,
    event_id_pointer: Option<Text>,
    counts: Counts,
    created_at: Moment,
}

#[derive(Deserialize)]
struct Counts {
    received: u64,
    repeats: u64,
    clashes: u64,
}

#[derive(Deserialize)]
struct SourceKey {
    key_id: Text,
    scheme: Text,
    not_before: Option<Moment>,
    not_after: Option<Moment>,
    is_valid: bool,
}

impl SourceKey {
    fn mark(&self) -> Mark {
        if self.is_valid { Mark::Delivered } else { Mark::Disabled }
    }
}

#[derive(Deserialize)]
struct Receipt {
    id: String,
    key_id: Text,
    topic: Option<Text>,
    event_id: Option<Text>,
    ts_received: Moment,
    status: String,
    last_error: Option<Text>,
    is_test: bool,
    size: u64,
}

impl Receipt {
    fn is_waiting(&self) -> bool {
        !matches!(self.status.as_str(), "dispatched" | "dlq")
    }

    fn title(&self) -> Text {
        let name = self.topic.clone().or_else(|| self.event_id.clone());
        name.unwrap_or_else(|| self.id.as_str().into())
    }

    fn mark(&self) -> Mark {
        match self.status.as_str() {
            "dispatched" => Mark::Delivered,
            "failed" => Mark::Retrying,
            "dlq" => Mark::Failed,
            _ => Mark::Pending,
        }
    }

    fn word(&self, t: &Texts) -> Sentence {
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
    delivered_at: Option<Moment>,
}

impl Dispatch {
    fn mark(&self) -> Mark {
        match self.status.as_str() {
            "delivered" => Mark::Delivered,
            "failed" => Mark::Failed,
            "retrying" => Mark::Retrying,
            _ => Mark::Pending,
        }
    }
}

#[derive(Template)]
#[template(path = "source.html")]
struct SourcePage {
    t: Texts,
    s: Shell,
    source: Source,
    keys: Vec<SourceKey>,
    receipts: Vec<Receipt>,
    /// Deliveries of those that wait.
    waiting: Vec<DeliveryRow>,
    rejections: Vec<Rejection>,
    next: Option<Link>,
    ledger: Option<Ledger>,
}

#[derive(Template)]
#[template(path = "receipt.html")]
struct ReceiptPage {
    t: Texts,
    s: Shell,
    partner: Text,
    detail: ReceiptDetail,
    body: Html,
    /// Those of its deliveries that wait.
    waiting: Vec<DeliveryRow>,
}

impl SourcePage {
    fn key_action(&self, key: &SourceKey, action: &str) -> Link {
        let path = format!("keys/{}/{action}", segment(key.key_id.as_str()));
        self.s.act(PATH, &self.source.row.partner, &path)
    }

    fn waiting(&self, receipt: &Receipt) -> Option<&DeliveryRow> {
        let is_of = |one: &&DeliveryRow| one.receipt_id.as_deref() == Some(&*receipt.id);
        self.waiting.iter().find(is_of).filter(|_| receipt.is_waiting())
    }

    fn mark(&self, receipt: &Receipt) -> Mark {
        let paused = self.waiting(receipt).map(DeliveryRow::mark);
        paused.filter(|mark| *mark == Mark::Paused).unwrap_or(receipt.mark())
    }

    fn word(&self, receipt: &Receipt) -> Sentence {
        match self.mark(receipt) {
            Mark::Paused => Mark::Paused.word(&self.t),
            _ => receipt.word(&self.t),
        }
    }

    /// Why it waits; empty if it does not.
    fn why(&self, receipt: &Receipt) -> Html {
        self.waiting(receipt).map(|one| one.why(&self.t)).unwrap_or_default()
    }

    fn receipt(&self, receipt: &Receipt) -> Link {
        self.s.act(PATH, &self.source.row.partner, &format!("receipts/{}", receipt.id))
    }
}

impl ReceiptPage {
    fn waiting(&self, one: &Dispatch) -> Option<&DeliveryRow> {
        self.waiting.iter().find(|row| row.id == one.id)
    }

    fn mark(&self, one: &Dispatch) -> Mark {
        self.waiting(one).map_or(one.mark(), DeliveryRow::mark)
    }

    /// Why it waits; empty if it does not.
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
    let source: Source = visit.get(api(&visit, "")).await?;
    let keys: List<SourceKey> = visit.get(api(&visit, "/keys")).await?;
    let link = api(&visit, "/receipts").with("limit", 25);
    let link = link.maybe("cursor", visit.params.get("cursor"));
    let receipts: List<Receipt> = visit.get(link).await?;
    let waiting = if receipts.data.iter().any(Receipt::is_waiting) {
        waits::of_receipts(&visit, visit.name("partner")).await
    } else {
        Vec::new()
    };
    let rejections: List<Rejection> = visit.get(api(&visit, "/rejections")).await?;
    let here = visit.link(format!("{PATH}/{}", visit.segment("partner")));
    let template = SourcePage {
        t,
        s: Shell::new(&visit, PATH, t.say("sources.one").with("name", &source.row.partner)).await,
        source,
        keys: keys.data,
        receipts: receipts.data,
        waiting,
        rejections: rejections.data,
        ledger: visit.get(Link::new("/v1/ledger")).await.ok(),
        next: receipts.next_cursor.map(|cursor| here.with("cursor", cursor)),
    };
    Ok(page::show(StatusCode::OK, &template))
}

pub async fn receipt(visit: Visit) -> PageResult {
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

/// The proof as a file.
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

fn api(visit: &Visit, below: &str) -> Link {
    Link::new(format!("/v1/sources/{}{below}", visit.segment("partner")))
}

fn receipt_api(visit: &Visit, below: &str) -> Link {
    api(visit, &format!("/receipts/{}{below}", visit.segment("receipt")))
}
