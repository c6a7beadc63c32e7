//! Targets inside the gateway: where a receipt is not posted to anyone, but handed to another of its
//! parts. This crate does not know which; the binary connects them.

use async_trait::async_trait;
use gancho_domain::Failure;

/// What is written where another target has its URL.
pub const EMAIL_FEEDBACK: &str = "gancho:email-feedback";
const BEGINNING: &str = "gancho:";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InternalTarget {
    /// Reports of SES: bounces and complaints.
    EmailFeedback,
}

impl InternalTarget {
    /// Nothing if it is a URL like any other.
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

/// Who takes what is handed to a target inside.
#[async_trait]
pub trait InternalSink: Send + Sync + 'static {
    /// What became of it, in words. It may come more than once.
    async fn take(&self, target: InternalTarget, body: &[u8]) -> Result<String, InternalSinkError>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InternalSinkError {
    /// Another attempt may do better.
    Later(Failure),
    /// None can.
    Never(Failure),
}
