//! Internal targets: a receipt goes to another part of the gateway instead of a URL. This crate does not
//! know the parts; the binary connects them.

use async_trait::async_trait;
use gancho_domain::Failure;

/// The target's name, in place of a URL.
pub const EMAIL_FEEDBACK: &str = "gancho:email-feedback";
const BEGINNING: &str = "gancho:";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InternalTarget {
    /// Reports of SES: bounces and complaints.
    EmailFeedback,
}

impl InternalTarget {
    /// Parses a target's URL; `None` for an ordinary URL.
    pub fn named(text: &str) -> Option<Result<Self, String>> {
        match text {
            EMAIL_FEEDBACK => Some(Ok(Self::EmailFeedback)),
            other if other.starts_with(BEGINNING) => Some(Err(format!(
                "unknown internal target `{other}`. hint: use `{EMAIL_FEEDBACK}`"
            ))),
            _ => None,
        }
    }
}

/// Receives what goes to an internal target.
#[async_trait]
pub trait InternalSink: Send + Sync + 'static {
    /// Processes the body and returns the outcome as text. May be called more than once for the same receipt.
    async fn take(&self, target: InternalTarget, body: &[u8]) -> Result<String, InternalSinkError>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InternalSinkError {
    /// A temporary failure, which is retried.
    Later(Failure),
    /// A permanent failure, which is not retried.
    Never(Failure),
}
