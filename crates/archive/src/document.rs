//! The format of an archived dead letter: one JSON document with all its data.

use data_encoding::BASE64;
use gancho_domain::{Attempt, Failure, Id, Lane, id};
use gancho_engine::ArchiveError;
use gancho_store::{FullDeadLetter, Store};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::layout::{self, OwnerNames};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    delivery_id: String,
    lane: &'static str,
    /// The partner, or the tenant's slug.
    tenant: &'a str,
    tenant_id: String,
    /// The id of the event, the receipt or the e-mail.
    subject_id: String,
    /// The subject that the publisher set, if any.
    subject: Option<&'a str>,
    target_id: String,
    /// The event's type; for a receipt its label.
    event_type: &'a str,
    external_id: Option<&'a str>,
    is_test: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    original_data: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    original_data_base64: Option<String>,
    failed_attempts: u32,
    last_failure_reason: &'a str,
    last_failure_code: &'a str,
    last_provider_code: Option<&'a str>,
    last_failure_timestamp: String,
    enqueued_at: String,
    #[serde(rename = "movedToDLQAt")]
    moved_to_dlq_at: String,
    expires_at: String,
    attempts: Vec<AttemptDocument<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AttemptDocument<'a> {
    attempt: u32,
    started_at: String,
    latency_ms: f64,
    /// The request headers of the attempt, with secrets masked.
    request_headers: Vec<String>,
    response_status: Option<u16>,
    response_headers: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_body: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_body_base64: Option<String>,
    failure_reason: Option<&'a str>,
    failure_code: Option<&'a str>,
}

/// Returns the path and the document of each dead letter.
pub async fn files(
    store: &dyn Store,
    letters: &[FullDeadLetter],
) -> Result<Vec<(String, Vec<u8>)>, ArchiveError> {
    let mut owners = OwnerNames::new(store);
    let mut files = Vec::with_capacity(letters.len());
    for whole in letters {
        let owner = owners.of(whole).await.map_err(|error| layout::unknown_owner(&error))?;
        let text = write(&owner, whole).map_err(|error| {
            ArchiveError(format!("{} cannot be written as JSON: {error}", whole.letter.delivery))
        })?;
        files.push((layout::name(&owner, whole), text));
    }
    Ok(files)
}

/// Writes a document. The same dead letter gives the same bytes.
pub fn write(owner: &str, whole: &FullDeadLetter) -> Result<Vec<u8>, serde_json::Error> {
    let letter = &whole.letter;
    let body = &*letter.original;
    let json: Option<&RawValue> = serde_json::from_slice(body).ok();
    // JSON in JSON loses surrounding white space; if there is some, the raw text is written as well, so that
    // the signed bytes can be restored.
    let is_exact = json.is_some_and(|json| json.get().len() == body.len());
    let document = Document {
        delivery_id: letter.delivery.to_string(),
        lane: letter.lane.name(),
        tenant: owner,
        tenant_id: letter.tenant.to_string(),
        subject_id: subject_id(whole),
        subject: letter.subject.as_deref(),
        target_id: letter.target.to_string(),
        event_type: &letter.event_type,
        external_id: letter.external_id.as_deref(),
        is_test: letter.is_test,
        original_data: json,
        original_data_base64: (!is_exact).then(|| BASE64.encode(body)),
        failed_attempts: letter.failed_attempts,
        last_failure_reason: letter.failure.reason(),
        last_failure_code: letter.failure.code().as_str(),
        last_provider_code: letter.failure.provider_code(),
        last_failure_timestamp: letter.failed_at.to_string(),
        enqueued_at: letter.enqueued_at.to_string(),
        moved_to_dlq_at: letter.moved_at.to_string(),
        expires_at: letter.expires_at.to_string(),
        attempts: whole.attempts.iter().map(attempt_document).collect(),
    };
    let mut text = serde_json::to_vec_pretty(&document)?;
    text.push(b'\n');
    Ok(text)
}

/// Returns the parcel's id with the prefix of its kind.
fn subject_id(whole: &FullDeadLetter) -> String {
    let parcel = whole.letter.parcel;
    match whole.letter.lane {
        Lane::Webhook => parcel.to_string(),
        Lane::Dispatch => Id::<id::ReceiptIdKind>::from_bits(parcel.bits()).to_string(),
        Lane::Email => Id::<id::EmailIdKind>::from_bits(parcel.bits()).to_string(),
    }
}

fn attempt_document(attempt: &Attempt) -> AttemptDocument<'_> {
    let body = std::str::from_utf8(&attempt.response_body);
    let failure = attempt.failure.as_ref();
    AttemptDocument {
        attempt: attempt.number,
        started_at: attempt.started_at.to_string(),
        latency_ms: attempt.latency.as_micros() as f64 / 1_000.0,
        request_headers: lines(&attempt.request_headers),
        response_status: attempt.response_status,
        response_headers: lines(&attempt.response_headers),
        response_body: body.ok(),
        response_body_base64: body.err().map(|_| BASE64.encode(&attempt.response_body)),
        failure_reason: failure.map(Failure::reason),
        failure_code: failure.map(|failure| failure.code().as_str()),
    }
}

fn lines(headers: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(headers).lines().map(str::to_owned).collect()
}
