//! E-mail transports: SMTP, Amazon SES, or the sink for development.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{EmailId, TenantId};
use gancho_engine::Preemption;

use crate::Mailbox;

#[async_trait]
pub trait Transport: Send + Sync + 'static {
    /// Returns `smtp`, `ses` or `sink`, for logs.
    fn name(&self) -> &'static str;

    /// Makes one attempt and returns the response. Must end by itself, and seals `preemption` before it sends the
    /// content: from then on the server may have accepted the message. Only [`crate::classify`] interprets the
    /// response.
    async fn send(
        &self,
        letter: &OutgoingMessage,
        preemption: &Preemption,
    ) -> Result<Acceptance, TransportError>;

    /// Closes idle connections.
    async fn close(&self) {}
}

/// A complete message to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingMessage {
    pub id: EmailId,
    pub tenant: TenantId,
    pub from: Mailbox,
    pub to: Mailbox,
    pub subject: String,
    /// The Message-ID header without the brackets.
    pub message_id: String,
    /// The message in ASCII, with CRLF at the end of every line.
    pub raw: Bytes,
}

/// The server has accepted the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acceptance {
    /// The message id assigned by the receiving server.
    pub message_id: String,
    pub status: u16,
    /// The text of the response.
    pub text: String,
}

/// The stage of an SMTP session at which a message was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmtpStage {
    /// Before the message: greeting, TLS, authentication.
    Hello,
    Sender,
    Recipient,
    Content,
}

/// Why a message was not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransportError {
    /// The SMTP server refused it.
    Reply { stage: SmtpStage, code: u16, text: String },
    /// SES refused it, with an error code and a text.
    Ses { status: u16, error: String, text: String },
    /// No response, not in time, or not from a trusted server.
    NoResponse { text: String },
    /// Nothing was sent: this node lacks file handles, ports or memory.
    Local { text: String },
    /// Others waited for the slot, and the content was not sent.
    CutShort,
    /// The message can never be sent in this form.
    Unfit { text: String },
}

/// Maximum duration of an attempt.
pub const DEADLINE: Duration = Duration::from_secs(60);
