//! A replay as it is kept: the record's JSON, with what only the runner needs.

use std::str::FromStr;

use data_encoding::HEXLOWER;
use gancho_domain::{Lane, ReplayId, Status, TenantId, Time};
use gancho_store::{ListOrder, Result, StoreError};
use serde::{Deserialize, Serialize};

use super::{NewReplay, Replay, ReplayFilter, ReplayOf, ReplayState};

#[derive(Serialize, Deserialize, Clone)]
pub(super) struct Kept {
    id: String,
    tenant: Option<String>,
    state: String,
    filter: KeptFilter,
    to: Option<String>,
    rate: u32,
    pub total: u64,
    pub is_total_exact: bool,
    pub done: u64,
    pub skipped: u64,
    pub failed: u64,
    pub error: Option<String>,
    created_at: i64,
    started_at: Option<i64>,
    finished_at: Option<i64>,
    /// Where the next page begins.
    pub cursor: Cursor,
    /// A job that an earlier version began goes newest first to its end: its place is one in that list.
    #[serde(default)]
    oldest_first: bool,
    pub lease: Option<Lease>,
}

#[derive(Serialize, Deserialize, Clone, Default, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    /// Of the store's pages, in hex.
    pub after: Option<String>,
    /// How many of the events that were named are done.
    pub events: usize,
}

impl Cursor {
    pub fn after(place: [u8; 32]) -> Self {
        Self { after: Some(HEXLOWER.encode(&place)), events: 0 }
    }

    /// Of the store's pages.
    pub fn place(&self) -> Result<Option<[u8; 32]>> {
        let read = |text: &str| {
            let bytes = HEXLOWER.decode(text.as_bytes()).ok();
            bytes.and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| corrupt(text))
        };
        self.after.as_deref().map(read).transpose()
    }
}

#[derive(Serialize, Deserialize, Clone)]
pub(super) struct Lease {
    pub by: String,
    pub until: i64,
}

#[derive(Serialize, Deserialize, Clone)]
struct KeptFilter {
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
    tenant: Option<String>,
    since: Option<i64>,
    until: Option<i64>,
}

impl Kept {
    pub fn new(
        id: ReplayId,
        tenant: Option<TenantId>,
        new: &NewReplay,
        rate: u32,
        now: Time,
    ) -> Self {
        let filter = &new.filter;
        Self {
            id: id.to_string(),
            tenant: tenant.map(|id| id.to_string()),
            state: ReplayState::Pending.name().to_owned(),
            filter: KeptFilter {
                of: of_name(filter.of).to_owned(),
                endpoint: filter.endpoint.map(|id| id.to_string()),
                status: filter.status.map(|status| status.name().to_owned()),
                event_type: filter.event_type.clone(),
                events: filter.events.iter().map(ToString::to_string).collect(),
                lane: filter.lane.map(|lane| lane.name().to_owned()),
                code: filter.code.clone(),
                external_id: filter.external_id.clone(),
                tenant: filter.tenant.map(|id| id.to_string()),
                since: filter.since.map(Time::micros),
                // What is made while it runs is not its own business: a window that reached beyond now
                // would hold what the replay itself makes, without end.
                until: Some(filter.until.unwrap_or(now).min(now).micros()),
            },
            to: new.to.map(|id| id.to_string()),
            rate,
            total: 0,
            is_total_exact: false,
            done: 0,
            skipped: 0,
            failed: 0,
            error: None,
            created_at: now.micros(),
            started_at: None,
            finished_at: None,
            cursor: Cursor::default(),
            oldest_first: true,
            lease: None,
        }
    }

    pub fn read(body: &[u8]) -> Result<Self> {
        serde_json::from_slice(body).map_err(|fault| corrupt(&fault.to_string()))
    }

    pub fn write(&self) -> Result<bytes::Bytes> {
        serde_json::to_vec(self).map(Into::into).map_err(|fault| corrupt(&fault.to_string()))
    }

    pub fn state(&self) -> Result<ReplayState> {
        let known = ReplayState::ALL.into_iter().find(|state| state.name() == self.state);
        known.ok_or_else(|| corrupt(&self.state))
    }

    pub fn order(&self) -> ListOrder {
        if self.oldest_first { ListOrder::OldestFirst } else { ListOrder::NewestFirst }
    }

    pub fn started(&mut self, now: Time) {
        ReplayState::Running.name().clone_into(&mut self.state);
        self.started_at.get_or_insert(now.micros());
    }

    pub fn ended(&mut self, state: ReplayState, now: Time) {
        state.name().clone_into(&mut self.state);
        self.finished_at = Some(now.micros());
        self.lease = None;
    }

    pub fn shown(&self) -> Result<Replay> {
        Ok(Replay {
            id: parsed(&self.id)?,
            tenant: maybe(self.tenant.as_deref())?,
            state: self.state()?,
            filter: self.filter.read()?,
            to: maybe(self.to.as_deref())?,
            rate: self.rate,
            is_dry_run: false,
            total: self.total,
            is_total_exact: self.is_total_exact,
            done: self.done,
            skipped: self.skipped,
            failed: self.failed,
            error: self.error.clone(),
            created_at: Time::from_micros(self.created_at),
            started_at: self.started_at.map(Time::from_micros),
            finished_at: self.finished_at.map(Time::from_micros),
        })
    }
}

impl KeptFilter {
    fn read(&self) -> Result<ReplayFilter> {
        let of = [ReplayOf::Deliveries, ReplayOf::Events, ReplayOf::DeadLetters];
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
            tenant: maybe(self.tenant.as_deref())?,
            since: self.since.map(Time::from_micros),
            until: self.until.map(Time::from_micros),
        })
    }
}

const fn of_name(of: ReplayOf) -> &'static str {
    match of {
        ReplayOf::Deliveries => "deliveries",
        ReplayOf::Events => "events",
        ReplayOf::DeadLetters => "dead_letters",
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
