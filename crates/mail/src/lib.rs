//! The e-mail outbox: what is submitted is sent once it can be, retried or given up by the same engine
//! as everything else, and its tenant hears of it by webhook.
//!
//! In reading order: [`draft`] is what a caller gives, with [`address`], [`header`] and [`attachment`]
//! judging its parts; [`email`] is what is kept of it; [`outbox`] accepts and shows it, submitted by
//! `submit` and listed by `list`; [`carrier`] makes one attempt: [`suppression`] may forbid it, [`message`] writes the
//! bytes, a [`transport`] ([`smtp`], [`ses`] or the [`sink`]) hands them over, [`classify`] says what the
//! answer means, and [`events`] what is told of it. [`feedback`] is what SES reports days later.
//! [`masking`] hides addresses in texts of others.
//!
//! This crate never decides about retries (the engine does), never tells an address unmasked, never
//! sends to a suppressed address, never sends a line that a caller broke, and knows nothing of how the
//! API looks.

pub mod address;
pub mod attachment;
pub mod carrier;
pub mod classify;
pub mod draft;
pub mod email;
pub mod events;
pub mod feedback;
pub mod header;
pub mod limits;
mod list;
pub mod masking;
pub mod message;
pub mod outbox;
pub mod ses;
pub mod sink;
pub mod smtp;
mod submit;
pub mod suppression;
pub mod transport;

pub use address::Mailbox;
pub use carrier::MailCarrier;
pub use classify::{FailureCode, classify};
pub use draft::{AttachmentDraft, EmailDraft};
pub use email::Email;
pub use feedback::{Feedback, FeedbackService};
pub use limits::{MailLimits, TenantLimits};
pub use outbox::{EmailFilter, EmailRow, EmailStatus, EmailView, Outbox};
pub use ses::SesTransport;
pub use sink::Sink;
pub use smtp::SmtpTransport;
pub use submit::{Submission, SubmitError};
pub use suppression::{SuppressedAddress, SuppressionReason, Suppressions};
pub use transport::{Acceptance, OutgoingMessage, Transport, TransportError};
