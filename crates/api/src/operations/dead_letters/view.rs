//! Renders a dead letter, with its tenant or partner. The recipient of an e-mail is never shown.

use std::collections::HashMap;

use bytes::Bytes;
use gancho_domain::{Lane, TenantId, id};
use gancho_inbound::{Source, payload};
use gancho_store::DeadLetter;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    problem::Problem,
    render::{Json, Timestamp, words},
    state::Api,
};

/// A delivery that failed permanently, with its data and the last failure.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeadLetter)]
pub struct DeadLetterRow {
    /// Id of the dead letter: that of its delivery (`dlv_…`).
    pub id: String,
    /// What was to be delivered: an event, a receipt or an e-mail.
    #[schema(value_type = words::Lane)]
    pub lane: &'static str,
    /// Id of the tenant; null in the lane `dispatch`, see `partner`.
    pub tenant_id: Option<String>,
    /// Name of the partner that sent the receipt, in the lane `dispatch`; null in other lanes.
    pub partner: Option<String>,
    /// Id of the event (`evt_…`), receipt (`rcp_…`) or e-mail (`out_…`).
    pub subject_id: String,
    /// The `subject` that the publisher gave the event; null if there is none.
    pub subject: Option<String>,
    /// Id of the webhook, in the lane `webhook`; null in other lanes.
    pub target_id: Option<String>,
    /// URL that a replay sends the receipt to, in the lane `dispatch`; null in other lanes, and if the source was
    /// deleted.
    pub target_url: Option<String>,
    /// Type of the event. For a receipt `PARTNER/KEY/TOPIC`, or `PARTNER/KEY` without a topic.
    pub event_type: String,
    /// Your own id of the event or e-mail, or the partner's event id of a receipt; null if there is none.
    pub external_id: Option<String>,
    /// The data as it was accepted. E-mail addresses are masked and attachments left out.
    pub original_data: Json,
    /// Number of failed attempts.
    pub failed_attempts: u32,
    /// Why the last attempt failed, or why the delivery was given up without one.
    pub last_failure_reason: String,
    /// Code of the last failure, e.g. `HTTP_503`, `TIMEOUT` or `EXPIRED`.
    pub last_failure_code: String,
    /// The receiver's own status or error code: an HTTP status such as `503`, an SMTP reply code such as `550`, or an
    /// error of SES such as `MessageRejected`. Null if the receiver did not respond.
    pub last_provider_code: Option<String>,
    /// When the last attempt failed or, without an attempt, when the delivery was given up.
    pub last_failure_timestamp: Timestamp,
    /// When the delivery was accepted.
    pub enqueued_at: Timestamp,
    /// When the delivery became a dead letter.
    pub moved_to_dlq_at: Timestamp,
    /// When the dead letter is due to be archived. Until then it can be replayed.
    pub expires_at: Timestamp,
}

/// Renders dead letters. Each tenant or partner is looked up once.
pub struct DeadLetterRows<'a> {
    api: &'a Api,
    sources: HashMap<TenantId, Partner>,
}

/// A source, or what is known of a deleted one.
#[derive(Clone, Default)]
struct Partner {
    name: Option<String>,
    source: Option<Source>,
}

impl<'a> DeadLetterRows<'a> {
    pub fn new(api: &'a Api) -> Self {
        Self { api, sources: HashMap::new() }
    }

    pub async fn all(&mut self, letters: Vec<DeadLetter>) -> Result<Vec<DeadLetterRow>, Problem> {
        let mut rows = Vec::with_capacity(letters.len());
        for letter in letters {
            rows.push(self.row(letter).await?);
        }
        Ok(rows)
    }

    pub async fn row(&mut self, letter: DeadLetter) -> Result<DeadLetterRow, Problem> {
        Ok(match letter.lane {
            Lane::Webhook => DeadLetterRow {
                tenant_id: Some(letter.tenant.to_string()),
                target_id: Some(letter.target.to_string()),
                ..plain(letter)
            },
            Lane::Dispatch => {
                let partner = self.partner(letter.tenant).await?;
                let preset = partner.source.as_ref().map(Source::preset);
                let original = payload::for_display(preset.as_ref(), &letter.original);
                let source = partner.source.as_ref();
                let url = source.and_then(|source| source.destination_url(letter.target, true));
                DeadLetterRow {
                    partner: partner.name.clone(),
                    subject_id: letter.parcel.cast::<id::ReceiptIdKind>().to_string(),
                    target_url: url.map(str::to_owned),
                    original_data: Json::of(&original),
                    ..plain(letter)
                }
            }
            Lane::Email => DeadLetterRow {
                tenant_id: Some(letter.tenant.to_string()),
                subject_id: letter.parcel.cast::<id::EmailIdKind>().to_string(),
                original_data: Json::of(&masked(&letter.original)),
                ..plain(letter)
            },
        })
    }

    async fn partner(&mut self, tenant: TenantId) -> Result<&Partner, Problem> {
        if !self.sources.contains_key(&tenant) {
            let mut partner = Partner::default();
            if let Some(inbound) = &self.api.inbound {
                let sources = &inbound.inbound.sources;
                partner.name = sources.partner_of(tenant).await?.map(|name| name.to_string());
                partner.source = sources.all().await?.of_tenant(tenant).map(|at| at.source.clone());
            }
            self.sources.insert(tenant, partner);
        }
        Ok(self.sources.entry(tenant).or_default())
    }
}

/// What cannot be parsed as an e-mail is not shown, because it may contain an address.
fn masked(original: &[u8]) -> Bytes {
    gancho_mail::email::masked(original).unwrap_or_else(|| Bytes::from_static(b"null"))
}

/// The fields that are the same in every lane.
fn plain(letter: DeadLetter) -> DeadLetterRow {
    DeadLetterRow {
        id: letter.delivery.to_string(),
        lane: letter.lane.name(),
        tenant_id: None,
        partner: None,
        subject_id: letter.parcel.to_string(),
        subject: letter.subject.map(Into::into),
        target_id: None,
        target_url: None,
        event_type: letter.event_type.into(),
        external_id: letter.external_id.map(Into::into),
        original_data: Json::of(&letter.original),
        failed_attempts: letter.failed_attempts,
        last_failure_reason: letter.failure.reason().to_owned(),
        last_failure_code: letter.failure.code().to_string(),
        last_provider_code: letter.failure.provider_code().map(str::to_owned),
        last_failure_timestamp: Timestamp(letter.failed_at),
        enqueued_at: Timestamp(letter.enqueued_at),
        moved_to_dlq_at: Timestamp(letter.moved_at),
        expires_at: Timestamp(letter.expires_at),
    }
}
