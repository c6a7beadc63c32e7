//! `/ui/sources/{partner}` and its receipts: are the partner's webhooks accepted?

use std::collections::HashMap;

use askama::Template;
use serde::Deserialize;

use super::{
    audit_actor::LastAction,
    delivery_row::DeliveryRow,
    ledger::Ledger,
    list::List,
    list_filter::{self, ListFilter},
    receipt::Receipt,
    sources::{PATH, Rejection, SourceRow},
    waits,
};
use crate::{
    display_time::DisplayTime,
    escape::Text,
    handlers::PageResult,
    page,
    params::{Link, segment},
    problem::FormErrors,
    sentence::{Html, Sentence},
    shell::Shell,
    status_mark::StatusMark,
    texts::Texts,
    visit::{ApiResult, Visit},
};

/// How many of the newest receipts are searched for the last one of each key.
const LAST_RECEIPTS: usize = 100;

/// The conditions for receipts, besides their status.
const CONDITIONS: [list_filter::Template; 3] =
    [("event", "event_id", "evt-1042"), list_filter::SINCE, list_filter::UNTIL];

#[derive(Deserialize)]
struct Source {
    #[serde(flatten)]
    row: SourceRow,
    event_id_pointer: Option<Text>,
    counts: Counts,
    created_at: DisplayTime,
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
    not_before: Option<DisplayTime>,
    not_after: Option<DisplayTime>,
    is_valid: bool,
}

impl SourceKey {
    fn mark(&self) -> StatusMark {
        if self.is_valid { StatusMark::Delivered } else { StatusMark::Disabled }
    }
}

#[derive(Template)]
#[template(path = "source.html")]
struct SourcePage {
    t: Texts,
    s: Shell,
    source: Source,
    /// Who changed it last, if it is paused.
    changed: Option<Sentence>,
    keys: Vec<SourceKey>,
    /// When the last receipt of each key was received, by id of the key.
    last_receipts: HashMap<Text, DisplayTime>,
    status: String,
    filter: ListFilter,
    errors: FormErrors,
    receipts: Vec<Receipt>,
    /// The deliveries of waiting receipts.
    waiting: Vec<DeliveryRow>,
    rejections: Vec<Rejection>,
    next: Option<Link>,
    ledger: Option<Ledger>,
}

impl SourcePage {
    fn key_action(&self, key: &SourceKey, action: &str) -> Link {
        let path = format!("keys/{}/{action}", segment(key.key_id.as_str()));
        self.s.act(PATH, &self.source.row.partner, &path)
    }

    fn last_receipt(&self, key: &SourceKey) -> Option<&DisplayTime> {
        self.last_receipts.get(&key.key_id)
    }

    fn tabs(&self) -> [(&'static str, Sentence); 5] {
        let t = &self.t;
        [
            ("", t.say("sources.receipts_all")),
            ("received", t.say("receipt.received")),
            ("failed", t.say("status.retrying")),
            ("dispatched", t.say("receipt.dispatched")),
            ("dlq", t.say("status.dead_letter")),
        ]
    }

    fn tab(&self, status: &str) -> Link {
        self.filter.here.clone().with("status", status)
    }

    fn is_narrow(&self) -> bool {
        self.filter.is_narrow() || !self.status.is_empty()
    }

    /// Returns where the matching receipts are dispatched again.
    fn retry(&self) -> Link {
        let path = format!("{PATH}/{}/receipts/retry", segment(self.source.row.partner.as_str()));
        let link = self.s.link(&path).with("status", &self.status);
        let set = self.filter.conditions.iter();
        set.fold(link, |link, one| link.with(one.name, &one.value))
    }

    fn waiting(&self, receipt: &Receipt) -> Option<&DeliveryRow> {
        let is_of = |one: &&DeliveryRow| one.receipt_id.as_deref() == Some(&*receipt.id);
        self.waiting.iter().find(is_of).filter(|_| receipt.is_waiting())
    }

    fn mark(&self, receipt: &Receipt) -> StatusMark {
        let paused = self.waiting(receipt).map(DeliveryRow::mark);
        paused.filter(|mark| *mark == StatusMark::Paused).unwrap_or(receipt.mark())
    }

    fn word(&self, receipt: &Receipt) -> Sentence {
        match self.mark(receipt) {
            StatusMark::Paused => StatusMark::Paused.word(&self.t),
            _ => receipt.word(&self.t),
        }
    }

    /// Returns why it waits; empty if it does not.
    fn why(&self, receipt: &Receipt) -> Html {
        self.waiting(receipt).map(|one| one.why(&self.t)).unwrap_or_default()
    }

    fn receipt(&self, receipt: &Receipt) -> Link {
        self.s.act(PATH, &self.source.row.partner, &format!("receipts/{}", receipt.id))
    }
}

pub async fn show(visit: Visit) -> PageResult {
    let t = visit.t;
    let source: Source = visit.get(api(&visit, "")).await?;
    let keys: List<SourceKey> = visit.get(api(&visit, "/keys")).await?;
    let (status, mut filter) = filter(&visit);
    let link = filter.to_api(api(&visit, "/receipts")).with("status", &status).with("limit", 25);
    let link = link.maybe("cursor", visit.params.get("cursor"));
    let (receipts, errors) = match visit.get::<List<Receipt>>(link).await {
        Ok(list) => (list, FormErrors::default()),
        Err(problem) if problem.is_filter() => (List::default(), FormErrors::from(problem)),
        Err(problem) => return Err(problem),
    };
    filter.mark(&t, &errors);
    let waiting = if receipts.data.iter().any(Receipt::is_waiting) {
        waits::of_receipts(&visit, visit.name("partner")).await
    } else {
        Vec::new()
    };
    let rejections: List<Rejection> = visit.get(api(&visit, "/rejections")).await?;
    let template = SourcePage {
        t,
        s: Shell::new(&visit, PATH, t.say("sources.one").with("name", &source.row.partner)).await,
        changed: changed(&visit, &source).await,
        source,
        keys: keys.data,
        last_receipts: last_receipts(&visit).await?,
        status,
        receipts: receipts.data,
        waiting,
        rejections: rejections.data,
        ledger: visit.get(Link::new("/v1/ledger")).await.ok(),
        next: receipts.next_cursor.map(|cursor| filter.here.clone().with("cursor", cursor)),
        filter,
        errors,
    };
    Ok(page::show(template.errors.status(), &template))
}

/// Returns the status and the other conditions in the URL of the page.
pub fn filter(visit: &Visit) -> (String, ListFilter) {
    let status = visit.params.text("status").to_owned();
    let base = visit.link(format!("{PATH}/{}", visit.segment("partner"))).with("status", &status);
    (status, ListFilter::read(visit, base, &CONDITIONS))
}

/// Returns who changed a paused source last, possibly by pausing it.
async fn changed(visit: &Visit, source: &Source) -> Option<Sentence> {
    if source.row.is_active {
        return None;
    }
    let act = LastAction::on(visit, "updateSource", visit.name("partner")).await?;
    Some(act.changed(&visit.t))
}

async fn last_receipts(visit: &Visit) -> ApiResult<HashMap<Text, DisplayTime>> {
    let link = api(visit, "/receipts").with("limit", LAST_RECEIPTS);
    let newest: List<Receipt> = visit.get(link).await?;
    let mut last = HashMap::new();
    for receipt in newest.data {
        last.entry(receipt.key_id).or_insert(receipt.ts_received);
    }
    Ok(last)
}

fn api(visit: &Visit, below: &str) -> Link {
    Link::new(format!("/v1/sources/{}{below}", visit.segment("partner")))
}
