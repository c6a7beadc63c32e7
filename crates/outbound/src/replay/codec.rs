//! The stored form of a replay: the request and the cursor of the next page, as JSON.

use std::str::FromStr;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use gancho_domain::{Lane, Status, Time};
use gancho_store::{ListOrder, ReplayJob, Result, StoreError};
use serde::{Deserialize, Serialize};

use super::{NewReplay, Replay, ReplayFilter, ReplayItems};

/// What the replay must send.
#[derive(Serialize, Deserialize)]
pub(super) struct Request {
    filter: StoredFilter,
    to: Option<String>,
    rate: u32,
    /// A job of an earlier version continues newest first, since its cursor belongs to that order.
    #[serde(default)]
    oldest_first: bool,
}

#[derive(Serialize, Deserialize, Clone, Default, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    /// The cursor of the store's pages, in hex.
    pub after: Option<String>,
    /// How many of the listed events are done.
    pub events: usize,
}

impl Cursor {
    pub fn after(place: [u8; 32]) -> Self {
        Self { after: Some(HEXLOWER.encode(&place)), events: 0 }
    }

    pub fn read(text: &str) -> Result<Self> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        serde_json::from_str(text).map_err(|error| corrupt(&error.to_string()))
    }

    pub fn write(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| corrupt(&error.to_string()))
    }

    /// Returns the cursor of the store's pages.
    pub fn place(&self) -> Result<Option<[u8; 32]>> {
        let read = |text: &str| {
            let bytes = HEXLOWER.decode(text.as_bytes()).ok();
            bytes.and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| corrupt(text))
        };
        self.after.as_deref().map(read).transpose()
    }
}

#[derive(Serialize, Deserialize)]
struct StoredFilter {
    of: String,
    endpoint: Option<String>,
    status: Option<String>,
    event_type: Option<String>,
    #[serde(default)]
    events: Vec<String>,
    lane: Option<String>,
    code: Option<String>,
    #[serde(default)]
    external_id: Option<String>,
    #[serde(default)]
    is_missing: bool,
    tenant: Option<String>,
    since: Option<i64>,
    until: Option<i64>,
}

impl Request {
    pub fn new(new: &NewReplay, rate: u32, now: Time) -> Self {
        let filter = &new.filter;
        Self {
            filter: StoredFilter {
                of: of_name(filter.of).to_owned(),
                endpoint: filter.endpoint.map(|id| id.to_string()),
                status: filter.status.map(|status| status.name().to_owned()),
                event_type: filter.event_type.clone(),
                events: filter.events.iter().map(ToString::to_string).collect(),
                lane: filter.lane.map(|lane| lane.name().to_owned()),
                code: filter.code.clone(),
                external_id: filter.external_id.clone(),
                is_missing: filter.is_missing,
                tenant: filter.tenant.map(|id| id.to_string()),
                since: filter.since.map(Time::micros),
                // The time window must end now: otherwise the replay would include what it creates itself,
                // without end.
                until: Some(filter.until.unwrap_or(now).min(now).micros()),
            },
            to: new.to.map(|id| id.to_string()),
            rate,
            oldest_first: true,
        }
    }

    pub fn read(job: &ReplayJob) -> Result<Self> {
        serde_json::from_slice(&job.request).map_err(|error| corrupt(&error.to_string()))
    }

    pub fn write(&self) -> Result<Bytes> {
        serde_json::to_vec(self).map(Into::into).map_err(|error| corrupt(&error.to_string()))
    }

    pub fn order(&self) -> ListOrder {
        if self.oldest_first { ListOrder::OldestFirst } else { ListOrder::NewestFirst }
    }

    /// Returns the replay of a job that was created with this request.
    pub fn replay(&self, job: &ReplayJob) -> Result<Replay> {
        Ok(Replay {
            id: job.id,
            tenant: job.tenant,
            state: job.state,
            filter: self.filter.read()?,
            to: maybe(self.to.as_deref())?,
            rate: self.rate,
            is_dry_run: false,
            total: job.total.count,
            is_total_exact: job.total.is_exact,
            done: job.sent.done,
            skipped: job.sent.skipped,
            failed: job.sent.failed,
            error: job.error.clone(),
            created_at: job.created_at,
            started_at: job.started_at,
            finished_at: job.finished_at,
        })
    }
}

pub(super) fn replay_of(job: &ReplayJob) -> Result<Replay> {
    Request::read(job)?.replay(job)
}

impl StoredFilter {
    fn read(&self) -> Result<ReplayFilter> {
        let of = [ReplayItems::Deliveries, ReplayItems::Events, ReplayItems::DeadLetters];
        Ok(ReplayFilter {
            of: of
                .into_iter()
                .find(|of| of_name(*of) == self.of)
                .ok_or_else(|| corrupt(&self.of))?,
            endpoint: maybe(self.endpoint.as_deref())?,
            status: maybe::<Status>(self.status.as_deref())?,
            event_type: self.event_type.clone(),
            events: self.events.iter().map(|id| parsed(id)).collect::<Result<_>>()?,
            lane: maybe::<Lane>(self.lane.as_deref())?,
            code: self.code.clone(),
            external_id: self.external_id.clone(),
            is_missing: self.is_missing,
            tenant: maybe(self.tenant.as_deref())?,
            since: self.since.map(Time::from_micros),
            until: self.until.map(Time::from_micros),
        })
    }
}

const fn of_name(of: ReplayItems) -> &'static str {
    match of {
        ReplayItems::Deliveries => "deliveries",
        ReplayItems::Events => "events",
        ReplayItems::DeadLetters => "dead_letters",
    }
}

fn maybe<T: FromStr>(text: Option<&str>) -> Result<Option<T>> {
    text.map(parsed).transpose()
}

fn parsed<T: FromStr>(text: &str) -> Result<T> {
    text.parse().map_err(|_| corrupt(text))
}

pub(super) fn corrupt(what: &str) -> StoreError {
    StoreError::Corrupt(format!("a replay is kept with `{what}`"))
}
