//! The events about an e-mail: `email.sent`, `email.retry_scheduled`, `email.failed`, with the
//! fields of the contract, in its order, and no others.

use std::sync::Arc;

use bytes::Bytes;
use gancho_domain::{EmailId, IdMaker, Parcel, ParcelKind, TenantId, Time};
use gancho_outbound::{
    Registry,
    fan_out::{Audience, fan_out},
};
use gancho_store::{NewParcel, StoreError};
use serde::{Serialize, Serializer};

use crate::{FailureCode, Mailbox};

pub const SENT: &str = "email.sent";
pub const RETRY_SCHEDULED: &str = "email.retry_scheduled";
pub const FAILED: &str = "email.failed";

/// The common fields of all events.
#[derive(Debug, Clone, Copy)]
pub struct EventContext<'a> {
    pub id: EmailId,
    pub tenant: TenantId,
    pub external_id: Option<&'a str>,
    pub company: &'a str,
    pub recipient: &'a Mailbox,
    /// The number of attempts so far.
    pub attempts: u32,
}

#[derive(Debug, Clone, Copy)]
pub enum EmailEvent<'a> {
    Sent { message_id: &'a str, at: Time, since_accepted: std::time::Duration },
    RetryScheduled { next_at: Time, last_error: &'a str },
    Failed { reason: &'a str, code: FailureCode, error: Option<&'a str>, at: Time },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CommonData<'a> {
    outbox_id: AsText<EmailId>,
    external_id: Option<&'a str>,
    company_id: &'a str,
    recipient: String,
    status: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SentData<'a> {
    #[serde(flatten)]
    head: CommonData<'a>,
    message_id: &'a str,
    #[serde(rename = "sentAt")]
    at: AsText<Time>,
    attempts: u32,
    processing_time_ms: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RetryScheduledData<'a> {
    #[serde(flatten)]
    head: CommonData<'a>,
    retry_attempt: u32,
    next_retry_at: AsText<Time>,
    last_error: &'a str,
    attempts: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FailedData<'a> {
    #[serde(flatten)]
    head: CommonData<'a>,
    failure_reason: &'a str,
    failure_code: &'static str,
    ses_error: Option<&'a str>,
    attempts: u32,
    #[serde(rename = "failedAt")]
    at: AsText<Time>,
}

/// Serialized with `Display`.
struct AsText<T>(T);

impl<T: std::fmt::Display> Serialize for AsText<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl EmailEvent<'_> {
    pub const fn event_type(&self) -> &'static str {
        match self {
            Self::Sent { .. } => SENT,
            Self::RetryScheduled { .. } => RETRY_SCHEDULED,
            Self::Failed { .. } => FAILED,
        }
    }

    fn data(&self, about: &EventContext<'_>) -> Result<Bytes, serde_json::Error> {
        let head = |status| CommonData {
            outbox_id: AsText(about.id),
            external_id: about.external_id,
            company_id: about.company,
            recipient: about.recipient.masked(),
            status,
        };
        let attempts = about.attempts;
        let data = match *self {
            Self::Sent { message_id, at, since_accepted } => serde_json::to_vec(&SentData {
                head: head("SENT"),
                message_id,
                at: AsText(at),
                attempts,
                processing_time_ms: u64::try_from(since_accepted.as_millis()).unwrap_or(u64::MAX),
            }),
            Self::RetryScheduled { next_at, last_error } => {
                serde_json::to_vec(&RetryScheduledData {
                    head: head("RETRY_SCHEDULED"),
                    retry_attempt: attempts,
                    next_retry_at: AsText(next_at),
                    last_error,
                    attempts,
                })
            }
            Self::Failed { reason, code, error, at } => serde_json::to_vec(&FailedData {
                head: head("FAILED"),
                failure_reason: reason,
                failure_code: code.name(),
                ses_error: error,
                attempts,
                at: AsText(at),
            }),
        };
        data.map(Bytes::from)
    }
}

/// Returns the event for every subscribed endpoint, which the caller stores. It is stored even without
/// subscribers, so that the numbers of an e-mail's events have no gaps.
pub async fn parcel(
    registry: &Registry,
    ids: &IdMaker,
    about: &EventContext<'_>,
    news: &EmailEvent<'_>,
    now: Time,
) -> Result<NewParcel, StoreError> {
    let data = news.data(about).map_err(|error| StoreError::Corrupt(error.to_string()))?;
    let event_type = news.event_type();
    let parcel = Arc::new(Parcel {
        id: ids.make(),
        tenant: about.tenant,
        kind: ParcelKind::Event,
        event_type: event_type.into(),
        subject: Some(about.id.to_string().into()),
        external_id: about.external_id.map(Into::into),
        is_test: false,
        body: data,
        created_at: now,
        trace: None,
        erased_at: None,
    });
    let targets = registry.of(about.tenant).await?;
    let deliveries = fan_out(&targets, Audience::Wanting, event_type, now, ids);
    Ok(NewParcel { parcel, once: None, ledger: None, deliveries })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn body(news: EmailEvent<'_>) -> String {
        let recipient: Mailbox = "joao@example.com".parse().expect("an address");
        let about = EventContext {
            id: EmailId::from_bits(7),
            tenant: TenantId::from_bits(8),
            external_id: Some("BOL-M2-2025-00123"),
            company: "m2",
            recipient: &recipient,
            attempts: 1,
        };
        String::from_utf8(news.data(&about).expect("JSON").to_vec()).expect("text")
    }

    /// Byte for byte as the clients of the outbox expect it.
    #[test]
    fn as_in_the_contract() {
        let at = Time::from_millis(1_737_642_600_000);
        let head = r#"{"outboxId":"out_00000000000000000000000007","externalId":"BOL-M2-2025-00123","companyId":"m2","recipient":"j***@e***le.com","#;
        let sent = EmailEvent::Sent {
            message_id: "0102018d1234abcd",
            at,
            since_accepted: Duration::from_millis(1_234),
        };
        assert_eq!(
            body(sent),
            format!(
                r#"{head}"status":"SENT","messageId":"0102018d1234abcd","sentAt":"2025-01-23T14:30:00.000Z","attempts":1,"processingTimeMs":1234}}"#
            )
        );
        let retry =
            EmailEvent::RetryScheduled { next_at: at, last_error: "Throttling: Rate exceeded" };
        assert_eq!(
            body(retry),
            format!(
                r#"{head}"status":"RETRY_SCHEDULED","retryAttempt":1,"nextRetryAt":"2025-01-23T14:30:00.000Z","lastError":"Throttling: Rate exceeded","attempts":1}}"#
            )
        );
        let failed = EmailEvent::Failed {
            reason: "Recipient address rejected",
            code: FailureCode::InvalidRecipient,
            error: Some("MessageRejected"),
            at,
        };
        assert_eq!(
            body(failed),
            format!(
                r#"{head}"status":"FAILED","failureReason":"Recipient address rejected","failureCode":"INVALID_RECIPIENT","sesError":"MessageRejected","attempts":1,"failedAt":"2025-01-23T14:30:00.000Z"}}"#
            )
        );
    }
}
