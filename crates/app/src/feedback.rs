//! What SES reports of e-mails comes in as a webhook and goes on to the outbox. Neither knows the other,
//! so they are joined here: the target `gancho:email-feedback` of a source.

use async_trait::async_trait;
use gancho_domain::{Code, Failure};
use gancho_inbound::{Inside, InsideFault, InsideTarget};
use gancho_mail::{
    FeedbackDesk,
    feedback::{NotFeedback, Taken, parse},
};

/// No later attempt can read it any better.
const NOT_FEEDBACK: &str = "NOT_FEEDBACK";

pub struct EmailFeedback(pub FeedbackDesk);

#[async_trait]
impl Inside for EmailFeedback {
    async fn take(&self, target: InsideTarget, body: &[u8]) -> Result<String, InsideFault> {
        let InsideTarget::EmailFeedback = target;
        let report = match parse(body) {
            Ok(report) => report,
            // SES tells of deliveries and opened letters too, if it is asked to.
            Err(other @ NotFeedback::OtherKind(_)) => return Ok(other.to_string()),
            Err(odd @ NotFeedback::Unreadable(_)) => {
                let failure = Failure::new(Code::from_text(NOT_FEEDBACK), odd.to_string());
                return Err(InsideFault::Never(failure));
            }
        };
        // Sources are the operator's, so the report itself says whose e-mail it was.
        match self.0.take(None, &report).await {
            Ok(Taken::Told(id)) => Ok(format!("{id} failed: {}", report.code.name())),
            Ok(Taken::Again(id)) => Ok(format!("{id} was already reported")),
            Ok(Taken::NotOurs) => Ok("not about an e-mail of this outbox".to_owned()),
            Err(error) => {
                let reason = format!("could not store the report: {error}");
                Err(InsideFault::Later(Failure::new(Code::UNSPECIFIED, reason)))
            }
        }
    }
}

#[cfg(test)]
mod tests;
