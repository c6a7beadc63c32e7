//! What waits to be sent to an open page: the last state of each changed delivery, and how many were left
//! out.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use askama::Template;
use serde::{Deserialize, Serialize, de::IgnoredAny};

use super::super::{DeliveryRow, List, ROWS, filter::Filter, page_of};
use crate::{
    endpoint_names,
    escape::Text,
    params::Link,
    texts::Texts,
    visit::{ApiResult, Visit},
};

/// Maximum new rows in a batch. In a flood the others are counted, not shown, because nobody can read them.
const MAX_NEW: usize = 20;
/// Maximum rows that the page is assumed to show. Their changes are always sent.
const MAX_SHOWN: usize = 250;

/// A store that takes longer counts as unavailable.
const STORE_TIMEOUT: Duration = Duration::from_secs(3);

pub struct LiveFeed {
    visit: Visit,
    filter: Filter,
    names: HashMap<String, Text>,
    /// Changed rows by id, which is by age.
    changed: BTreeMap<String, DeliveryRow>,
    /// The rows that the page shows, by id, each with the hash of what was sent.
    shown: BTreeMap<String, u64>,
    left_out: u64,
}

#[derive(Deserialize)]
struct MissedChanges {
    count: u64,
}

#[derive(Serialize)]
struct Batch {
    rows: Vec<BatchRow>,
    /// Changes that were left out.
    left_out: u64,
}

#[derive(Serialize)]
struct BatchRow {
    id: String,
    /// Whether it matches the filter of the page. Otherwise it only updates a row that is shown.
    fits: bool,
    html: String,
}

#[derive(Template)]
#[template(path = "live_row.html")]
struct RowPart<'a> {
    t: Texts,
    row: &'a DeliveryRow,
    href: Link,
    peek: Link,
    endpoint: Text,
    /// Whether the reader can select rows.
    is_pickable: bool,
}

impl LiveFeed {
    pub fn new(visit: Visit, filter: Filter) -> Self {
        Self {
            visit,
            filter,
            names: HashMap::new(),
            changed: BTreeMap::new(),
            shown: BTreeMap::new(),
            left_out: 0,
        }
    }

    /// Reads the rows that the page would show if it were loaded now.
    pub async fn read_list(&mut self) -> ApiResult<()> {
        let link = self.filter.to_api("/v1/deliveries").with("limit", ROWS);
        let list: List<DeliveryRow> = self.visit.get(link).await?;
        for row in list.data {
            self.shown.entry(row.id.clone()).or_default();
            self.changed.insert(row.id.clone(), row);
        }
        Ok(())
    }

    /// Whether the store answers in time: with the list if that is read anyway, else with as little as
    /// possible.
    pub async fn check_store(&mut self, with_list: bool) -> bool {
        let answer = async {
            if with_list {
                return self.read_list().await;
            }
            let link = Link::new("/v1/deliveries").with("limit", 1);
            self.visit.get::<List<IgnoredAny>>(link).await.map(|_| ())
        };
        match tokio::time::timeout(STORE_TIMEOUT, answer).await {
            Ok(Err(problem)) => !problem.status().is_server_error(),
            Ok(Ok(())) => true,
            Err(_) => false,
        }
    }

    pub fn add(&mut self, data: &str) {
        let Ok(row) = serde_json::from_str::<DeliveryRow>(data) else { return };
        let fits = self.filter.fits(&row);
        let is_known = self.shown.contains_key(&row.id) || self.changed.contains_key(&row.id);
        if !is_known && !fits {
            return;
        }
        let new = self.changed.keys().filter(|id| !self.shown.contains_key(*id)).count();
        if !is_known && new >= MAX_NEW {
            self.left_out += 1;
            return;
        }
        self.changed.insert(row.id.clone(), row);
    }

    pub fn miss(&mut self, data: &str) {
        self.left_out += serde_json::from_str(data).map_or(0, |missed: MissedChanges| missed.count);
    }

    pub fn is_waiting(&self) -> bool {
        !self.changed.is_empty() || self.left_out > 0
    }

    pub async fn has_session(&self) -> bool {
        self.visit.has_session().await
    }

    /// Returns what waits as JSON, oldest first. `None` if the page shows all of it already.
    pub async fn batch(&mut self) -> Option<String> {
        let changed = std::mem::take(&mut self.changed);
        self.learn_names(changed.values()).await;
        let t = Texts { now: self.visit.dashboard.clock.now(), ..self.visit.t };
        let mut rows = Vec::with_capacity(changed.len());
        for (id, row) in changed {
            let (fits, html) = (self.filter.fits(&row), self.render(t, &row));
            let mut hasher = DefaultHasher::new();
            html.hash(&mut hasher);
            if self.shown.insert(id.clone(), hasher.finish()) != Some(hasher.finish()) {
                rows.push(BatchRow { id, fits, html });
            }
        }
        while self.shown.len() > MAX_SHOWN {
            self.shown.pop_first();
        }
        let batch = Batch { rows, left_out: std::mem::take(&mut self.left_out) };
        let is_empty = batch.rows.is_empty() && batch.left_out == 0;
        serde_json::to_string(&batch).ok().filter(|_| !is_empty)
    }

    async fn learn_names(&mut self, rows: impl Iterator<Item = &DeliveryRow>) {
        let ids = rows.filter_map(|row| row.webhook_id.as_ref());
        self.names = endpoint_names::read(&self.visit, ids).await;
    }

    fn render(&self, t: Texts, row: &DeliveryRow) -> String {
        let name = row.webhook_id.as_ref().and_then(|id| self.names.get(id));
        let part = RowPart {
            t,
            row,
            href: page_of(&self.visit, &self.filter, row),
            peek: self.filter.link(&self.visit).with("peek", &row.id),
            endpoint: name.cloned().unwrap_or_default(),
            is_pickable: self.visit.visitor.may_change(),
        };
        part.render().unwrap_or_else(|error| {
            tracing::error!(%error, "page failed");
            String::new()
        })
    }
}

impl Filter {
    /// Whether a delivery of the tail belongs to the list. Does not check again what the tail filters.
    fn fits(&self, row: &DeliveryRow) -> bool {
        let is = |wanted: &Option<String>, value: Option<&str>| match wanted {
            Some(wanted) => value == Some(wanted.as_str()),
            None => true,
        };
        is(&self.status, Some(&row.status))
            && is(&self.event, row.event_id.as_deref())
            && is(&self.external, row.external_id.as_ref().map(Text::as_str))
            && is(&self.error, row.last_error_code.as_ref().map(Text::as_str))
            && is(&self.response, row.response_status.map(|status| status.to_string()).as_deref())
    }
}
