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

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeadLetter)]
pub struct DeadLetterRow {
    /// Id of the delivery.
    pub id: String,
    /// `webhook`, `dispatch` or `email`.
    #[schema(value_type = words::Lane)]
    pub lane: &'static str,
    /// Null in the lane `dispatch`, see `partner`.
    pub tenant_id: Option<String>,
    /// The partner that sent the receipt, in the lane `dispatch`.
    pub partner: Option<String>,
    /// Id of the event, receipt or e-mail.
    pub subject_id: String,
    /// The `subject` that the publisher gave, if any.
    pub subject: Option<String>,
    /// The webhook, in the lane `webhook`.
    pub target_id: Option<String>,
    /// The URL that a replay sends it to, in the lane `dispatch`; null if the source was deleted.
    pub target_url: Option<String>,
    /// Type of the event; of a receipt its partner, key and topic.
    pub event_type: String,
    /// The publisher's or partner's own id, if any.
    pub external_id: Option<String>,
    /// The data as it was accepted. E-mail addresses are masked and attachments left out.
    pub original_data: Json,
    pub failed_attempts: u32,
    pub last_failure_reason: String,
    pub last_failure_code: String,
    /// The receiver's own status or error code: an HTTP status such as `503`, an SMTP reply code such as `550`, an error of
    /// SES such as `MessageRejected`. Null if it did not answer.
    pub last_provider_code: Option<String>,
    pub last_failure_timestamp: Timestamp,
    pub enqueued_at: Timestamp,
    pub moved_to_dlq_at: Timestamp,
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
