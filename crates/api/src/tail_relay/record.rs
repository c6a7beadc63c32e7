//! The form of changes between nodes. Nodes of two versions may run at the same time, so what one cannot read
//! is left out.

use std::time::Duration;

use bytes::Bytes;
use gancho_domain::{Code, Failure, Lane, State, TenantId, Time};
use gancho_engine::{DeliveryChange, TailInterest};
use gancho_store::DeliveryRow;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The deliveries that a node wants to receive changes of. Empty: all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Interest {
    tenant: Option<String>,
    lane: Option<String>,
}

impl From<&TailInterest> for Interest {
    fn from(interest: &TailInterest) -> Self {
        Self {
            tenant: interest.tenant.map(|tenant| tenant.to_string()),
            lane: interest.lane.map(|lane| lane.name().to_owned()),
        }
    }
}

impl Interest {
    pub fn tenant(&self) -> Option<TenantId> {
        self.tenant.as_deref()?.parse().ok()
    }

    pub fn lane(&self) -> Option<Lane> {
        self.lane.as_deref()?.parse().ok()
    }
}

/// What one node forwards to another, newest last.
#[derive(Debug, Serialize, Deserialize)]
pub struct Feed {
    pub batches: Vec<Batch>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Batch {
    /// Larger than the number of the batch before.
    pub number: i64,
    pub changes: Vec<ChangeRecord>,
    pub missed: Vec<MissedChanges>,
}

/// How many changes were left out.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MissedChanges {
    pub interest: Interest,
    pub count: u64,
}

/// Times are in microseconds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ChangeRecord {
    pub at: i64,
    tenant: String,
    latency: Option<u64>,
    id: String,
    lane: String,
    target: String,
    event: String,
    event_type: Box<str>,
    external_id: Option<Box<str>>,
    is_test: bool,
    state: i16,
    attempts: u32,
    response_status: Option<u16>,
    /// Code and reason.
    failure: Option<(String, String)>,
    due_at: i64,
    next_retry_at: Option<i64>,
    delivered_at: Option<i64>,
    failed_at: Option<i64>,
    created_at: i64,
}

impl From<&DeliveryChange> for ChangeRecord {
    fn from(change: &DeliveryChange) -> Self {
        let row = &change.row;
        let failure = row.last_failure.as_ref();
        Self {
            at: change.at.micros(),
            tenant: change.tenant.to_string(),
            latency: change.latency.map(|latency| latency.as_micros() as u64),
            id: row.id.to_string(),
            lane: row.lane.name().to_owned(),
            target: row.target.to_string(),
            event: row.event.to_string(),
            event_type: row.event_type.clone(),
            external_id: row.external_id.clone(),
            is_test: row.is_test,
            state: row.state.number(),
            attempts: row.attempts,
            response_status: row.response_status,
            failure: failure.map(|one| (one.code().as_str().to_owned(), one.reason().to_owned())),
            due_at: row.due_at.micros(),
            next_retry_at: row.next_retry_at.map(Time::micros),
            delivered_at: row.delivered_at.map(Time::micros),
            failed_at: row.failed_at.map(Time::micros),
            created_at: row.created_at.micros(),
        }
    }
}

impl ChangeRecord {
    pub fn into_change(self) -> Option<DeliveryChange> {
        let failure =
            |(code, reason): (String, String)| Failure::new(Code::from_text(&code), reason);
        let row = DeliveryRow {
            id: self.id.parse().ok()?,
            lane: self.lane.parse().ok()?,
            target: self.target.parse().ok()?,
            event: self.event.parse().ok()?,
            event_type: self.event_type,
            external_id: self.external_id,
            is_test: self.is_test,
            state: State::from_number(self.state)?,
            attempts: self.attempts,
            response_status: self.response_status,
            last_failure: self.failure.map(failure),
            due_at: Time::from_micros(self.due_at),
            next_retry_at: self.next_retry_at.map(Time::from_micros),
            delivered_at: self.delivered_at.map(Time::from_micros),
            failed_at: self.failed_at.map(Time::from_micros),
            created_at: Time::from_micros(self.created_at),
        };
        Some(DeliveryChange {
            at: Time::from_micros(self.at),
            tenant: self.tenant.parse().ok()?,
            row,
            latency: self.latency.map(Duration::from_micros),
        })
    }
}

pub fn write(value: &impl Serialize) -> Bytes {
    // Maps with keys that are not text cannot be written; there are none.
    serde_json::to_vec(value).map(Bytes::from).unwrap_or_default()
}

pub fn read<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
    serde_json::from_slice(body).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use gancho_domain::{DeliveryId, EndpointId, EventId};

    use super::*;

    #[test]
    fn a_change_arrives_as_it_was() {
        let time = |micros| Some(Time::from_micros(micros));
        let row = DeliveryRow {
            id: DeliveryId::from_bits(1),
            lane: Lane::Webhook,
            target: EndpointId::from_bits(2),
            event: EventId::from_bits(3),
            event_type: "invoice.paid".into(),
            external_id: Some("nº 1".into()),
            is_test: true,
            state: State::Dead,
            attempts: 4,
            response_status: Some(503),
            last_failure: Some(Failure::new(Code::http(503), "busy")),
            due_at: Time::from_micros(5),
            next_retry_at: time(6),
            delivered_at: time(7),
            failed_at: time(8),
            created_at: Time::from_micros(9),
        };
        let change = DeliveryChange {
            at: Time::from_micros(10),
            tenant: TenantId::from_bits(11),
            row,
            latency: Some(Duration::from_micros(12)),
        };
        let text = write(&ChangeRecord::from(&change));
        assert_eq!(read::<ChangeRecord>(&text).unwrap().into_change(), Some(change));
        assert!(read::<ChangeRecord>(b"{}").is_none());
    }
}
