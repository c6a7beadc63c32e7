//! Reports of SES about accepted e-mails: bounces and complaints. They arrive through SNS, possibly days
//! later and more than once. Each is reported as `email.failed` once, and an address that can never work
//! again is suppressed.
//!
//! `sns` parses them; [`FeedbackService`] acts on them. The caller has verified that they come from Amazon.

mod sns;

use std::{collections::HashMap, sync::Arc, time::Duration};

use aws_lc_rs::digest::{SHA256, digest};
use gancho_domain::{Clock, EmailId, IdMaker, ParcelKind, TenantId, TenantScope, Time, mask};
use gancho_outbound::Registry;
use gancho_store::{
    AcceptOutcome, EmailReport, EventView, IdempotencyKey, NewEmailReport, NewSuppression, Result,
    Store, StoreError,
};

pub use self::sns::{FeedbackError, parse};
use crate::{
    FailureCode, SuppressionReason,
    email::EmailSummary,
    events::{self, EmailEvent, EventContext},
};

/// A report about one e-mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feedback {
    /// The id of the report, assigned by SES.
    pub id: String,
    pub email: Option<EmailId>,
    pub tenant: Option<TenantId>,
    pub code: FailureCode,
    /// `Permanent: General`.
    pub error: String,
    pub reason: String,
    /// The affected recipients.
    pub recipients: Vec<String>,
}

/// The outcome of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportOutcome {
    /// An event is sent to the tenant.
    Reported(EmailId),
    /// The report was handled before.
    Duplicate(EmailId),
    /// The report is not about an e-mail of this outbox. Its addresses were suppressed nevertheless.
    Unrelated,
}

pub struct FeedbackService {
    pub store: Arc<dyn Store>,
    pub registry: Arc<Registry>,
    pub ids: Arc<IdMaker>,
    pub clock: Arc<dyn Clock>,
    /// How long e-mails, and the reports about them, are stored.
    pub retention: Duration,
}

/// A report that is repeated within this time is a duplicate.
const ONCE_WITHIN: Duration = Duration::from_hours(24 * 14);

/// The failure of an e-mail after it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub code: FailureCode,
    pub reason: String,
    pub error: Option<String>,
    pub at: Time,
}

impl FeedbackService {
    /// Handles a report. `scope` is the tenant whose source received it. Without a scope, the source is the
    /// operator's, and the report itself names the tenant.
    ///
    /// The event, the report and the suppression are stored in one transaction. After an error, the caller
    /// delivers the report again.
    pub async fn take(
        &self,
        scope: Option<TenantScope>,
        report: &Feedback,
    ) -> Result<ReportOutcome> {
        let named = report.tenant.map(TenantScope::internal);
        let Some(scope) = scope.or(named) else { return Ok(ReportOutcome::Unrelated) };
        if report.tenant.is_some_and(|tenant| tenant != scope.tenant()) {
            return Ok(ReportOutcome::Unrelated);
        }
        let now = self.clock.now();
        let suppress = suppressed_by(report, now);
        let Some((id, event)) = self.email(scope, report).await? else {
            self.store.suppress(scope, suppress).await?;
            return Ok(ReportOutcome::Unrelated);
        };
        let invalid = |error| StoreError::Corrupt(format!("the e-mail {id}: {error}"));
        let summary = EmailSummary::read(&event.parcel.body).map_err(invalid)?;
        let reason = mask::text(&report.reason);
        let about = EventContext {
            id,
            tenant: scope.tenant(),
            external_id: event.parcel.external_id.as_deref(),
            company: &summary.company_id,
            recipient: &summary.to,
            attempts: event.deliveries.first().map_or(0, |delivery| delivery.attempts),
        };
        let error = Some(report.error.as_str());
        let news = EmailEvent::Failed { reason: &reason, code: report.code, error, at: now };
        let mut notice = events::parcel(&self.registry, &self.ids, &about, &news, now).await?;
        notice.once = Some(once(id, &report.id, now));
        let noted = EmailReport {
            email: id,
            delivery: event.deliveries.first().map(|delivery| delivery.id),
            code: report.code.name().to_owned(),
            reason,
            error: Some(report.error.clone()),
            is_provisional: report.code == FailureCode::BounceTemporary,
            at: now,
        };
        let new = NewEmailReport { report: noted, notice, suppress, retention: self.retention };
        Ok(match self.store.report_email(scope, new).await? {
            AcceptOutcome::New { .. } => ReportOutcome::Reported(id),
            AcceptOutcome::Again { .. } | AcceptOutcome::Clash { .. } => {
                ReportOutcome::Duplicate(id)
            }
        })
    }

    /// Returns the e-mail of a report, if it is one of this outbox.
    async fn email(
        &self,
        scope: TenantScope,
        report: &Feedback,
    ) -> Result<Option<(EmailId, EventView)>> {
        let Some(id) = report.email else { return Ok(None) };
        let event = self.store.event(scope, id.cast()).await?;
        Ok(event.filter(|event| event.parcel.kind == ParcelKind::Email).map(|event| (id, event)))
    }
}

/// Returns the addresses that can never work again.
fn suppressed_by(report: &Feedback, now: Time) -> Vec<NewSuppression> {
    let reason = match report.code {
        FailureCode::BouncePermanent => SuppressionReason::Bounce,
        FailureCode::Complaint => SuppressionReason::Complaint,
        _ => return Vec::new(),
    };
    let mut suppressed = Vec::new();
    for recipient in &report.recipients {
        match recipient.parse() {
            Ok(mailbox) => {
                suppressed.push(reason.suppress(&mailbox, Some(report.error.clone()), now));
            }
            Err(why) => tracing::warn!(reason = why, "invalid recipient address in an SES report"),
        }
    }
    suppressed
}

/// Returns the reports about e-mails after they were sent.
pub(crate) async fn verdicts_on(
    store: &dyn Store,
    scope: TenantScope,
    ids: Vec<EmailId>,
) -> Result<HashMap<EmailId, Verdict>> {
    let reports = store.email_reports(scope, ids).await?;
    let verdict = |report: EmailReport| Verdict {
        code: FailureCode::of(&gancho_domain::Code::from_text(&report.code)),
        reason: report.reason,
        error: report.error,
        at: report.at,
    };
    Ok(reports.into_iter().map(|report| (report.email, verdict(report))).collect())
}

/// Returns the idempotency key. It covers the content, because the same report has the same content.
fn once(email: EmailId, report: &str, now: Time) -> IdempotencyKey {
    let text = format!("email_feedback {email} {report}");
    let mut key = [0; 32];
    key.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
    IdempotencyKey { key, content: key, until: now + ONCE_WITHIN }
}
