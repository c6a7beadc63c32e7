//! Renders the attempts of deliveries.

use std::collections::BTreeMap;

use http::Method;
use serde::{Deserialize, Serialize};

use super::message_view::MessageOut;
use crate::{
    svix_error::SvixError,
    visit::{AppContext, Visit, segment},
};

/// A delivery in a list of the API.
#[derive(Debug, Clone, Deserialize)]
pub struct Delivery {
    pub id: String,
    #[serde(default)]
    pub webhook_id: String,
    #[serde(default)]
    pub event_id: String,
    #[serde(default)]
    pub event_type: String,
    pub external_id: Option<String>,
    pub status: String,
    pub attempts: u32,
    pub next_retry_at: Option<String>,
    pub created_at: String,
}

#[derive(Debug, Deserialize)]
pub struct DeliveryDetail {
    pub webhook_id: Option<String>,
    pub event_id: Option<String>,
    #[serde(default)]
    pub attempt_log: Vec<Attempt>,
}

#[derive(Debug, Deserialize)]
pub struct Attempt {
    pub attempt: u32,
    pub started_at: String,
    pub latency_ms: f64,
    pub request_headers: BTreeMap<String, String>,
    pub response_status: Option<u16>,
    pub response_headers: BTreeMap<String, String>,
    pub response_body: Option<String>,
    pub error: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptOut {
    pub id: String,
    pub msg_id: String,
    pub endpoint_id: String,
    pub url: String,
    pub response: String,
    /// 0 if there was no response.
    pub response_status_code: u16,
    pub response_duration_ms: i64,
    pub status: u8,
    pub status_text: &'static str,
    /// 0: scheduled. The gateway does not record who requested an attempt.
    pub trigger_type: u8,
    pub timestamp: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub msg: Option<MessageOut>,
}

/// The status numbers of Svix.
pub const SUCCESS: u8 = 0;
pub const PENDING: u8 = 1;
pub const FAIL: u8 = 2;

impl Attempt {
    pub fn status(&self) -> u8 {
        if self.error.is_none() { SUCCESS } else { FAIL }
    }

    pub fn into_out(self, delivery: &str, msg: &str, endpoint: &str, url: &str) -> AttemptOut {
        let status = self.status();
        AttemptOut {
            id: attempt_id(delivery, self.attempt),
            msg_id: msg.to_owned(),
            endpoint_id: endpoint.to_owned(),
            url: url.to_owned(),
            response: self.response_body.or(self.error).unwrap_or_default(),
            response_status_code: self.response_status.unwrap_or(0),
            response_duration_ms: self.latency_ms.round() as i64,
            status,
            status_text: status_text(status),
            trigger_type: 0,
            timestamp: self.started_at,
            msg: None,
        }
    }
}

impl Delivery {
    pub fn svix_status(&self) -> u8 {
        match self.status.as_str() {
            "delivered" => SUCCESS,
            "failed" => FAIL,
            _ => PENDING,
        }
    }
}

pub fn status_text(status: u8) -> &'static str {
    match status {
        SUCCESS => "success",
        FAIL => "fail",
        _ => "pending",
    }
}

/// Returns the id of an attempt. Attempts have no ids of their own, so it is made of the delivery's id and
/// the attempt's number.
fn attempt_id(delivery: &str, number: u32) -> String {
    format!("{delivery}-{number}")
}

/// Returns the delivery and the number in the id of an attempt.
pub fn read_attempt_id(id: &str) -> Option<(&str, u32)> {
    let (delivery, number) = id.rsplit_once('-')?;
    delivery.parse::<gancho_domain::DeliveryId>().ok()?;
    Some((delivery, number.parse().ok()?))
}

pub async fn detail(
    visit: &Visit,
    app: &AppContext,
    delivery: &str,
) -> Result<DeliveryDetail, SvixError> {
    visit.call(app, Method::GET, format!("/v1/deliveries/{}", segment(delivery))).run().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_an_attempt_is_read_back() {
        let delivery = "dlv_01HQXYZ123ABCDEFGH00000000";
        let id = attempt_id(delivery, 3);
        assert_eq!(read_attempt_id(&id), Some((delivery, 3)));
        for bad in ["", "-", "dlv_01HQXYZ123ABCDEFGH00000000", "evt_1-2", "../x-1", "-1"] {
            assert_eq!(read_attempt_id(bad), None, "{bad}");
        }
    }
}
