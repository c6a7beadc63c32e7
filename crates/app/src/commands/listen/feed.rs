//! Finds what is new: the events of a tenant, or the receipts of a partner, since the last one seen.
//!
//! Several nodes and transactions write at the same time, so an item with an earlier time may appear after
//! one with a later time. So each read goes back a little further than the last item, and items are
//! remembered for as long.

use std::{collections::BTreeSet, time::Duration};

use anyhow::Context;
use bytes::Bytes;
use gancho_domain::Time;
use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use crate::{
    commands::{client::filtered, table::text},
    remote::{Remote, part},
};

pub enum FeedKind {
    Events,
    Receipts(String),
}

pub struct Feed {
    remote: Remote,
    kind: FeedKind,
    /// The time up to which all items are seen, except late ones.
    newest: Option<Time>,
    /// Where the first read begins, if the user has named it.
    since: Option<String>,
    /// The items that were seen, as far back as a read goes.
    seen: BTreeSet<(Time, String)>,
    last: Option<String>,
}

/// A new item.
pub struct Item {
    pub id: String,
    pub event_type: String,
    at: Time,
}

/// The content of an item.
pub struct Message {
    pub id: String,
    pub event_type: String,
    pub created_at: Time,
    pub number: Option<u64>,
    /// JSON, byte for byte.
    pub data: Bytes,
    /// The headers with which a partner has sent it.
    pub headers: Map<String, Value>,
    pub is_receipt: bool,
}

/// How late an item may appear.
const OVERLAP: Duration = Duration::from_secs(60);
const PAGE: usize = 100;

#[derive(Deserialize)]
struct Detail<'a> {
    #[serde(borrow, alias = "payload")]
    data: &'a RawValue,
    sequence_number: Option<u64>,
    headers: Option<Map<String, Value>>,
}

impl Feed {
    /// Starts the feed. Existing items count as seen, unless the user names a time or the last item that was
    /// forwarded.
    pub async fn open(
        remote: &Remote,
        kind: FeedKind,
        since: Option<String>,
        after: Option<&str>,
    ) -> anyhow::Result<Self> {
        let is_from_now = since.is_none() && after.is_none();
        let mut feed = Self {
            remote: remote.clone(),
            kind,
            newest: None,
            since,
            seen: BTreeSet::new(),
            last: after.map(ToOwned::to_owned),
        };
        if let Some(after) = after {
            let detail = remote.get(&feed.path_of(after)).await?;
            let at = time(&detail[feed.time_field()])?;
            feed.newest = Some(at);
            // Items that are as old as the last one were forwarded before it.
            for item in feed.fetch_new().await? {
                if (item.at, item.id.as_str()) <= (at, after) {
                    feed.seen.insert((item.at, item.id));
                }
            }
        } else if is_from_now {
            let page = remote.get(&format!("{}?limit=1", feed.path())).await?;
            if let Some(newest) = page["data"].get(0) {
                feed.newest = Some(time(&newest[feed.time_field()])?);
                for item in feed.fetch_new().await? {
                    feed.newest = feed.newest.max(Some(item.at));
                    feed.seen.insert((item.at, item.id));
                }
            }
        }
        Ok(feed)
    }

    /// Returns items that were not seen yet, oldest first.
    pub async fn new_items(&mut self) -> anyhow::Result<Vec<Item>> {
        let mut found = self.fetch_new().await?;
        found.retain(|item| !self.seen.contains(&(item.at, item.id.clone())));
        found.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
        Ok(found)
    }

    /// Remembers that an item was forwarded.
    pub fn done(&mut self, item: &Item) {
        self.newest = self.newest.max(Some(item.at));
        self.seen.insert((item.at, item.id.clone()));
        self.last = Some(item.id.clone());
        if let Some(newest) = self.newest {
            self.seen = self.seen.split_off(&(newest - OVERLAP - OVERLAP, String::new()));
        }
    }

    pub fn last_id(&self) -> Option<&str> {
        self.last.as_deref()
    }

    /// Reads an item's content.
    pub async fn message(&self, item: &Item) -> anyhow::Result<Message> {
        let body = self.remote.get_bytes(&self.path_of(&item.id)).await?;
        let detail: Detail<'_> =
            serde_json::from_slice(&body).context("unexpected response from the gateway")?;
        Ok(Message {
            id: item.id.clone(),
            event_type: item.event_type.clone(),
            created_at: item.at,
            number: detail.sequence_number,
            data: Bytes::copy_from_slice(detail.data.get().as_bytes()),
            headers: detail.headers.unwrap_or_default(),
            is_receipt: matches!(self.kind, FeedKind::Receipts(_)),
        })
    }

    /// Returns all items since a little before the newest that was seen.
    async fn fetch_new(&self) -> anyhow::Result<Vec<Item>> {
        let since = match self.newest {
            Some(newest) => Some((newest - OVERLAP).to_string()),
            None => self.since.clone(),
        };
        let path = filtered(&self.path(), &[("since", &since), ("limit", &Some(PAGE.to_string()))]);
        let mut items = Vec::new();
        let mut cursor = None;
        loop {
            let page = self.remote.get(&filtered(&path, &[("cursor", &cursor)])).await?;
            for row in page["data"].as_array().into_iter().flatten() {
                items.push(Item {
                    id: text(&row["id"]),
                    event_type: match &self.kind {
                        FeedKind::Events => text(&row["type"]),
                        FeedKind::Receipts(partner) => partner.clone(),
                    },
                    at: time(&row[self.time_field()])?,
                });
            }
            match page["next_cursor"].as_str() {
                Some(next) => cursor = Some(next.to_owned()),
                None => return Ok(items),
            }
        }
    }

    fn path(&self) -> String {
        match &self.kind {
            FeedKind::Events => "/v1/events".to_owned(),
            FeedKind::Receipts(partner) => format!("/v1/sources/{}/receipts", part(partner)),
        }
    }

    fn path_of(&self, id: &str) -> String {
        format!("{}/{}", self.path(), part(id))
    }

    fn time_field(&self) -> &'static str {
        match self.kind {
            FeedKind::Events => "created_at",
            FeedKind::Receipts(_) => "ts_received",
        }
    }
}

fn time(value: &Value) -> anyhow::Result<Time> {
    let time: jiff::Timestamp =
        text(value).parse().context("unexpected time in a response of the gateway")?;
    Ok(Time::from_micros(time.as_microsecond()))
}
