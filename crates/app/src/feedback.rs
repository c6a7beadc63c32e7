//! Passes reports of SES, which arrive as webhooks, to the outbox. Receiving and e-mail do not depend on each
//! other, so they are connected here, by the target `gancho:email-feedback` of a source.

use async_trait::async_trait;
use gancho_domain::{Code, Failure};
use gancho_inbound::{InternalSink, InternalSinkError, InternalTarget};
use gancho_mail::{
    FeedbackService,
    feedback::{FeedbackError, ReportOutcome, parse},
};

/// Not retried, because a later attempt cannot read it either.
const NOT_FEEDBACK: &str = "NOT_FEEDBACK";

pub struct EmailFeedback(pub FeedbackService);

#[async_trait]
impl InternalSink for EmailFeedback {
    async fn take(&self, target: InternalTarget, body: &[u8]) -> Result<String, InternalSinkError> {
        let InternalTarget::EmailFeedback = target;
        let report = match parse(body) {
            Ok(report) => report,
            // SES reports deliveries and opened e-mails too, if configured.
            Err(other @ FeedbackError::OtherKind(_)) => return Ok(other.to_string()),
            Err(invalid @ FeedbackError::Unreadable(_)) => {
                let failure = Failure::new(Code::from_text(NOT_FEEDBACK), invalid.to_string());
                return Err(InternalSinkError::Never(failure));
            }
        };
        // Sources belong to the operator, so the report itself names the tenant.
        match self.0.take(None, &report).await {
            Ok(ReportOutcome::Reported(id)) => Ok(format!("{id} failed: {}", report.code.name())),
            Ok(ReportOutcome::Duplicate(id)) => Ok(format!("{id} was already reported")),
            Ok(ReportOutcome::Unrelated) => Ok("not about an e-mail of this outbox".to_owned()),
            Err(error) => {
                let reason = format!("could not store the report: {error}");
                Err(InternalSinkError::Later(Failure::new(Code::UNSPECIFIED, reason)))
            }
        }
    }
}

#[cfg(test)]
mod tests;
