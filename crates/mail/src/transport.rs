//! What brings a letter on its way: a mail server, Amazon SES, or the sink of a developer's machine.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{EmailId, TenantId};

use crate::Mailbox;

#[async_trait]
pub trait Transport: Send + Sync + 'static {
    /// `smtp`, `ses` or `sink`, for logs.
    fn name(&self) -> &'static str;

    /// Hands it over once. It must come to an end by itself, and says what was answered: what that
    /// means is for [`crate::classify`] alone.
    async fn send(&self, letter: &OutgoingMessage) -> Result<Acceptance, TransportError>;

    /// Says goodbye to whom it keeps connections to.
    async fn close(&self) {}
}

/// An e-mail, ready to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingMessage {
    pub id: EmailId,
    pub tenant: TenantId,
    pub from: Mailbox,
    pub to: Mailbox,
    pub subject: String,
    /// As in its header, without the brackets.
    pub message_id: String,
    /// ASCII, with CRLF at the end of every line.
    pub raw: Bytes,
}

/// It was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acceptance {
    /// Under which whoever took it knows it.
    pub message_id: String,
    pub status: u16,
    /// What was answered.
    pub text: String,
}

/// Where in its talk with a mail server a letter was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Before the letter was spoken of: greeting, TLS, authentication.
    Hello,
    Sender,
    Recipient,
    Content,
}

/// Why it was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransportError {
    /// A mail server said no.
    Reply { stage: Stage, code: u16, text: String },
    /// SES said no: its word for the error and its sentence.
    Ses { status: u16, error: String, text: String },
    /// Nobody answered, or not in time, or not as one who can be trusted.
    NoResponse { text: String },
    /// Nobody was asked: this node lacks file handles, ports or memory.
    Local { text: String },
    /// It can never be sent like this.
    Unfit { text: String },
}

/// One attempt may take so long.
pub const DEADLINE: Duration = Duration::from_secs(60);
