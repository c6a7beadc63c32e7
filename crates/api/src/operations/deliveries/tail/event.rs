//! Server-sent events: a change of a delivery, a count of what was missed, and the end.

use bytes::{BufMut, BytesMut};
use gancho_domain::Status;
use gancho_engine::DeliveryChange;
use serde::Serialize;
use utoipa::ToSchema;

use super::super::view::Delivery;
use crate::{
    codes::Code,
    render::{Timestamp, words},
};

/// A change of a delivery, with the delivery as it is after the change.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeliveryEvent {
    /// What happened to the delivery.
    #[schema(value_type = words::DeliveryChangeKind)]
    pub change: &'static str,
    /// When the change happened.
    pub at: Timestamp,
    /// Duration of the attempt in milliseconds; null if no attempt was made.
    pub latency_ms: Option<f64>,
    #[serde(flatten)]
    pub delivery: Delivery,
}

impl DeliveryEvent {
    pub fn new(change: &DeliveryChange, delivery: Delivery) -> Self {
        Self {
            change: match change.row.status() {
                Status::Pending => "accepted",
                Status::Retrying => "attempt_failed",
                Status::Delivered => "delivered",
                Status::Failed => "failed",
            },
            at: Timestamp(change.at),
            latency_ms: change.latency.map(|latency| latency.as_micros() as f64 / 1_000.0),
            delivery,
        }
    }
}

#[derive(Serialize)]
struct MissedChanges {
    count: u64,
}

#[derive(Serialize)]
struct End {
    code: &'static str,
}

/// Text of the stream. JSON has no line breaks, so that each event has one line of data.
#[derive(Default)]
pub struct EventText(BytesMut);

impl EventText {
    /// How long a client waits before it connects again.
    pub fn opening() -> Self {
        let mut text = Self::default();
        text.0.put_slice(b"retry: 2000\n\n");
        text
    }

    pub fn keep_alive() -> Self {
        let mut text = Self::default();
        text.0.put_slice(b": keep-alive\n\n");
        text
    }

    pub fn end(code: &Code) -> Self {
        let mut text = Self::default();
        text.add("end", &End { code: code.code });
        text
    }

    pub fn delivery(&mut self, event: &DeliveryEvent) {
        self.add("delivery", event);
    }

    pub fn missed(&mut self, count: u64) {
        self.add("missed", &MissedChanges { count });
    }

    fn add(&mut self, name: &str, data: &impl Serialize) {
        self.0.put_slice(b"event: ");
        self.0.put_slice(name.as_bytes());
        self.0.put_slice(b"\ndata: ");
        if let Err(error) = serde_json::to_writer((&mut self.0).writer(), data) {
            tracing::error!(%error, "internal error");
        }
        self.0.put_slice(b"\n\n");
    }

    pub fn into_bytes(self) -> bytes::Bytes {
        self.0.freeze()
    }
}
