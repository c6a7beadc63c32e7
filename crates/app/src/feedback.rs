//! What SES reports of e-mails comes in as a webhook and goes on to the outbox. Neither knows the other,
//! so they are joined here: the target `gancho:email-feedback` of a source.

use async_trait::async_trait;
use gancho_domain::{Code, Failure};
use gancho_inbound::{InternalSink, InternalSinkError, InternalTarget};
use gancho_mail::{
    FeedbackService,
    feedback::{FeedbackError, ReportOutcome, parse},
};

/// No later attempt can read it any better.
const NOT_FEEDBACK: &str = "NOT_FEEDBACK";

pub struct EmailFeedback(pub FeedbackService);

#[async_trait]
impl InternalSink for EmailFeedback {
    async fn take(&self, target: InternalTarget, body: &[u8]) -> Result<String, InternalSinkError> {
        let InternalTarget::EmailFeedback = target;
        let report = match parse(body) {
            Ok(report) => report,
            // SES tells of deliveries and opened letters too, if it is asked to.
            Err(other @ FeedbackError::OtherKind(_)) => return Ok(other.to_string()),
            Err(odd @ FeedbackError::Unreadable(_)) => {
                let failure = Failure::new(Code::from_text(NOT_FEEDBACK), odd.to_string());
                return Err(InternalSinkError::Never(failure));
            }
        };
        // Sources are the operator's, so the report itself says whose e-mail it was.
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
