//! What SES reports after a letter was taken: it bounced, or its reader complained. It comes through
//! SNS, days later perhaps, and more than once perhaps; it is told as `email.failed` once, and the
//! address is suppressed where it can never work again.
//!
//! `sns` reads what came; [`FeedbackDesk`] acts on it. Whether it came from Amazon at all is for
//! whoever received it to make sure of.

mod sns;

use std::{sync::Arc, time::Duration};

use aws_lc_rs::digest::{SHA256, digest};
use bytes::Bytes;
use gancho_domain::{Clock, DeliveryId, EmailId, IdMaker, Kind, TenantId, TenantScope, Time};
use gancho_outbound::Registry;
use gancho_store::{Accepted, Expect, NodeId, Once, Record, Result, Shelf, Store, StoreError};
use serde::{Deserialize, Serialize};

pub use self::sns::{NotFeedback, parse};
use crate::{
    FailureCode, SuppressionReason, Suppressions,
    email::Brief,
    events::{self, About, News},
    masking,
};

/// What was reported of one letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feedback {
    /// The reporter's own id for the report.
    pub id: String,
    pub email: Option<EmailId>,
    pub tenant: Option<TenantId>,
    pub code: FailureCode,
    /// `Permanent: General`.
    pub error: String,
    pub reason: String,
    /// Whose mailboxes it is about.
    pub recipients: Vec<String>,
}

/// What became of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// Its tenant hears of it.
    Told(EmailId),
    /// It was known already.
    Again(EmailId),
    /// It is about no e-mail of this outbox. Addresses were suppressed all the same.
    NotOurs,
}

pub struct FeedbackDesk {
    pub store: Arc<dyn Store>,
    pub registry: Arc<Registry>,
    pub suppressions: Arc<Suppressions>,
    pub ids: Arc<IdMaker>,
    pub clock: Arc<dyn Clock>,
    /// How long e-mails are kept: what was reported of one is kept no longer.
    pub retention: Duration,
}

const KIND: &str = "email_feedback";
/// Which e-mails were reported of, the newest first.
const ORDER: &str = "email_feedback_order";
/// A report that comes again within this time is known.
const ONCE_WITHIN: Duration = Duration::from_hours(24 * 14);

/// That a sent e-mail failed after all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub code: FailureCode,
    pub reason: String,
    pub error: Option<String>,
    pub at: Time,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    code: String,
    reason: String,
    error: Option<String>,
    at: i64,
}

impl FeedbackDesk {
    /// `scope` is the tenant through whose source it came; without one it is the operator's, and the
    /// report itself says whose e-mail it was.
    ///
    /// Every step can be done again: whoever brings a report and gets an error brings it again. It is
    /// told before it is noted, so that no e-mail is shown as failed of which its tenant never hears.
    pub async fn take(&self, scope: Option<TenantScope>, report: &Feedback) -> Result<Taken> {
        let named = report.tenant.map(TenantScope::internal);
        let Some(scope) = scope.or(named) else { return Ok(Taken::NotOurs) };
        if report.tenant.is_some_and(|tenant| tenant != scope.tenant()) {
            return Ok(Taken::NotOurs);
        }
        self.suppress(scope, report).await?;
        let Some(id) = report.email else { return Ok(Taken::NotOurs) };
        let Some(event) = self.store.event(scope, id.cast()).await? else {
            return Ok(Taken::NotOurs);
        };
        if event.parcel.kind != Kind::Email {
            return Ok(Taken::NotOurs);
        }
        let odd = |fault| StoreError::Corrupt(format!("the e-mail {id}: {fault}"));
        let brief = Brief::read(&event.parcel.body).map_err(odd)?;
        let now = self.clock.now();
        let reason = masking::text(&report.reason);
        let about = About {
            id,
            tenant: scope.tenant(),
            external_id: event.parcel.external_id.as_deref(),
            company: &brief.company_id,
            recipient: &brief.to,
            attempts: event.deliveries.first().map_or(0, |delivery| delivery.attempts),
        };
        let error = Some(report.error.as_str());
        let news = News::Failed { reason: &reason, code: report.code, error, at: now };
        let mut parcel = events::parcel(&self.registry, &self.ids, &about, &news, now).await?;
        parcel.once = Some(once(id, &report.id, now));
        // None of its deliveries is held, so there is no holder to name.
        let accepted = self.store.accept(vec![parcel], NodeId(0)).await?;
        if let Some(delivery) = event.deliveries.first() {
            self.enlist(scope, id, delivery.id, now).await?;
        }
        let told_at = match accepted.first() {
            // It was told before, and is noted with the time that was told.
            Some(Accepted::Again { first }) => {
                self.store.event(scope, *first).await?.map_or(now, |told| told.parcel.created_at)
            }
            _ => now,
        };
        self.note(scope, id, report, &reason, told_at).await?;
        Ok(match accepted.first() {
            Some(Accepted::New { .. }) => Taken::Told(id),
            _ => Taken::Again(id),
        })
    }

    async fn suppress(&self, scope: TenantScope, report: &Feedback) -> Result<()> {
        let reason = match report.code {
            FailureCode::BouncePermanent => SuppressionReason::Bounce,
            FailureCode::Complaint => SuppressionReason::Complaint,
            _ => return Ok(()),
        };
        for recipient in &report.recipients {
            match recipient.parse() {
                Ok(mailbox) => {
                    let detail = Some(report.error.clone());
                    self.suppressions.add(scope, &mailbox, reason, detail).await?;
                }
                Err(why) => tracing::warn!(why, "a report names what is no address"),
            }
        }
        Ok(())
    }

    /// For lists of what failed.
    async fn enlist(
        &self,
        scope: TenantScope,
        id: EmailId,
        delivery: DeliveryId,
        now: Time,
    ) -> Result<()> {
        let (place, key) = (Shelf::of(scope, ORDER), backwards(delivery));
        let (body, until) = (Bytes::from(id.to_string()), self.until(now));
        self.store.put_record_until(place, &key, body, Expect::Nothing, until).await?;
        Ok(())
    }

    /// A report is made after its e-mail, so this is after the e-mail has gone.
    fn until(&self, reported_at: Time) -> Time {
        reported_at + self.retention
    }

    /// The first word on an e-mail stays, unless it was only of a failure that might have passed.
    async fn note(
        &self,
        scope: TenantScope,
        id: EmailId,
        report: &Feedback,
        reason: &str,
        at: Time,
    ) -> Result<()> {
        let kept = Kept {
            code: report.code.name().to_owned(),
            reason: reason.to_owned(),
            error: Some(report.error.clone()),
            at: at.micros(),
        };
        let odd = |fault: serde_json::Error| StoreError::Corrupt(fault.to_string());
        let body = serde_json::to_vec(&kept).map(Bytes::from).map_err(odd)?;
        let known = verdict_on(&*self.store, scope, id).await?;
        let expect = match known {
            Some(known) if known.code != FailureCode::BounceTemporary => return Ok(()),
            Some(_) => Expect::Anything,
            None => Expect::Nothing,
        };
        let (shelf, key) = (Shelf::of(scope, KIND), id.to_string());
        self.store.put_record_until(shelf, &key, body, expect, self.until(at)).await?;
        Ok(())
    }
}

/// What was reported of an e-mail after it was sent.
pub(crate) async fn verdict_on(
    store: &dyn Store,
    scope: TenantScope,
    id: EmailId,
) -> Result<Option<Verdict>> {
    let Some(record) = store.record(Shelf::of(scope, KIND), &id.to_string()).await? else {
        return Ok(None);
    };
    let odd = |fault| StoreError::Corrupt(format!("a report of the e-mail {id}: {fault}"));
    let kept: Kept = serde_json::from_slice(&record.body).map_err(odd)?;
    Ok(Some(Verdict {
        code: FailureCode::of(&gancho_domain::Code::from_text(&kept.code)),
        reason: kept.reason,
        error: kept.error,
        at: Time::from_micros(kept.at),
    }))
}

/// An e-mail of which something was reported.
pub(crate) struct Reported {
    pub delivery: DeliveryId,
    pub email: EmailId,
}

/// At most so many, the newest first, from those before a delivery on.
pub(crate) async fn reported(
    store: &dyn Store,
    scope: TenantScope,
    before: Option<DeliveryId>,
    most: usize,
) -> Result<Vec<Reported>> {
    let after = before.map(backwards);
    let records = store.records(Shelf::of(scope, ORDER), after.as_deref(), most).await?;
    let read = |record: &Record| {
        let delivery = u128::from_str_radix(&record.key, 16).ok()?;
        let email = std::str::from_utf8(&record.body).ok()?.parse().ok()?;
        Some(Reported { delivery: DeliveryId::from_bits(!delivery), email })
    };
    let odd = || StoreError::Corrupt("the order of reports on e-mails".into());
    records.iter().map(|record| read(record).ok_or_else(odd)).collect()
}

/// Records stand in order of their keys: the newest delivery has the smallest.
fn backwards(delivery: DeliveryId) -> String {
    format!("{:032x}", !delivery.bits())
}

/// The content is the key's own: the same report says the same.
fn once(email: EmailId, report: &str, now: Time) -> Once {
    let text = format!("email_feedback {email} {report}");
    let mut key = [0; 32];
    key.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
    Once { key, content: key, until: now + ONCE_WITHIN }
}
