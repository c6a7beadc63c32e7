//! `POST /v1/erasures`: erases the content of one event, e-mail or receipt, or everything of a subject or of an
//! e-mail address.

use std::time::{Duration, Instant};

use bytes::Bytes;
use gancho_access::{Principal, Right};
use gancho_domain::{
    EmailId, EventId, Id, Lane, Parcel, ParcelId, ParcelKind, ReceiptId, TenantId, TenantScope,
};
use gancho_engine::{ArchiveRunError, ErasedContent};
use gancho_mail::{Mailbox, email};
use gancho_store::{ContentErasure, DeliveryFilter, PageRequest};
use http::Method;
use serde::Serialize;
use utoipa::ToSchema;

use super::TAG;
use crate::{
    answer::Answer,
    codes,
    cursor::CursorScope,
    input::{Request, field::ResourceKind, request},
    operations::captured_emails::erase_captured,
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

/// A call searches no longer than this; the next one goes on.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Parcels that one step of a search reads.
const STEP: usize = 2_000;
const PAGE: usize = 100;

request! {
    struct ErasureBody {
        /// Id of an event whose content is erased.
        optional event_id: String as id(ResourceKind::Event),
        /// Id of an e-mail whose content is erased.
        optional outbox_id: String as id(ResourceKind::Email),
        /// Id of a receipt whose content is erased. Operator only.
        optional receipt_id: String as id(ResourceKind::Receipt),
        /// Erase all events of this subject.
        optional subject: String as text(1, 256),
        /// Erase all e-mails to this address.
        optional email_address: String as text(3, 600),
        /// `next_cursor` of the response before, with the same `subject` or `email_address`.
        optional cursor: String as text(1, 400),
    }
}

/// What one request has erased.
#[derive(Debug, Serialize, ToSchema, Default)]
struct Erasure {
    /// Number of events, e-mails or receipts whose content was erased.
    erased: u64,
    /// Number of those whose content had been erased before.
    already_erased: u64,
    /// Number of waiting deliveries that were canceled.
    canceled: u64,
    /// Number of archived dead letters that were removed.
    archived: u64,
    /// Number of events or e-mails that were not erased because a delivery is in flight. Repeat the request a few
    /// seconds later.
    in_flight: u64,
    /// `cursor` of the request that continues the search; null if everything was searched.
    next_cursor: Option<String>,
}

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/erasures",
    operation_id: "eraseContent",
    needs: Needs::Anyone(Right::Manage),
    takes: Takes::Body(ErasureBody::FIELDS),
    gives: Gives::ok::<Erasure>("What was erased."),
    refuses: &[
        &codes::CONFLICT,
        &codes::NOT_FOUND,
        &codes::TENANT_REQUIRED,
        &codes::BAD_CURSOR,
        &codes::RATE_LIMITED,
    ],
    tag: TAG,
    summary: "Erase content",
    about: "Erases payloads, subjects, external ids, the headers and bodies of attempts, addresses and texts of e-mails, dead letters and their copies in the archive. Waiting deliveries are canceled first. While a delivery is in flight its event is not erased: a request for one event is answered with 409, a search counts it in `in_flight`; repeat it. What stays: ids, times, event types, states, failure codes, the ledger (which has hashes, and the ids that partners gave), the audit log, and backups. Erased content cannot be restored, delivered or replayed. A search ends after some seconds: repeat it with `cursor` until `next_cursor` is null. At most 2 searches per tenant, and 8 of the operator, run on a node; further requests get 429 with `Retry-After`.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

/// What to erase.
enum ErasureTarget {
    One(ParcelKind, ParcelId),
    Subject(String),
    Address(Mailbox),
}

async fn run(call: Call) -> Result<Answer, Problem> {
    let body: ErasureBody = call.parse_body()?;
    let cursor = body.cursor.clone();
    let target = target(body)?;
    let (what, report) = match target {
        ErasureTarget::One(kind, id) => {
            let (tenant, report) = one(&call, kind, id).await?;
            return Ok(Answer::ok(&report)?.about(tenant).naming(display_id(kind, id)));
        }
        ErasureTarget::Subject(subject) => {
            let _slot = call.api.erasure_searches.take(call.limited_tenant())?;
            ("of a subject", of_subject(&call, subject, cursor).await?)
        }
        ErasureTarget::Address(mailbox) => {
            let _slot = call.api.erasure_searches.take(call.limited_tenant())?;
            ("of an address", of_address(&call, &mailbox, cursor).await?)
        }
    };
    Ok(Answer::ok(&report)?.naming(format!("{} {what}", report.erased)))
}

fn target(body: ErasureBody) -> Result<ErasureTarget, Problem> {
    let mut targets = Vec::new();
    if let Some(id) = body.event_id {
        targets.push(ErasureTarget::One(ParcelKind::Event, parsed::<EventId>("/event_id", &id)?));
    }
    if let Some(id) = body.outbox_id {
        targets.push(ErasureTarget::One(
            ParcelKind::Email,
            parsed::<EmailId>("/outbox_id", &id)?.cast(),
        ));
    }
    if let Some(id) = body.receipt_id {
        targets.push(ErasureTarget::One(
            ParcelKind::Receipt,
            parsed::<ReceiptId>("/receipt_id", &id)?.cast(),
        ));
    }
    targets.extend(body.subject.map(ErasureTarget::Subject));
    if let Some(address) = body.email_address {
        let mailbox = address.parse().map_err(|why| {
            Problem::field("/email_address", format!("not a valid e-mail address: {why}"))
        })?;
        targets.push(ErasureTarget::Address(mailbox));
    }
    match (targets.pop(), targets.is_empty()) {
        (Some(target), true) => Ok(target),
        _ => Err(Problem::field(
            "",
            "name exactly one of `event_id`, `outbox_id`, `receipt_id`, `subject` and `email_address`",
        )),
    }
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(at: &str, id: &str) -> Result<T, Problem> {
    id.parse().map_err(|error: T::Err| Problem::field(at, error.to_string()))
}

fn display_id(kind: ParcelKind, id: ParcelId) -> String {
    match kind {
        ParcelKind::Event => id.to_string(),
        ParcelKind::Email => EmailId::from_bits(id.bits()).to_string(),
        ParcelKind::Receipt => ReceiptId::from_bits(id.bits()).to_string(),
    }
}

async fn one(call: &Call, kind: ParcelKind, id: ParcelId) -> Result<(TenantId, Erasure), Problem> {
    let not_found = || {
        Problem::not_found(match kind {
            ParcelKind::Event => ResourceKind::Event,
            ParcelKind::Email => ResourceKind::Email,
            ParcelKind::Receipt => ResourceKind::Receipt,
        })
    };
    let scope = match &call.principal {
        Principal::Tenant(principal) => principal.scope(),
        Principal::Operator(operator) => {
            let owner = call.api.store.event_owner(id).await?;
            operator.scope_of(owner.ok_or_else(not_found)?)
        }
    };
    let view = call.api.store.event(scope, id).await?;
    view.filter(|view| view.parcel.kind == kind).ok_or_else(not_found)?;
    let mut report = Erasure::default();
    match erase(call, scope, id, &mut report).await? {
        ContentErasure::InFlight => Err(Problem::new(
            &codes::CONFLICT,
            "a delivery is in flight, so nothing was erased; repeat the request in a few seconds",
        )),
        ContentErasure::Unknown => Err(not_found()),
        ContentErasure::Erased | ContentErasure::AlreadyErased => Ok((scope.tenant(), report)),
    }
}

async fn erase(
    call: &Call,
    scope: TenantScope,
    id: ParcelId,
    report: &mut Erasure,
) -> Result<ContentErasure, Problem> {
    let done = call.api.engine.erase_content(scope, id, replacement).await;
    let ErasedContent { outcome, canceled, archived } = done.map_err(|error| match error {
        ArchiveRunError::Store(error) => error.into(),
        ArchiveRunError::Archive(error) => Problem::new(
            &codes::UNAVAILABLE,
            format!("the content was erased from the database, but not from the archive: {error}"),
        ),
    })?;
    report.canceled += canceled;
    report.archived += archived;
    if matches!(outcome, ContentErasure::Erased | ContentErasure::AlreadyErased) {
        erase_captured(call, |email| email.id.bits() == id.bits());
    }
    match outcome {
        ContentErasure::Erased => report.erased += 1,
        ContentErasure::AlreadyErased => report.already_erased += 1,
        ContentErasure::InFlight => report.in_flight += 1,
        ContentErasure::Unknown => {}
    }
    Ok(outcome)
}

/// What is stored in place of the body: e-mails stay e-mails.
fn replacement(parcel: &Parcel) -> Bytes {
    let email = (parcel.kind == ParcelKind::Email).then(|| email::erased(&parcel.body)).flatten();
    email.unwrap_or_else(|| Bytes::from_static(b"null"))
}

async fn of_subject(
    call: &Call,
    subject: String,
    cursor: Option<String>,
) -> Result<Erasure, Problem> {
    let (began, scope) = (Instant::now(), call.tenant()?.scope());
    let place = CursorScope::named(ROUTE.path, scope.tenant(), format!("subject={subject}"));
    let mut after = position::<16>(call, &place, cursor)?.map(Id::from_bytes);
    let mut report = Erasure::default();
    loop {
        let scan = call.api.store.parcels_about(scope, subject.clone(), after, STEP).await?;
        for id in scan.parcels {
            erase(call, scope, id, &mut report).await?;
        }
        let Some(next) = scan.next else { return Ok(report) };
        if began.elapsed() > TIMEOUT {
            report.next_cursor = Some(call.api.cursors.seal(&place, &next.bytes()));
            return Ok(report);
        }
        after = Some(next);
    }
}

async fn of_address(
    call: &Call,
    mailbox: &Mailbox,
    cursor: Option<String>,
) -> Result<Erasure, Problem> {
    let (began, scope) = (Instant::now(), call.tenant()?.scope());
    let address = mailbox.address();
    let place = CursorScope::named(ROUTE.path, scope.tenant(), format!("address={address}"));
    let mut after = position::<32>(call, &place, cursor)?;
    // Of one mailbox there are several spellings; domains are stored in lower case.
    let filter = DeliveryFilter {
        lane: Some(Lane::Email),
        text: Some(format!("@{}", mailbox.domain())),
        ..DeliveryFilter::default()
    };
    let mut report = Erasure::default();
    loop {
        let request = PageRequest::new(PAGE, after);
        let page = call.api.store.deliveries(scope, filter.clone(), request).await?;
        let ids = page.rows.iter().map(|row| row.event).collect();
        // The address may also occur in the text of an e-mail to someone else.
        let prefixes =
            call.api.store.body_prefixes(scope, ids, email::SUMMARY_PREFIX_BYTES).await?;
        for (id, prefix) in prefixes {
            let summary = email::EmailSummary::in_prefix(&prefix);
            if summary.is_some_and(|email| email.to.normalized() == mailbox.normalized()) {
                erase(call, scope, id, &mut report).await?;
            }
        }
        let Some(next) = page.next else { return Ok(report) };
        if began.elapsed() > TIMEOUT {
            report.next_cursor = Some(call.api.cursors.seal(&place, &next));
            return Ok(report);
        }
        after = Some(next);
    }
}

fn position<const N: usize>(
    call: &Call,
    place: &CursorScope,
    cursor: Option<String>,
) -> Result<Option<[u8; N]>, Problem> {
    let Some(cursor) = cursor else { return Ok(None) };
    let bytes = call.api.cursors.open(place, &cursor)?;
    let bytes = bytes.try_into().map_err(|_| Problem::internal("a cursor has a wrong size"))?;
    Ok(Some(bytes))
}
