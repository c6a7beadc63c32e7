//! How a dead letter is shown.

use gancho_domain::{Id, Lane, id};
use gancho_store::DeadLetter;
use serde::Serialize;
use utoipa::ToSchema;

use crate::show::{Json, Stamp};

#[derive(Debug, Serialize, ToSchema)]
pub struct DeadLetterRow {
    /// The delivery's.
    pub id: String,
    /// `webhook`, `dispatch` or `email`.
    pub lane: &'static str,
    pub tenant_id: String,
    /// What it was about: the event, the receipt or the e-mail.
    pub subject_id: String,
    /// The subject that the publisher named, if one was.
    pub subject: Option<String>,
    /// Where it was to go.
    pub target_id: String,
    pub original_data: Json,
    pub failed_attempts: u32,
    pub last_failure_reason: String,
    pub last_failure_code: String,
    pub last_failure_timestamp: Stamp,
    pub enqueued_at: Stamp,
    pub moved_to_dlq_at: Stamp,
    pub expires_at: Stamp,
}

impl From<DeadLetter> for DeadLetterRow {
    fn from(letter: DeadLetter) -> Self {
        // A parcel's id is shown under the word for what it is.
        let (subject_id, target_id) = match letter.lane {
            Lane::Webhook => (letter.parcel.to_string(), letter.target.to_string()),
            Lane::Dispatch => (
                letter.parcel.cast::<id::OfReceipt>().to_string(),
                Id::<id::OfSource>::from_bits(letter.target.bits()).to_string(),
            ),
            Lane::Email => {
                (letter.parcel.cast::<id::OfEmail>().to_string(), letter.target.to_string())
            }
        };
        Self {
            id: letter.delivery.to_string(),
            lane: letter.lane.name(),
            tenant_id: letter.tenant.to_string(),
            subject_id,
            subject: letter.subject.map(Into::into),
            target_id,
            original_data: Json::of(&letter.original),
            failed_attempts: letter.failed_attempts,
            last_failure_reason: letter.failure.reason().to_owned(),
            last_failure_code: letter.failure.code().to_string(),
            last_failure_timestamp: Stamp(letter.failed_at),
            enqueued_at: Stamp(letter.enqueued_at),
            moved_to_dlq_at: Stamp(letter.moved_at),
            expires_at: Stamp(letter.expires_at),
        }
    }
}
